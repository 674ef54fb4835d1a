/// One mapping of the db file with the table of what was checked in it. A file that outgrows its mapping
/// gets a larger one; the old one lives as long as snapshots read through it.
final class Mapping: @unchecked Sendable {
    let map: FileMap
    /// See `PageSource.checked`; untouched parts of it cost no memory.
    let checked: UnsafeMutablePointer<UInt16>
    private let table: ZeroedMemory

    init(_ file: StorageFile, bytes: Int) throws(StoreError) {
        map = try file.map(bytes)
        table = try ZeroedMemory(bytes: bytes / PageSize.unit * 2)
        checked = table.base.bindMemory(to: UInt16.self, capacity: bytes / PageSize.unit)
    }

    /// How much to map for a file of that size: room to grow, without wasting address space.
    static func bytes(forFile fileBytes: Int) -> Int { max(1 << 30, fileBytes * 4) }

    func source(filePages: Int, seed: UInt64, arena: Arena? = nil) -> PageSource {
        PageSource(
            base: map.base, limit: min(filePages * PageSize.page, map.bytes), checked: checked, seed: seed,
            arena: arena?.table)
    }

    /// Pages that are about to be written again must be checked again.
    func forget(page: Int, count: Int) {
        let first = page * PageSize.unitsPerPage
        let last = min((page + count) * PageSize.unitsPerPage, map.bytes / PageSize.unit)
        if first < last { (checked + first).update(repeating: 0, count: last - first) }
    }
}
