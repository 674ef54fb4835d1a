/// A store's file as an attacker who knows the format would write it: whatever its extents say, their hashes are right,
/// and so are the refs to them. For tests of code that reads files.
///
/// ```
///  meta ──ref+tag──► root ──ref+tag──► class ──► … ──ref, tag, hash──► part          sealed from the parts upwards
/// ```
package struct ForgedStore {
    /// An extent that the newest version needs, and where others speak of it.
    private struct Extent {
        var offset: Int
        var bytes: Int
        /// Of a part, whose parent has length, birth and hash; nil: of a node, which has its own.
        var partBorn: UInt64?
        /// Places of the ref to it.
        var refs: [Int] = []
        /// Places of its hash in its parent, 32 bits.
        var hashes: [Int] = []
    }

    private let seed: UInt64
    private var extents: [Extent] = []

    /// Learns where everything lies in a store that is whole.
    package init(_ store: [UInt8]) throws(StoreError) {
        guard store.count >= 3 * PageSize.page else { throw StoreError(.corrupt, "no store") }
        let metas = store.withUnsafeBytes { bytes in
            (0..<2).map { Meta.decode(bytes.baseAddress! + $0 * PageSize.page) }
        }
        guard let (_, meta) = Database.newestMeta(metas) else { throw StoreError(.corrupt, "no valid meta") }
        self.seed = meta.hashSeed
        let seed = meta.hashSeed
        extents = try ForgedStore.withSource(store, seed) { (source) throws(StoreError) in
            var visited: [VisitedExtent] = []
            try StoreWalk.forEachExtent(root: meta.root, source: source) { (extent) throws(StoreError) in
                visited.append(extent)
            }
            let map = try source.node(meta.freeMap, .freeMap)
            visited.append(
                VisitedExtent(
                    unit: meta.freeMap.unit, units: PageSize.units(NodeHeader.bytes(map)), born: NodeHeader.born(map)))
            let places = ForgedStore.places(of: visited, source.base, store.count)
            return visited.compactMap { ForgedStore.extent($0, places[$0.unit] ?? [], source.base, seed) }
        }
    }

    /// Where the words are that may be refs to the extents, by the unit that they lead to.
    private static func places(of extents: [VisitedExtent], _ base: UnsafeRawPointer, _ count: Int) -> [Int: [Int]] {
        var isMeant = [Bool](repeating: false, count: count / PageSize.unit + 1), places: [Int: [Int]] = [:]
        for extent in extents where extent.unit < isMeant.count { isMeant[extent.unit] = true }
        // Those of long values are anywhere in a part.
        for place in 0..<max(0, count - 7) {
            let unit = base.loadUnaligned(fromByteOffset: place, as: UInt64.self) >> 9
            if unit < UInt64(isMeant.count), isMeant[Int(unit)] { places[Int(unit), default: []].append(place) }
        }
        return places
    }

    /// Nil: nothing leads there.
    private static func extent(
        _ visited: VisitedExtent, _ places: [Int], _ base: UnsafeRawPointer, _ seed: UInt64
    ) -> Extent? {
        let offset = visited.unit * PageSize.unit, start = base + offset, bytes = NodeHeader.bytes(start)
        func refs(_ hash: UInt64, _ born: UInt64) -> [Int] {
            let raw = Ref(offset: offset, hash: hash, born: born).raw
            return places.filter { base.loadUnaligned(fromByteOffset: $0, as: UInt64.self) == raw }
        }
        if NodeKind.rawValues.contains(NodeHeader.kind(start)), bytes >= NodeHeader.size,
            PageSize.units(bytes) == visited.units
        {
            let hash = NodeHeader.computeHash(start, bytes: bytes, seed: seed)
            if hash == NodeHeader.hash(start) {
                return Extent(offset: offset, bytes: bytes, refs: refs(hash, visited.born))
            }
        }
        // Of a part its parent knows length and hash, which are behind the ref: see `LeafEntry`, its segments,
        // `LongValue`.
        for place in places {
            for (length, check) in [(8, 12), (16, 20), (20, 24)] {
                func word(_ at: Int) -> UInt32 { base.loadUnaligned(fromByteOffset: place + at, as: UInt32.self) }
                guard place + check + 4 <= offset || place >= offset, case let bytes = Int(word(length)), bytes > 0,
                    PageSize.units(bytes) == visited.units
                else { continue }
                let hash = PageHash.hash(start, count: bytes, seed: PageHash.mix(seed, visited.born))
                guard UInt32(truncatingIfNeeded: hash >> 32) == word(check) else { continue }
                return Extent(
                    offset: offset, bytes: bytes, partBorn: visited.born, refs: refs(hash, visited.born),
                    hashes: [place + check])
            }
        }
        return nil
    }

    /// How many extents it knows, of those that the newest version needs.
    package var count: Int { extents.count }

    /// Makes hashes, tags and refs fit what the extents say now.
    package func seal(_ store: inout [UInt8]) {
        store.withUnsafeMutableBytes { bytes in
            let base = bytes.baseAddress!, count = bytes.count
            // Parents were visited first.
            for extent in extents.reversed() where extent.offset + PageSize.unit <= count {
                let start = base + extent.offset, hash: UInt64, born: UInt64
                if let partBorn = extent.partBorn {
                    guard extent.offset + extent.bytes <= count else { continue }
                    (hash, born) = (
                        PageHash.hash(start, count: extent.bytes, seed: PageHash.mix(seed, partBorn)), partBorn
                    )
                    for place in extent.hashes where place + 4 <= count {
                        base.storeBytes(
                            of: UInt32(truncatingIfNeeded: hash >> 32), toByteOffset: place, as: UInt32.self)
                    }
                } else {
                    let length = NodeHeader.bytes(start)
                    guard length >= NodeHeader.size, extent.offset + (length + 63) & ~63 <= count else { continue }
                    (hash, born) = (NodeHeader.computeHash(start, bytes: length, seed: seed), NodeHeader.born(start))
                    start.storeBytes(of: hash, toByteOffset: 24, as: UInt64.self)
                }
                let ref = Ref(offset: extent.offset, hash: hash, born: born)
                for place in extent.refs where place + 8 <= count {
                    // A ref that was made to lead elsewhere keeps doing so.
                    guard Ref(raw: base.loadUnaligned(fromByteOffset: place, as: UInt64.self)).offset == extent.offset
                    else { continue }
                    base.storeBytes(of: ref.raw, toByteOffset: place, as: UInt64.self)
                }
            }
            for slot in 0..<2 where (slot + 1) * PageSize.page <= count {
                let page = base + slot * PageSize.page
                page.storeBytes(of: Meta.hash(page), toByteOffset: 248, as: UInt64.self)
            }
        }
    }

    /// Reads bytes in memory like a file.
    static func withSource<T>(
        _ store: [UInt8], _ seed: UInt64, _ body: (PageSource) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let count = (store.count + PageSize.page - 1) & ~(PageSize.page - 1), units = count / PageSize.unit + 1
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(count, PageSize.page), alignment: PageSize.page)
        let checked = UnsafeMutablePointer<UInt16>.allocate(capacity: units)
        checked.initialize(repeating: 0, count: units)
        defer {
            memory.deallocate()
            checked.deallocate()
        }
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: count)
        store.withUnsafeBytes { if let bytes = $0.baseAddress { memory.copyMemory(from: bytes, byteCount: $0.count) } }
        return try body(
            PageSource(base: UnsafeRawPointer(memory), limit: count, checked: checked, seed: seed, arena: nil))
    }
}
