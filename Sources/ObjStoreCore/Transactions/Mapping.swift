internal import CSystem

/// One mapping of the db file with the table of what was checked in it. A file that outgrows its mapping
/// gets a larger one; the old one lives as long as snapshots read through it.
final class Mapping: @unchecked Sendable {
    let map: FileMap
    /// See `PageSource.checked`; untouched parts of it cost no memory.
    let checked: UnsafeMutablePointer<UInt16>
    private let units: Int

    init(_ file: StorageFile, bytes: Int) throws(StoreError) {
        map = try file.map(bytes)
        units = bytes / PageSize.unit
        guard let table = calloc(units, 2) else { throw StoreError(.outOfMemory, "no memory for the page table of a mapping of \(bytes) bytes") }
        checked = table.bindMemory(to: UInt16.self, capacity: units)
    }

    deinit { free(checked) }

    /// How much to map for a file of that size: room to grow, without wasting address space.
    static func bytes(forFile fileBytes: Int) -> Int { max(1 << 30, fileBytes * 4) }

    func source(filePages: Int, seed: UInt64, arena: Arena? = nil) -> PageSource {
        PageSource(base: map.base, limit: min(filePages * PageSize.page, map.bytes), checked: checked, seed: seed, arena: arena?.table)
    }
}
