internal import CSystem

/// A dictionary of Arrow that is being made: texts, each once, numbered as they come.
///
/// It goes on from batch to batch: what the first ones have is the beginning of what the next ones have, so that a
/// number means the same in all of them, and the memory is shared. One that has become large is not continued.
final class TextCodes: TextCells {
    typealias Cell = Int32
    static let nothing: Int32 = 0

    /// The texts that there are, for somebody who keeps them; more may come behind them.
    private(set) var texts: DictionaryTexts
    private(set) var count = 0
    private var hashes = GroupArray<UInt64>()
    /// An open hash: numbers and 1; 0: none.
    private var table: UnsafeMutablePointer<Int32>
    private var tableSize = 64
    private let seed: UInt64

    init() throws(StoreError) {
        texts = try DictionaryTexts(rows: 64, bytes: 1024)
        table = try TextCodes.emptyTable(tableSize)
        seed = UInt64(UInt(bitPattern: table)) &* 0x9E37_79B9_7F4A_7C15
    }

    deinit { table.deallocate() }

    /// So many values, or bytes of them, are not kept for another batch.
    var isLarge: Bool { count > 1 << 16 || texts.end(count) > 16 << 20 }

    func cell(_ pointer: UnsafeRawPointer, _ length: Int) throws(StoreError) -> Int32 {
        let hash = IndexBits.hash(pointer, length, seed: seed), mask = tableSize &- 1
        var place = Int(truncatingIfNeeded: hash) & mask
        while table[place] != 0 {
            let number = Int(table[place] &- 1)
            if hashes[number] == hash {
                let known = texts.text(number)
                if known.count == length, memcmp(known.pointer, pointer, length) == 0 { return Int32(number) }
            }
            place = (place &+ 1) & mask
        }
        return try add(pointer, length, hash, place)
    }

    @inline(never)
    private func add(
        _ pointer: UnsafeRawPointer, _ length: Int, _ hash: UInt64, _ place: Int
    ) throws(StoreError) -> Int32 {
        guard count < Int(Int32.max) - 1 else {
            throw StoreError(.outOfRange, "there are more than 2 billion texts, too many for an Arrow dictionary")
        }
        if let larger = try texts.larger(than: count, adding: length) { texts = larger }
        try hashes.append(hash)
        texts.append(pointer, length, at: count)
        count += 1
        table[place] = Int32(truncatingIfNeeded: count)
        if count &* 2 > tableSize { try growTable() }
        return Int32(truncatingIfNeeded: count &- 1)
    }

    private func growTable() throws(StoreError) {
        let size = tableSize * 4, larger = try TextCodes.emptyTable(size)
        for number in 0..<count {
            var place = Int(truncatingIfNeeded: hashes[number]) & (size - 1)
            while larger[place] != 0 { place = (place + 1) & (size - 1) }
            larger[place] = Int32(truncatingIfNeeded: number + 1)
        }
        table.deallocate()
        table = larger
        tableSize = size
    }

    private static func emptyTable(_ size: Int) throws(StoreError) -> UnsafeMutablePointer<Int32> {
        let table = try Memory.allocate(Int32.self, size)
        table.update(repeating: 0, count: size)
        return table
    }
}

/// The memory of a dictionary: texts one behind the other, and where each ends. What has been written is never written
/// again, nor moved: who needs more room makes a larger one, and whoever has this one keeps it.
final class DictionaryTexts: @unchecked Sendable {
    let offsets: UnsafeMutablePointer<Int64>
    let bytes: UnsafeMutableRawPointer
    private let rowCapacity: Int, byteCapacity: Int

    init(rows: Int, bytes count: Int) throws(StoreError) {
        offsets = try Memory.allocate(Int64.self, rows + 1)
        // Vectors of others may read over the end.
        do throws(StoreError) { bytes = try Memory.allocate(count + 64) } catch {
            offsets.deallocate()
            throw error
        }
        offsets[0] = 0
        rowCapacity = rows
        byteCapacity = count
    }

    deinit {
        offsets.deallocate()
        bytes.deallocate()
    }

    @inline(__always) func end(_ count: Int) -> Int { Int(offsets[count]) }

    @inline(__always)
    func text(_ number: Int) -> (pointer: UnsafeRawPointer, count: Int) {
        let start = end(number)
        return (UnsafeRawPointer(bytes + start), end(number &+ 1) &- start)
    }

    /// Nil: there is room for a text of `length` bytes behind the first `count`. Else the same texts with more room.
    func larger(than count: Int, adding length: Int) throws(StoreError) -> DictionaryTexts? {
        if count < rowCapacity, length <= byteCapacity - end(count) { return nil }
        let more = try DictionaryTexts(
            rows: count < rowCapacity ? rowCapacity : rowCapacity * 2,
            bytes: max(end(count) + length, length <= byteCapacity - end(count) ? byteCapacity : byteCapacity * 2))
        memcpy(more.offsets, offsets, (count + 1) * 8)
        memcpy(more.bytes, bytes, end(count))
        return more
    }

    func append(_ pointer: UnsafeRawPointer, _ length: Int, at number: Int) {
        let start = end(number)
        ColumnBuffer.copy(pointer, to: bytes + start, length)
        offsets[number + 1] = Int64(start + length)
    }
}
