internal import CRuntime

/// Where generic code of one thread is in a live collection.
///
/// Code that knows only that it has a `Collection` takes steps: how many, from where, the element here, the next index, is this the
/// end? All steps of a walk get answers from one list, which is pinned when it first asks for the count or the end, and let go
/// when the walk has reached its end or another one begins.
public struct _Walk<Element> {
    /// Nil: no walk is going on.
    private var pin: Pinned<Element>?
    /// Nil: only counted so far.
    private var count: Int?
    /// Whether it has gone to another index; which, and from above.
    private var hasMoved = false
    private var index: Int?
    private var isBackwards = false
    private var last = Step.end

    private enum Step { case start, end, move, element }

    init() {}

    var isOver: Bool { count == nil }

    mutating func begin(_ count: Int) -> Int {
        self = _Walk()
        self.count = count
        return count
    }

    /// Who goes forwards and asks for the start again begins another walk; who goes backwards may ask whether it is there.
    mutating func start() {
        guard hasMoved, last != .end else { return }
        if !isBackwards || index == 0 { self = _Walk() } else { last = .start }
    }

    /// Nil: the collection says, and a walk begins.
    mutating func end() -> Int? {
        guard hasMoved, last != .start, let count else { return nil }
        if index == count { self = _Walk() } else { last = .end }
        return count
    }

    /// Where the next element is, at most the end: who goes on until he meets it, and counted anew on the way, has come beyond it where the
    /// collection has become shorter.
    func next(_ index: Int, _ countNow: () -> Int) -> Int {
        let end = count ?? countNow()
        return index >= end ? end : index + 1
    }

    mutating func move(to index: Int?, isBackwards: Bool) {
        if count == nil { return }
        hasMoved = true
        last = .move
        self.index = index
        self.isBackwards = isBackwards
    }

    /// Nil: what is there now.
    mutating func element(_ index: Int, _ pinned: () -> Pinned<Element>) -> Element? {
        if last == .start, hasMoved { self = _Walk() }
        guard count != nil else { return nil }
        last = .element
        let pin = self.pin ?? pinned()
        self.pin = pin
        guard index >= pin.startIndex, index < pin.endIndex else { return nil }
        return pin[index]
    }
}

/// The walk of one thread, which alone looks at it.
final class ThreadWalk<Element>: @unchecked Sendable {
    var walk = _Walk<Element>()
}

/// The walks of all threads.
struct Walks<Element>: ~Copyable, Sendable {
    private let walks = Guarded<[UInt: ThreadWalk<Element>]>([:])

    func with<R>(_ body: (inout _Walk<Element>) -> R) -> R {
        let thread = UInt(cr_thread_id()), own = walks.withLock { $0[thread] } ?? ThreadWalk(), wasOver = own.walk.isOver
        let result = body(&own.walk)
        if own.walk.isOver != wasOver { walks.withLock { $0[thread] = wasOver ? own : nil } }
        return result
    }
}

/// What the witnesses of `Collection` are in every live collection.
extension LiveCollection {
    var walkCount: Int {
        let count = _count
        return _walking { $0.begin(count) }
    }
    var walkStart: Int {
        _walking { $0.start() }
        return 0
    }
    var walkEnd: Int {
        if let end = _walking({ $0.end() }) { return end }
        return walkCount
    }
    func walk<Target>(to target: Target, from index: Int) -> Target where Target: WalkTarget {
        _walking { $0.move(to: target.index, isBackwards: target.index.map { $0 < index } ?? false) }
        return target
    }
    func walkNext(_ index: Int) -> Int {
        _walking { walk in
            let next = walk.next(index) { _count }
            walk.move(to: next, isBackwards: false)
            return next
        }
    }
    func walkElement(_ index: Int) -> Element {
        _walking { $0.element(index, pinned) } ?? _element(at: index)
    }
}

/// An index, or none within the limit.
protocol WalkTarget {
    var index: Int? { get }
}
extension Int: WalkTarget { var index: Int? { self } }
extension Int?: WalkTarget { var index: Int? { self } }
