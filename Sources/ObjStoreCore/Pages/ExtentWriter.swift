internal import CSystem

/// Gives the dirty extents of a commit their places in the file and writes them, children before parents.
///
/// ```
///   run of free pages taken from FreeSpace
///   |<---- page ---->|<---- page ---->|
///   [leaf head][seg ][index leaf][0000]     extents in units of 512 bytes, none up to 4 KiB straddles a
///                                 ^^^^      page; the rest of the last page is written as zeros
/// ```
/// Space is reused only as whole free pages, so no write ever touches a page that holds an older extent.
package final class ExtentWriter {
    /// Pages that were given to this commit: in ascending order within a run, with the units that live there.
    package struct PlacedPage {
        package var page: Int
        package var liveUnits: Int

        package init(page: Int, liveUnits: Int) {
            self.page = page
            self.liveUnits = liveUnits
        }
    }

    private(set) var version: UInt64
    private let seed: UInt64
    private let arena: Arena
    /// Takes a run of at least `minimum` and at most `wanted` free pages: (first page, count).
    private let takeRun: (_ minimum: Int, _ wanted: Int) throws(StoreError) -> (page: Int, count: Int)
    /// Returns the unused end of a run.
    private let release: (_ page: Int, _ count: Int) -> Void

    private var position = 0
    private var runEnd = 0
    private var remaining: Int
    package private(set) var placed: [PlacedPage] = []
    private(set) var bytesPlaced = 0
    private var vectors: [WriteVector] = []
    private var spans: [(offset: Int, firstVector: Int)] = []
    /// What is where, for `PageSource.checked`.
    private var marks: [(unit: Int, mark: UInt16)] = []
    private var mapping: Mapping?
    /// The dirty extents that were placed, where the transaction continues afterwards and reuses their memory.
    private(set) var spilled: [Ref] = []
    private var isSpilling = false

    package init(
        version: UInt64, seed: UInt64, arena: Arena, estimate: Int,
        takeRun: @escaping (Int, Int) throws(StoreError) -> (page: Int, count: Int),
        release: @escaping (Int, Int) -> Void
    ) {
        self.version = version
        self.seed = seed
        self.arena = arena
        self.takeRun = takeRun
        self.release = release
        remaining = estimate
    }

    /// For the next commit, which will place some `estimate` bytes. Its nodes will count as checked in `mapping`: this
    /// process makes their hashes, and the next transaction is likely to begin with them.
    func begin(version: UInt64, estimate: Int, mapping: Mapping, isSpilling: Bool = false) {
        self.version = version
        self.isSpilling = isSpilling
        spilled.removeAll(keepingCapacity: isSpilling)
        remaining = estimate
        self.mapping = mapping
        position = 0
        runEnd = 0
        placed.removeAll(keepingCapacity: true)
        bytesPlaced = 0
        vectors.removeAll(keepingCapacity: true)
        spans.removeAll(keepingCapacity: true)
        marks.removeAll(keepingCapacity: true)
    }

    /// Places a dirty node whose child refs are final; its header gets birth and hash.
    func node(_ ref: Ref) throws(StoreError) -> Ref {
        let pointer = arena.table.pointer(ref)
        let bytes = NodeHeader.bytes(pointer)
        zeroTail(pointer, bytes)
        pointer.storeBytes(of: version, toByteOffset: 8, as: UInt64.self)
        let hash = NodeHeader.computeHash(pointer, bytes: bytes, seed: seed)
        pointer.storeBytes(of: hash, toByteOffset: 24, as: UInt64.self)
        let placed = Ref(offset: try place(pointer, bytes), hash: hash, born: version)
        try marks.tryAppend((placed.unit, PageSource.mark(NodeHeader.kind(pointer), placed)))
        if isSpilling { try spilled.tryAppend(ref) }
        return placed
    }

    /// Places a dirty part of a leaf.
    func part(_ ref: Ref) throws(StoreError) -> (ref: Ref, hash32: UInt32) {
        let pointer = arena.table.pointer(ref)
        let bytes = arena.bytes(ref)
        zeroTail(pointer, bytes)
        let hash = PageHash.hash(pointer, count: bytes, seed: PageHash.mix(seed, version))
        if isSpilling { try spilled.tryAppend(ref) }
        return (
            Ref(offset: try place(pointer, bytes), hash: hash, born: version), UInt32(truncatingIfNeeded: hash >> 32)
        )
    }

    /// The memory of an extent is a multiple of 512 bytes, so its tail may be cleared in place.
    private func zeroTail(_ pointer: UnsafeMutableRawPointer, _ bytes: Int) {
        (pointer + bytes).initializeMemory(as: UInt8.self, repeating: 0, count: PageSize.roundedToUnit(bytes) - bytes)
    }

    private func place(_ pointer: UnsafeMutableRawPointer, _ bytes: Int) throws(StoreError) -> Int {
        let length = PageSize.roundedToUnit(bytes)
        if length <= PageSize.page, position & (PageSize.page - 1) + length > PageSize.page { fillPage() }
        if position + length > runEnd { try nextRun(length) }
        let offset = position
        try vectors.tryAppend(WriteVector(base: UnsafeRawPointer(pointer), count: length))
        position += length
        bytesPlaced += length
        remaining -= length
        var page = offset / PageSize.page, start = offset
        while start < position {
            let end = min(position, (page + 1) * PageSize.page)
            let units = (end - start) / PageSize.unit
            if let last = placed.indices.last, placed[last].page == page {
                placed[last].liveUnits += units
            } else {
                try placed.tryAppend(PlacedPage(page: page, liveUnits: units))
            }
            start = end
            page += 1
        }
        return offset
    }

    /// Zero-fills to the end of the current page.
    private func fillPage() {
        let rest = -position & (PageSize.page - 1)
        if rest == 0 { return }
        vectors.append(WriteVector(base: ExtentWriter.zeros, count: rest))
        position += rest
    }

    private func nextRun(_ length: Int) throws(StoreError) {
        closeRun()
        let minimum = PageSize.pages(length)
        // What is still to come, with some room for the padding between extents.
        let wanted = max(minimum, PageSize.pages(remaining + remaining / 16))
        let run = try takeRun(minimum, wanted)
        mapping?.forget(page: run.page, count: run.count)
        position = run.page * PageSize.page
        runEnd = position + run.count * PageSize.page
        spans.append((position, vectors.count))
    }

    /// Everything is placed: what is left of the last run is returned.
    func endRuns() { closeRun() }

    private func closeRun() {
        fillPage()
        if position < runEnd { release(position / PageSize.page, (runEnd - position) / PageSize.page) }
        runEnd = position
    }

    /// Writes everything that was placed. Nothing in the file refers to it yet.
    package func finish(_ file: StorageFile) throws(StoreError) {
        closeRun()
        for (index, span) in spans.enumerated() {
            let end = index + 1 < spans.count ? spans[index + 1].firstVector : vectors.count
            let count = end - span.firstVector
            if count == 0 { continue }
            try vectors.withUnsafeBufferPointer { (all) throws(StoreError) in
                try file.write(all.baseAddress! + span.firstVector, count: count, at: span.offset)
            }
        }
        guard let mapping else { return }
        let units = mapping.map.bytes / PageSize.unit
        for mark in marks where mark.unit < units { cs_store16_relaxed(mapping.checked + mark.unit, mark.mark) }
    }

    private nonisolated(unsafe) static let zeros: UnsafeRawPointer = UnsafeRawPointer(calloc(1, PageSize.page)!)
}
