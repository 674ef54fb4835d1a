internal import CSystem

/// The leaves of a class in pieces of so many, ascending: what the threads of a scan take one after the other.
///
/// ```
///  leaves     0 … 15   16 … 31   32 … 47   …
///  pieces     0        1         2              next: which nobody has taken yet
///  results    r0       r1        r2             put together in this order, whoever found them
/// ```
struct LeafPieces {
    /// The first key of each piece.
    fileprivate let starts: [Int64]

    static let leavesEach = 16
    /// Fewer are not worth the waking of threads.
    static let leastLeaves = 64

    /// Nil: there are few, or the query has one thread.
    init?(_ reader: ClusterReader) throws(StoreError) {
        guard QueryThreads.count > 1 else { return nil }
        // Callbacks between two leaves may change what a transaction has not written yet.
        if reader.source.arena != nil, WatchedQuery.isOn { return nil }
        var cursor = LeafCursor(reader, from: 0), starts: [Int64] = [], leaves = 0
        do throws(StoreError) {
            try cursor.forEachNode { (keys) throws(StoreError) in
                for key in keys {
                    if leaves % LeafPieces.leavesEach == 0 { try starts.tryAppend(key) }
                    leaves += 1
                }
            }
        } catch {
            // Whoever comes to what is damaged says so, if nothing before it ends the scan: the last piece has no end.
            if error.code != .corrupt { throw error }
        }
        if leaves < LeafPieces.leastLeaves { return nil }
        self.starts = starts
    }

    var count: Int { starts.count }
    var threads: Int { min(QueryThreads.count, count) }
}

/// One of them, in the hands of a thread.
struct LeafPiece {
    /// The keys that its leaves begin with.
    let from: Int64, to: Int64
    fileprivate let index: Int
    fileprivate let words: UnsafeMutablePointer<UInt64>
    fileprivate let isCallers: Bool
    fileprivate let isWatched: Bool

    /// Nothing before it has failed.
    @inline(__always)
    var isWanted: Bool { UInt64(index) < cs_load64_relaxed(words + .end) }

    /// So many objects are about to be looked at. The thread that asks tells whoever watches, also of the others'.
    ///
    /// Errors: those of whoever watches.
    @inline(__always)
    func look(_ objects: Int) throws(StoreError) {
        if _slowPath(isWatched) { try tell(objects) }
    }

    @inline(never)
    private func tell(_ objects: Int) throws(StoreError) {
        guard isCallers else {
            _ = cs_add64(words + .told, UInt64(objects))
            return
        }
        do throws(StoreError) { try WatchedQuery.look(objects + words.takeTold()) } catch {
            cs_store64(words + .ended, 1)
            throw error
        }
    }
}

/// What the threads of a scan share: a word for each.
private enum ScanWord: Int, CaseIterable {
    /// The piece that nobody has taken yet.
    case next
    /// Pieces from this one on are not wanted.
    case end
    /// How many objects the others have looked at since somebody was told.
    case told
    /// Whoever watches has ended the query.
    case ended
}

extension UnsafeMutablePointer<UInt64> {
    @inline(__always)
    fileprivate static func + (words: Self, word: ScanWord) -> Self { words + word.rawValue }

    fileprivate func takeTold() -> Int {
        let others = cs_load64(self + .told)
        _ = cs_add64(self + .told, 0 &- others)
        return Int(others)
    }
}

/// A scan that several threads make: of each piece a result, and they in order.
final class SharedScan<Worker, Result>: HelperJob, @unchecked Sendable {
    private let pieces: LeafPieces
    /// What a thread needs for itself.
    private let begin: () -> Worker
    private let visit: (Worker, LeafPiece) throws(StoreError) -> Result
    private let isWatched: Bool
    private let words: UnsafeMutablePointer<UInt64>
    /// One for each piece, which one thread writes.
    private let results: UnsafeMutablePointer<Result?>
    private let lock = Lock()
    /// The first one, by the order of the pieces. Under `lock`.
    private var failure: (piece: Int, error: StoreError)?

    private init(
        _ pieces: LeafPieces, _ begin: @escaping () -> Worker,
        _ visit: @escaping (Worker, LeafPiece) throws(StoreError) -> Result
    ) throws(StoreError) {
        results = try Memory.allocate(Result?.self, pieces.count)
        results.initialize(repeating: nil, count: pieces.count)
        (self.pieces, self.begin, self.visit, isWatched) = (pieces, begin, visit, WatchedQuery.isOn)
        words = .allocate(capacity: ScanWord.allCases.count)
        words.initialize(repeating: 0, count: ScanWord.allCases.count)
        cs_store64(words + .end, UInt64(pieces.count))
    }

    deinit {
        results.deinitialize(count: pieces.count)
        results.deallocate()
        words.deallocate()
    }

    /// Calls `visit` for each piece, on this thread and on others, with what `begin` has made for the thread.
    ///
    /// Errors: of those that are thrown the one of the first piece, as if one thread had come there; those of whoever
    /// watches.
    static func results(
        of pieces: LeafPieces, _ begin: @escaping () -> Worker,
        _ visit: @escaping (Worker, LeafPiece) throws(StoreError) -> Result
    ) throws(StoreError) -> [Result] {
        let scan = try SharedScan(pieces, begin, visit), threads = pieces.threads
        QueryThreads.used = max(QueryThreads.used, threads)
        var ended: StoreError?
        HelperThreads.sharing(scan, with: threads - 1) { ended = scan.work(isCaller: true) }
        if let ended { throw ended }
        if let failure = scan.failure { throw failure.error }
        if scan.isWatched { try WatchedQuery.look(scan.words.takeTold()) }
        return (0..<pieces.count).map { scan.results[$0].unsafelyUnwrapped }
    }

    override func help() { _ = work(isCaller: false) }

    /// Returns the error of whoever watches.
    private func work(isCaller: Bool) -> StoreError? {
        let worker = begin()
        while true {
            let index = Int(cs_add64(words + .next, 1))
            if UInt64(index) >= cs_load64(words + .end) { return nil }
            let piece = LeafPiece(
                from: pieces.starts[index], to: index + 1 < pieces.count ? pieces.starts[index + 1] : .max,
                index: index, words: words, isCallers: isCaller, isWatched: isWatched)
            do throws(StoreError) { results[index] = try visit(worker, piece) } catch {
                if isCaller, cs_load64(words + .ended) != 0 {
                    cs_store64(words + .end, 0)
                    return error
                }
                fail(index, error)
            }
        }
    }

    /// Pieces before it go on: there may be an error, too, which comes first.
    private func fail(_ piece: Int, _ error: StoreError) {
        lock.withLock {
            if let failure, failure.piece < piece { return }
            failure = (piece, error)
            if cs_load64(words + .ended) == 0 { cs_store64(words + .end, UInt64(piece)) }
        }
    }
}
