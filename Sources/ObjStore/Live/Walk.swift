internal import CRuntime
internal import ObjStoreCore

/// Where generic code of one thread is in a live collection.
///
/// Code that knows only that it has a `Collection` takes steps: how many, from where, the element here, the next index,
/// is this the end? All of them get answers of one moment: how many there were when it first read the count or the end,
/// and the list that is pinned when it first reads an element, or a slice. Nothing says when an algorithm is at its
/// end, and the next one begins with a new query. So a walk continues until the thread has done something else between
/// two steps (``ThisThread/step(_:)``), and then takes a step that a walk begins with:
///
/// ```
///              count, isEmpty, indices      startIndex                         endIndex
///  only counted, end met, or
///  a slice was the last        begins another one, if the thread was elsewhere; else it goes on
///  amid        the same                     the same, unless the next step     goes on
///                                           goes on from where it was
/// ```
/// Amid, a closure of the program may have been called.
public struct _Walk<Element> {
    private enum Place { case counted, amid, end, sliced }

    /// Nil: no walk is in progress.
    private var count: Int?
    /// Nil: no element was read yet.
    private var pin: Pinned<Element>?
    private var place = Place.counted
    /// That it went to.
    private var index: Int?
    /// Of the last element.
    private var seen: Int?
    private var isBackwards = false
    private var hasMoved = false
    /// The start was read: another walk may begin here.
    private var mayBegin = false
    /// Code that queries one place this often waits for a change.
    private var questions = 0
    /// At the last step; and now.
    private var stay: UInt64 = 0
    fileprivate var now: UInt64 = 0

    init() {}

    fileprivate var isOver: Bool { count == nil }
    private var wasElsewhere: Bool { now != stay || questions > 1000 }
    /// At the end, and the count was read again: perhaps an algorithm that begins with it, as `map` does, and must
    /// find as many, also where it is slow.
    private var isCountedAgain = false
    /// And it continues from the start, as `map` does at once: in between it waited for a lock of the allocator,
    /// perhaps.
    private var isStarting = false
    private var isAtEndAndElsewhere: Bool {
        guard place == .end, wasElsewhere else { return false }
        guard isCountedAgain else { return true }
        return isStarting ? ThisThread.hasMoved(now, stay) : !ThisThread.wasOnlyBusy(now, stay)
    }

    private mutating func end() { self = _Walk(now: now) }
    private init(now: UInt64) { self.now = now }

    fileprivate mutating func begin(_ count: Int) -> Int {
        var next = _Walk(now: now)
        next.count = count
        next.stay = now
        self = next
        return count
    }

    /// Nil: a walk begins.
    fileprivate mutating func counted() -> Int? {
        guard let count, !wasElsewhere, !mayBegin else { return nil }
        questions += 1
        if place == .end { (isCountedAgain, isStarting) = (true, false) }
        return count
    }

    fileprivate mutating func start() {
        guard count != nil else { return }
        // A walk that has come to the start backwards is at its end.
        if place == .amid, isBackwards, index == 0 { (place, isCountedAgain) = (.end, false) }
        if place == .amid, wasElsewhere { mayBegin = true }
        isStarting = place == .end
    }

    /// Nil: a walk begins.
    fileprivate mutating func endIndex() -> Int? {
        isStarting = false
        guard let count, !mayBegin else { return nil }
        if place != .amid || !hasMoved, wasElsewhere, place != .end || isAtEndAndElsewhere { return nil }
        if place == .amid, index == count { (place, isCountedAgain) = (.end, false) }
        if place != .amid { questions += 1 }
        stay = now
        return count
    }

    /// Continues from an index: how many there are; nil: what is there now.
    fileprivate mutating func leave(_ from: Int) -> Int? {
        if mayBegin && !stands(at: from) || isAtEndAndElsewhere { end() }
        return count
    }

    private func stands(at index: Int) -> Bool { self.index == index || seen == index }

    fileprivate func afterReading(_ now: UInt64) -> _Walk {
        var walk = at(now)
        if stay == self.now { walk.stay = now }
        return walk
    }

    private func at(_ now: UInt64) -> _Walk {
        var walk = self
        walk.now = now
        return walk
    }

    fileprivate mutating func move(from: Int, to index: Int?) {
        if count == nil { return }
        goOn()
        hasMoved = true
        self.index = index
        isBackwards = index.map { $0 < from } ?? false
    }

    private mutating func goOn() {
        place = .amid
        isStarting = false
        mayBegin = false
        questions = 0
        stay = now
    }

    fileprivate enum Answer { case live, unpinned(count: Int), pinned(Pinned<Element>) }

    fileprivate mutating func element(_ index: Int) -> Answer {
        if mayBegin || isAtEndAndElsewhere { end() }
        guard count != nil else { return .live }
        if place != .amid { hasMoved = false }
        goOn()
        seen = index
        return answer
    }

