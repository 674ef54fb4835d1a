#if canImport(Glibc)
internal import Glibc
#endif

/// Queries of oracles: which contents of a file may be on the medium now.
extension DiskFile {
    /// Whether a power cut now could not change any byte of the range: the medium holds what is visible.
    package func isCertain(_ range: Range<Int>) -> Bool {
        if dirty.isEmpty && lostCount == 0 { return true }
        if range.isEmpty { return true }
        for sector in range.lowerBound / sectorBytes...(range.upperBound - 1) / sectorBytes where sector < first.count {
            if isLost[sector] { return false }
            if first[sector] >= 0 && !isCertain(sector, within: range) { return false }
        }
        return range.upperBound <= durableSize && pendingSizes.allSatisfy { range.upperBound <= $0.size }
    }

    /// Only the bytes of the sector that lie in the range count.
    private func isCertain(_ sector: Int, within range: Range<Int>) -> Bool {
        let from = max(range.lowerBound, sector * sectorBytes)
        let to = min(range.upperBound, (sector + 1) * sectorBytes)
        let inSector = from - sector * sectorBytes
        if memcmp(durable + from, visible + from, to - from) != 0 { return false }
        var node = first[sector]
        while node >= 0 {
            if memcmp(value(node) + inSector, visible + from, to - from) != 0 { return false }
            node = nodes[Int(node)].next
        }
        return true
    }

    /// The sectors whose value on the medium is not certainly the visible one, ascending.
    package func uncertainSectors() -> [Int] {
        var all = dirty.map { Int($0) }.filter { !isCertain($0, within: $0 * sectorBytes..<($0 + 1) * sectorBytes) }
        if lostCount > 0 { all += isLost.indices.filter { isLost[$0] } }
        return all.sorted()
    }

    /// The different values that the sector may have after a power cut, the oldest first; `sectorBytes` each,
    /// valid until the next change of the file.
    package func possibleValues(ofSector sector: Int) -> [UnsafeRawPointer] {
        guard sector < first.count else { return [] }
        var values = [UnsafeRawPointer(durable + sector * sectorBytes)]
        var node = first[sector]
        while node >= 0 {
            let candidate = value(node)
            if !values.contains(where: { memcmp($0, candidate, sectorBytes) == 0 }) { values.append(candidate) }
            node = nodes[Int(node)].next
        }
        return values
    }

    /// Calls `body` with every content that the range may have after a power cut; with `includingVisible` also
    /// with those that it may have in the page cache after all processes died (a mixture with lost sectors
    /// that may or may not be evicted). The range starts and ends at sectors and is small: the number of
    /// combinations is the product of the numbers of values. More than `limit` of them is a fatal error.
    package func choosable(
        _ range: Range<Int>, includingVisible: Bool = true, limit: Int = 1 << 20,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        precondition(range.lowerBound % sectorBytes == 0 && range.upperBound % sectorBytes == 0)
        var options: [[UnsafeRawPointer]] = []
        var combinations = 1
        for sector in range.lowerBound / sectorBytes..<range.upperBound / sectorBytes {
            var values = possibleValues(ofSector: sector)
            if values.isEmpty { return }
            let seen = UnsafeRawPointer(visible + sector * sectorBytes)
            if includingVisible && !values.contains(where: { memcmp($0, seen, sectorBytes) == 0 }) {
                values.append(seen)
            }
            options.append(values)
            combinations *= values.count
            if combinations > limit { fatalError("choosable: too many combinations for \(range)") }
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 16)
        defer { buffer.deallocate() }
        var digits = [Int](repeating: 0, count: options.count)
        for (index, values) in options.enumerated() {
            (buffer.baseAddress! + index * sectorBytes).copyMemory(from: values[0], byteCount: sectorBytes)
        }
        while true {
            body(UnsafeRawBufferPointer(buffer))
            var index = 0
            while index < digits.count {
                digits[index] += 1
                if digits[index] == options[index].count { digits[index] = 0 }
                (buffer.baseAddress! + index * sectorBytes)
                    .copyMemory(from: options[index][digits[index]], byteCount: sectorBytes)
                if digits[index] != 0 { break }
                index += 1
            }
            if index == digits.count { return }
        }
    }

    /// The sizes that the file may have after a power cut.
    package func possibleSizes() -> [Int] { [durableSize] + pendingSizes.map { $0.size } }

    /// Of a write that is about to happen: the sectors that it changes, ascending.
    package func changedSectors(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> [Int] {
        var changed: [Int] = []
        var from = offset
        let end = offset + bytes.count
        while from < end {
            let sector = from / sectorBytes
            let to = min(end, (sector + 1) * sectorBytes)
            if to > size || memcmp(visible + from, bytes.baseAddress! + (from - offset), to - from) != 0 {
                changed.append(sector)
            }
            from = to
        }
        return changed
    }
}
