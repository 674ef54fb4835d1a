import ObjStoreCore

/// An observer, and who reads what it is told: he has a copy of what he observes, to which he does what each change set
/// says.
final class WatchedReader {
    typealias Key = WatchedContent.Key

    var number: Int
    let kind: WatchedKind
    let owner: Key
    var observer: Observer?
    /// The version of which he has all.
    var known: UInt64 = 0 { didSet { if known != oldValue { places = [:] } } }
    /// Where he has put objects since, by the values that he has written.
    private var places: [Key: [Int64]] = [:]
    /// What the last change set led to.
    var toldVersion: UInt64 = 0
    var copy: [Key] = []
    /// Of a map, as long as the copy.
    var names: [String] = []
    /// Of results in sections, whose objects are the copy.
    var sectioned: SectionedCopy?
    /// Of a list or map inside of a mixed value.
    var nested: WatchedNested?
    /// Of groups, and of plain values.
    var rows: WatchedRows?
    /// The keys of sections are marks, which are texts.
    let hasTextSections: Bool
    var values: [Key: WatchedContent.Thing] = [:]
    /// Nothing more comes.
    var isEnded = false
    var isPaused = false
    /// It has begun with what was written down, and has not been told of anything since.
    var isReturning = false
    /// What was written down may be gone, or cannot be gone on from.
    var mayBeLost = false
    var mustBeLost = false
    /// A first change set is to come.
    var wantsInitial = false
    /// Makes its work undone now and then.
    var refuses = false
    /// Nanoseconds between two calls.
    var interval: Int64 = 0
    /// Before the first it must not be told, from the second on it is due again.
    var rests: (atLeast: Int64, atMost: Int64) = (.min, .min)
    /// Those of the properties that it needs, when it began.
    private let lives: [Int]

    init(_ number: Int, _ kind: WatchedKind, owner: Key, _ schema: WatchedSchema) {
        (self.number, self.kind, self.owner) = (number, kind, owner)
        lives = kind.needs.map { schema.lives[$0]! }
        hasTextSections = schema.areMarksTexts && kind.kind == .item && kind.sections?.path == "mark"
    }

    var name: String { "\(kind.name)\(kind.hasOwner ? " of \(owner)" : "") (\(number))" }

    /// Whether the properties that it is about are those of when it began.
    func isAskable(in content: WatchedContent) -> Bool {
        zip(kind.needs, lives).allSatisfy { content.schema.lives[$0] == $1 }
    }

    /// Whether what it is about is there; else it has ended.
    func exists(in content: WatchedContent) -> Bool {
        isAskable(in: content) && (!kind.endsWithOwner || content[.tag, owner] != nil)
    }

    func wanted(_ content: WatchedContent) -> [Key] { exists(in: content) ? kind.content(content, owner) : [] }

    func wantedNames(_ content: WatchedContent) -> [String] {
        kind.isMap && exists(in: content) ? content[.tag, owner]!.named.keys.sorted() : []
    }

    /// Begins with the content of a version.
    func begin(_ content: WatchedContent, at version: UInt64) {
        (known, toldVersion) = (version, version)
        copy = wanted(content)
        names = wantedNames(content)
        sectioned = wantedSections(content)
        nested = wantedNested(content)
        rows = wantedRows(content)
        values = [:]
        for key in copy { values[key] = content[kind.kind, key] }
    }

    // MARK: What he has done himself

    /// Whether it is certain what a transaction does to his copy: he has all before it, or nothing moves.
    ///
    /// - Parameter newest: the version before it.
    func canApply(from old: WatchedContent, to new: WatchedContent, newest: UInt64) -> Bool {
        if let rows { return rows.canChange(from: wantedRows(old)!, to: wantedRows(new)!) }
        // What he is not told of he may know or not.
        if kind.order != nil { return known >= newest || interval == 0 && kind.paths == nil }
        let before = wanted(old), after = wanted(new)
        if kind.sections != nil { return isSectioned(as: old) }
        if let nested { return nested.isMap || nested == wantedNested(old) }
        if copy == before { return true }
        if kind.isMap { return true }
        let stayed = Set(before).intersection(after)
        return before.filter(stayed.contains) == after.filter(stayed.contains)
            && [before, after, copy].allSatisfy { Set($0).count == $0.count }
    }

