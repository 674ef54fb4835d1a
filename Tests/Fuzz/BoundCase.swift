import Glibc
import ObjStoreCore
import ObjStoreSimulation
import Synchronization

/// Functions made at run time: several threads make, call and end them; they end from inside, at any depth, and while
/// other threads call them; and they are called when they are gone.
///
/// What a function is made of is a block of memory that goes with it, exactly once: a call that comes too late finds
/// memory that was given back, which AddressSanitizer reports, or a block that is not its own.
enum BoundCase {
    /// The control: a block goes when its function is closed, though calls may run.
    private static let isControl = getenv("OBJSTORE_FUZZ_CONTROL") != nil
    private static let threads = 3
    /// Ends in a case: fewer than those after which a code is used again, so no call finds another function.
    private static let most = 200
    private static let magic = 0x6275_6c62

    static func run(_ random: inout RandomNumbers) -> String {
        let game = Game(seed: random.next())
        let players = (0..<threads).map { index in
            do throws(StoreError) {
                return try BackgroundThread(name: "bound \(index)") { _ in game.play(index) }
            } catch { fatalError("no thread: \(error)") }
        }
        for player in players { player.stopAndJoin() }
        for place in game.places { place.close(nil) }
        let counts = game.freed.withLock { $0 }
        for (number, count) in counts.enumerated() where count != 1 {
            fatalError("what function \(number) was made of was given back \(count) times")
        }
        return "kept"
    }

    private final class Game: Sendable {
        let places: [Place]
        /// Of each function, by its number, how often its block was given back.
        let freed = Mutex<[Int]>([])
        private let seed: UInt64

        init(seed: UInt64) {
            self.seed = seed
            places = (0..<5).map { _ in Place() }
        }

        func play(_ index: Int) {
            var random = RandomNumbers(seed: seed &+ UInt64(index) &* 0x9e37_79b9_7f4a_7c15)
            var ended: [Called] = []
            for _ in 0..<80 {
                let place = places[random.below(places.count)]
                switch random.below(8) {
                case 0: if let old = make(place, &random) { ended.append(old) }
                case 1: if let old = place.close(nil) { ended.append(old) }
                case 2:
                    guard !ended.isEmpty else { continue }
                    let old = ended[random.below(ended.count)]
                    if !old.call(random.below(3)) { fatalError("function \(old.number) was called when it was gone") }
                default: _ = place.now.map { $0.call(random.below(3)) }
                }
            }
        }

        /// Another one in a place; which one was there.
        private func make(_ place: Place, _ random: inout RandomNumbers) -> Called? {
            let number = freed.withLock { freed -> Int? in
                if freed.count == most { return nil }
                freed.append(0)
                return freed.count - 1
            }
            guard let number else { return nil }
            let block = UnsafeMutablePointer<Int>.allocate(capacity: 8)
            block.initialize(repeating: 0, count: 8)
            block[0] = magic
            block[1] = number
            block[2] = Int(bitPattern: Unmanaged.passUnretained(place).toOpaque())
            block[3] = random.chance(0.3) ? 1 : 0  // it closes itself
            let kind = random.below(kinds.count)
            return place.exchange({ Function(kind, block, Owner(block, self)) }) { _ in true }
        }
    }

    /// Goes with a function.
    private final class Owner: @unchecked Sendable {
        private let block: UnsafeMutablePointer<Int>
        private let game: Game
        init(_ block: UnsafeMutablePointer<Int>, _ game: Game) { (self.block, self.game) = (block, game) }
        deinit {
            let number = block[1]
            block.update(repeating: -1, count: 8)
            block.deallocate()
            game.freed.withLock { $0[number] += 1 }
        }
    }

    /// One that has not ended: it does when this goes.
    private final class Function: @unchecked Sendable {
        private let bound: BoundFunction
        let called: Called
        private let owner: Owner?
        init(_ kind: Int, _ block: UnsafeMutablePointer<Int>, _ owner: Owner) {
            do throws(StoreError) {
                bound = try BoundFunction(
                    kinds[kind].body, userdata: block, owner: isControl ? nil : owner, codes: kinds[kind].codes)
            } catch { fatalError("no function: \(error)") }
            called = Called(plain: bound.plain, number: block[1], kind: kind)
            self.owner = isControl ? owner : nil
        }
    }

    /// Where threads find a function.
    private final class Place: Sendable {
        private let function = Mutex<Function?>(nil)

        /// What can be called: nobody but the place keeps a function.
        var now: Called? { function.withLock { $0?.called } }

        /// - Parameter number: only that one.
        @discardableResult
        func close(_ number: Int?) -> Called? { exchange({ nil }) { number == nil || $0.called.number == number } }

        /// - Parameter make: the one that comes. It is known to nobody else, or it would not end when it goes.
        func exchange(_ make: () -> Function?, _ isMeant: (Function) -> Bool) -> Called? {
            // It ends without the lock: whoever gives its block back may be anyone.
            var old: Function?
            function.withLock { function in
                if let function, !isMeant(function) { return }
                old = function
                function = make()
            }
            return old?.called
        }
    }