    fileprivate mutating func slice() -> Answer {
        if mayBegin || place == .counted && wasElsewhere || isAtEndAndElsewhere { end() }
        guard count != nil else { return .live }
        goOn()
        place = .sliced
        return answer
    }

    /// A loop that begins; amid, it is one inside of a closure.
    fileprivate mutating func iterator() -> Answer { place == .amid || counted() == nil ? .live : answer }

    private var answer: Answer { pin.map { .pinned($0) } ?? count.map { .unpinned(count: $0) } ?? .live }

    fileprivate mutating func keep(_ pin: Pinned<Element>) { if count == pin.count { self.pin = pin } }
}

/// The walk of one thread, which alone looks at it.
final class ThreadWalk<Element>: @unchecked Sendable {
    var walk = _Walk<Element>()
}

/// The walks of all threads.
struct Walks<Element>: ~Copyable, Sendable {
    private let walks = Guarded<[UInt: ThreadWalk<Element>]>([:])

    func with<R>(_ body: (inout _Walk<Element>) -> R) -> R {
        ThisThread.step { now in
            let thread = UInt(cr_thread_id()), own = walks.withLock { $0[thread] } ?? ThreadWalk(),
                wasOver = own.walk.isOver
            own.walk.now = now
            let result = body(&own.walk)
            if own.walk.isOver != wasOver { walks.withLock { $0[thread] = wasOver ? own : nil } }
            return result
        }
    }
}

/// What the witnesses of `Collection` are in every live collection. None of them is inside of `_walking` while it
/// reads: what is wrong there is reported, and `onError` may look at the same collection.
extension LiveCollection {
    var walkCount: Int {
        if let count = _walking({ $0.counted() }) { return count }
        let count = apart { _count }
        return _walking { $0.begin(count) }
    }
    var walkStart: Int {
        _walking { $0.start() }
        return 0
    }
    var walkEnd: Int {
        if let end = _walking({ $0.endIndex() }) { return end }
        let count = apart { _count }
        return _walking { $0.begin(count) }
    }
    func walk<Target>(to target: Target, from index: Int) -> Target where Target: WalkTarget {
        _walking { walk in
            _ = walk.leave(index)
            walk.move(from: index, to: target.index)
        }
        return target
    }
    /// At most the end: an algorithm that continues until it meets it, and began another walk on the way, has passed it
    /// if the collection has become shorter.
    func walkNext(_ index: Int) -> Int {
        let end = _walking { $0.leave(index) } ?? apart { _count }, next = index >= end ? end : index + 1
        _walking { $0.move(from: index, to: next) }
        return next
    }
    func walkElement(_ index: Int) -> Element {
        guard let pin = pin(_walking { $0.element(index) }), index >= pin.startIndex, index < pin.endIndex else {
            return apart { _element(at: index) }
        }
        return pin[index]
    }
    func walkSlice(_ bounds: Range<Int>) -> Pinned<Element> {
        guard let pin = pin(_walking { $0.slice() }) else { return _slice(bounds) }
        let here = bounds.clamped(to: pin.indices)
        if here != bounds { apart { _reportOutOfRange(bounds, pin.count) } }
        return pin[here]
    }
    /// What a loop goes over, and is copied: code that has just counted gets as many.
    var walked: Pinned<Element>? { pin(_walking { $0.iterator() }) }

    /// Code that copies first and then counts gets as many, too.
    func walkCopy() -> ContiguousArray<Element> {
        if let walked { return walked._copyToContiguousArray() }
        let copy = apart { pinned()._copyToContiguousArray() }
        _ = _walking { $0.begin(copy.count) }
        return copy
    }

    private func pin(_ answer: _Walk<Element>.Answer) -> Pinned<Element>? {
        switch answer {
        case .live: return nil
        case .pinned(let pin): return pin
        case .unpinned(let count):
            let pin = apart { fit(pinned(), count) }
            _walking { $0.keep(pin) }
            return pin
        }
    }

    /// What was counted may have changed before an element was read: what is gone is out of range.
    private func fit(_ pin: Pinned<Element>, _ count: Int) -> Pinned<Element> {
        if pin.count >= count { return pin[0..<count] }
        return Pinned(Array(pin) + (pin.count..<count).map { _element(at: $0) })
    }

    /// What `onError` walks over meanwhile is forgotten; that the thread waited for the store is no pause of its own.
    private func apart<R>(_ read: () -> R) -> R {
        let walk = _walking { $0 }, result = read()
        _walking { $0 = walk.afterReading($0.now) }
        return result
    }
}

/// An index, or none within the limit.
protocol WalkTarget {
    var index: Int? { get }
}
extension Int: WalkTarget { var index: Int? { self } }
extension Int?: WalkTarget { var index: Int? { self } }