    /// What a transaction does of which he is not told.
    ///
    /// - Parameter told: what he has been told of.
    func apply(from old: WatchedContent, to new: WatchedContent, told: WatchedContent) {
        let before = wanted(old), after = wanted(new)
        if let was = wantedRows(old), let now = wantedRows(new) {
            rows!.change(from: was, to: now)
        } else if let order = kind.order, kind.sections == nil {
            place(from: before, to: after, told, new) { old[kind.kind, $0] == nil ? nil : order(old, $0) }
        } else if kind.isMap {
            applyMap(from: old, to: new)
        } else if kind.sections != nil {
            (copy, sectioned) = (after, wantedSections(new))
        } else if let known = nested, let was = wantedNested(old), let now = wantedNested(new) {
            nested = known.isMap ? known.changed(from: was, to: now) : now
        } else if copy == before {
            copy = after
        } else {
            copy.removeAll { before.contains($0) && !after.contains($0) }
            for (place, key) in after.enumerated() where !before.contains(key) {
                copy.removeAll { $0 == key }
                if kind.isAscending {
                    copy.insert(key, at: copy.firstIndex { $0 > key } ?? copy.count)
                } else {
                    let behind = after[..<place].last { copy.contains($0) }
                    copy.insert(key, at: behind.map { copy.firstIndex(of: $0)! + 1 } ?? 0)
                }
            }
        }
        if exists(in: old) && !exists(in: new) { isEnded = true }
        for key in copy {
            // What is not there any more is told as deleted.
            guard let now = new[kind.kind, key] else { continue }
            guard let was = old[kind.kind, key], before.contains(key), var value = values[key] else {
                values[key] = now
                continue
            }
            for property in WatchedReader.valued where was.value(property) != now.value(property) {
                value.take(property, of: now)
            }
            values[key] = value
        }
    }

    /// Puts what came, and what has other values to be sorted by, where it belongs by the values that he knows.
    private func place(
        from before: [Key], to after: [Key], _ told: WatchedContent, _ new: WatchedContent, was: (Key) -> [Int64]?
    ) {
        let order = kind.order!
        copy.removeAll { before.contains($0) && !after.contains($0) }
        for key in after where !before.contains(key) || was(key) != order(new, key) {
            let own = order(new, key) + [key]
            copy.removeAll { $0 == key }
            let at = copy.firstIndex { own.lexicographicallyPrecedes((places[$0] ?? order(told, $0)) + [$0]) }
            copy.insert(key, at: at ?? copy.count)
            places[key] = order(new, key)
        }
    }

    private func applyMap(from old: WatchedContent, to new: WatchedContent) {
        let before = exists(in: old) ? old[.tag, owner]!.named : [:]
        let after = exists(in: new) ? new[.tag, owner]!.named : [:]
        var own = Dictionary(uniqueKeysWithValues: zip(names, copy))
        for name in Set(before.keys).union(after.keys) where before[name] != after[name] { own[name] = after[name] }
        names = own.keys.sorted()
        copy = names.map { own[$0]! }
    }

    /// What a reader shows of an object.
    static let valued = ["number", "mark", "tag"]
    var hasValues: Bool { kind.paths == nil && !kind.isMap }
}

extension WatchedKind {
    /// In the order of creation, or of a set of links.
    var isAscending: Bool {
        switch way {
        case .whole, .object, .inverse, .commits: true
        case .collection(let name): name == "crew"
        case .part, .nested, .values: false
        case .query: !["SORT", "DISTINCT", "LIMIT", "OFFSET"].contains { name.contains($0) }
        }
    }
}

extension WatchedContent.Thing {
    func value(_ property: String) -> Int64? {
        switch property {
        case "number": number
        case "mark": mark
        default: tag
        }
    }

    mutating func take(_ property: String, of other: Self) {
        switch property {
        case "number": number = other.number
        case "mark": mark = other.mark
        default: tag = other.tag
        }
    }
}
