/// Which pages a version wrote and which extents it no longer refers to: how the allocators of other
/// processes follow.
///
/// ```
/// allocated: count × { page gap, pages, live units }      freed: count × { unit gap (signed), units, version - born }
/// ```
struct AllocationDelta {
    var allocated: [ExtentWriter.PlacedPage] = []
    var freed: [FreedExtent] = []

    func encode(into buffer: ByteBuffer, version: UInt64) throws(StoreError) {
        buffer.removeAll()
        var runs = 0, first = 0
        while first < allocated.count {
            runs += 1
            first = endOfRun(first)
        }
        try buffer.appendVarint(UInt64(runs))
        var last = 0
        first = 0
        while first < allocated.count {
            let end = endOfRun(first), page = allocated[first].page
            try buffer.appendSigned(Int64(page - last))
            try buffer.appendVarint(UInt64(end - first))
            try buffer.append(UInt8(allocated[first].liveUnits))
            last = page + end - first
            first = end
        }
        try buffer.appendVarint(UInt64(freed.count))
        last = 0
        for extent in freed {
            try buffer.appendSigned(Int64(extent.unit - last))
            try buffer.appendVarint(UInt64(extent.units))
            try buffer.appendVarint(version &- min(extent.born, version))
            last = extent.unit + extent.units
        }
    }

    /// The first of `allocated` behind `first` that does not follow on, or has other units.
    private func endOfRun(_ first: Int) -> Int {
        var end = first + 1
        while end < allocated.count, allocated[end].page == allocated[first].page + end - first,
            allocated[end].liveUnits == allocated[first].liveUnits
        { end += 1 }
        return end
    }

    /// Brings an allocator forward by one version.
    static func apply(
        _ reader: inout ByteReader, version: UInt64, filePages: Int, to space: FreeSpace
    ) throws(StoreError) {
        try space.extend(to: filePages, isReady: true)
        var last = 0
        for _ in 0..<(try reader.readCount()) {
            let gap = try reader.readSigned(), count = try reader.readCount()
            guard gap.magnitude <= UInt64(space.pages) else {
                throw StoreError(.corrupt, "allocation delta of version \(version) is not well formed")
            }
            let page = last + Int(gap)
            let units = Int(try reader.read(UInt8.self))
            guard page >= 0, count <= space.pages else {
                throw StoreError(.corrupt, "allocation delta of version \(version) is not well formed")
            }
            for p in page..<(page + count) { try space.allocate(page: p, units: units, version: version) }
            last = page + count
        }
        last = 0
        for _ in 0..<(try reader.readCount()) {
            let gap = try reader.readSigned()
            guard gap.magnitude <= UInt64(space.pages * PageSize.unitsPerPage) else {
                throw StoreError(.corrupt, "allocation delta of version \(version) is not well formed")
            }
            let unit = last + Int(gap)
            let units = try reader.readCount()
            let age = try reader.readVarint()
            guard unit >= 0, units <= space.pages * PageSize.unitsPerPage, age <= version else {
                throw StoreError(.corrupt, "allocation delta of version \(version) is not well formed")
            }
            try space.free(FreedExtent(unit: unit, units: units, born: version - age), version: version)
            last = unit + units
        }
        // A checkpoint has cut off free pages; or this process grew the file for a commit that failed.
        try space.shrink(to: filePages)
    }
}
