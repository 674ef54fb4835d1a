/// A change of a list, set or map as the log has it: so many elements from one on gave way to so many others.
struct ElementSplice {
    var at: Int
    var removed: Int
    var inserted: Int
}

/// What became of the elements of a list, set or map by its own operations, one after the other.
///
/// ```
///  before           A B C D E                              0..<5
///  remove at 1      A C D E                                0..<1, 2..<5
///  insert X at 2    A C X D E                              0..<1, 2..<3, new 1, 3..<5
///  set Y at 3       A C X Y E                              0..<1, 2..<3, new 1, 3..<4 written, 4..<5
/// ```
/// Costs what was done, whatever the length.
struct ElementSpans {
    struct Span {
        /// Nil: these elements are new.
        var before: Int?
        var count: Int
        /// They were replaced where they were.
        var isWritten = false
    }
    private(set) var spans: [Span]
    private var count: Int
    private let countBefore: Int

    /// In so many pieces it is cheaper to compare what was with what is.
    private static let mostSpans = 1 << 11

    /// - Parameter replaces: where one element gives way to one, it is replaced; more are not followed.
    /// Nil: they are too many, or what they say of more cannot be followed.
    init?(_ countBefore: Int, _ splices: [ElementSplice], replaces: Bool) {
        spans = countBefore == 0 ? [] : [Span(before: 0, count: countBefore)]
        count = countBefore
        self.countBefore = countBefore
        for splice in splices {
            guard splice.at <= count, splice.removed <= count - splice.at, spans.count < ElementSpans.mostSpans else {
                return nil
            }
            if replaces, splice.removed > 0, splice.inserted > 0 {
                guard splice.removed == 1, splice.inserted == 1 else { return nil }
                let index = cut(splice.at)
                _ = cut(splice.at + 1)
                if spans[index].before != nil { spans[index].isWritten = true }
            } else {
                apply(splice)
            }
        }
    }

    private mutating func apply(_ splice: ElementSplice) {
        let first = cut(splice.at), end = cut(splice.at + splice.removed)
        count += splice.inserted - splice.removed
        if splice.inserted > 0, first > 0, spans[first - 1].before == nil {
            spans[first - 1].count += splice.inserted
            spans.removeSubrange(first..<end)
        } else {
            spans.replaceSubrange(
                first..<end, with: splice.inserted > 0 ? [Span(before: nil, count: splice.inserted)] : [])
        }
    }

    /// The index of the span that begins at a place; one that it lies in the middle of becomes two.
    private mutating func cut(_ place: Int) -> Int {
        var index = 0, start = 0
        if place > count / 2 {
            (index, start) = (spans.count, count)
            while start > place {
                index -= 1
                start -= spans[index].count
            }
        } else {
            while index < spans.count, start + spans[index].count <= place {
                start += spans[index].count
                index += 1
            }
        }
        if start == place { return index }
        var rest = spans[index]
        let head = place - start
        rest.count -= head
        rest.before = rest.before.map { $0 + head }
        spans[index].count = head
        spans.insert(rest, at: index + 1)
        return index + 1
    }

    /// How many elements came, went, or were replaced.
    var changedCount: Int {
        var came = 0, stayed = 0, written = 0
        for span in spans {
            if span.before == nil { came += span.count } else { stayed += span.count }
            if span.isWritten { written += span.count }
        }
        return came + countBefore - stayed + written
    }

    /// Positions before of what went, after of what came, and both of what was replaced where it was; each ascending.
    /// Errors: `.outOfMemory`.
    func outcome() throws(StoreError) -> (gone: [Int], new: [Int], written: [ListDifference.Pair]) {
        let kept = spans.reduce(0) { $0 + ($1.before == nil ? 0 : $1.count) }
        // As change sets have them, too.
        try Memory.check(for: countBefore - kept + count - kept, each: 4 * MemoryLayout<Int>.stride)
        var gone: [Int] = [], new: [Int] = [], written: [ListDifference.Pair] = []
        var place = 0, next = 0
        for span in spans {
            if let before = span.before {
                gone += next..<before
                next = before + span.count
                if span.isWritten { written += (0..<span.count).map { (before + $0, place + $0) } }
            } else {
                new += place..<place + span.count
            }
            place += span.count
        }
        gone += next..<countBefore
        return (gone, new, written)
    }
}