    /// What is left of a function outside of its place.
    private struct Called: @unchecked Sendable {
        let plain: BoundFunction.Function
        let number: Int
        let kind: Int

        /// Whether it says what a function says that is gone. Any other answer than its own or that is a finding.
        func call(_ depth: Int) -> Bool {
            guard let answer = kinds[kind].call(plain, number, depth) else { return true }
            let isGone = answer == kinds[kind].gone
            if !isGone && answer != BoundCase.answer(number) {
                fatalError("function \(number) of kind \(kind) says \(answer)")
            }
            return isGone
        }
    }

    private static func answer(_ number: Int) -> Int32 { 1000 + Int32(number) }

    /// Inside of a call.
    private static func enter(_ userdata: UnsafeMutableRawPointer?, _ number: Int, _ depth: Int = 0) -> Int32 {
        guard let block = userdata?.assumingMemoryBound(to: Int.self) else { fatalError("no userdata") }
        func check() {
            if block[0] != magic || block[1] != number { fatalError("function \(number) has the block of another") }
        }
        check()
        guard let address = UnsafeRawPointer(bitPattern: block[2]) else { fatalError("no place") }
        let place = Unmanaged<Place>.fromOpaque(address).takeUnretainedValue()
        if depth > 0 {
            if let called = place.now, called.number == number { _ = called.call(depth - 1) }
        } else if block[3] != 0 {
            place.close(number)
        }
        check()
        return answer(number)
    }

    // MARK: Kinds

    private struct Kind: @unchecked Sendable {
        let codes: BoundCodes
        let body: BoundFunction.Function
        /// What one that is gone says.
        let gone: Int32
        /// Nil: there is no result.
        let call: (BoundFunction.Function, _ number: Int, _ depth: Int) -> Int32?

        init<Body>(
            _ shape: BoundShape, _ body: Body, gone: Int32 = 7,
            call: @escaping (BoundFunction.Function, Int, Int) -> Int32?
        ) {
            codes = BoundCodes(shape) { 7 }
            self.body = unsafeBitCast(body, to: BoundFunction.Function.self)
            self.gone = gone
            self.call = call
        }
    }

    private typealias Pointer = UnsafeMutableRawPointer
    private typealias Subject = @convention(c) (Pointer?, Pointer?) -> Int32
    private typealias Progress = @convention(c) (UInt64, UInt64, Pointer?) -> Int32
    private typealias Migration = @convention(c) (Pointer?, Pointer?, Pointer?, UInt64, UInt64, Pointer?) -> Int32
    /// A structure of 16 bytes by value, as an object is.
    private typealias SectionKey = @convention(c) (Pointer?, timespec, Pointer?, Pointer?) -> Int32
    private typealias Ready = @convention(c) (Pointer?, UInt64) -> Void
    private typealias Comparator = @convention(c) (Pointer?, Pointer?, Pointer?) -> Int32
    private typealias PlainComparator = @convention(c) (Pointer?, Pointer?) -> Int32

    private static func pointer(_ number: Int) -> Pointer? { Pointer(bitPattern: number + 1) }
    private static func number(_ pointer: Pointer?) -> Int { Int(bitPattern: pointer) - 1 }

    private static let kinds = [
        Kind(.subject, { BoundCase.enter($1, BoundCase.number($0)) } as Subject) { plain, number, _ in
            unsafeBitCast(plain, to: Subject.self)(pointer(number), pointer(1))
        },
        Kind(.progress, { BoundCase.enter($2, Int($0), Int($1)) } as Progress) { plain, number, depth in
            unsafeBitCast(plain, to: Progress.self)(UInt64(number), UInt64(depth), pointer(2))
        },
        Kind(
            .migration,
            { store, transaction, old, from, to, userdata in
                if [store, transaction, old].map({ BoundCase.number($0) }) != [3, 4, 5] { fatalError("other views") }
                return BoundCase.enter(userdata, Int(from), Int(to))
            } as Migration
        ) { plain, number, depth in
            unsafeBitCast(plain, to: Migration.self)(
                pointer(3), pointer(4), pointer(5), UInt64(number), UInt64(depth), nil)
        },
        Kind(
            .sectionKey,
            { view, object, key, userdata in
                if BoundCase.number(view) != 6 || BoundCase.number(key) != 7 { fatalError("another view or key") }
                return BoundCase.enter(userdata, object.tv_sec, object.tv_nsec)
            } as SectionKey
        ) { plain, number, depth in
            unsafeBitCast(plain, to: SectionKey.self)(
                pointer(6), timespec(tv_sec: number, tv_nsec: depth), pointer(7), pointer(8))
        },
        Kind(.ready, { _ = BoundCase.enter($0, Int($1)) } as Ready) { plain, number, _ in
            unsafeBitCast(plain, to: Ready.self)(pointer(9), UInt64(number))
            return nil
        },
        Kind(
            .comparator, { BoundCase.enter($2, BoundCase.number($0), BoundCase.number($1)) } as Comparator, gone: 0
        ) { plain, number, depth in
            unsafeBitCast(plain, to: PlainComparator.self)(pointer(number), pointer(depth))
        },
    ]
}
