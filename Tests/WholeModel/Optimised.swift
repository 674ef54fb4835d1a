/// What tests do often: they are not optimised, and what the standard library does for them by way of generics takes
/// ten times as long there as here.

extension Sequence where Element == Int64 {
    package func ascending() -> [Int64] {
        var numbers = ContiguousArray<Int64>()
        numbers.reserveCapacity(underestimatedCount)
        for number in self { numbers.append(number) }
        numbers.sort()
        return Array(numbers)
    }
}

extension Array where Element == Int64 {
    /// Takes out the first that is this one.
    package mutating func removeFirst(equalTo number: Int64) {
        guard let at = withUnsafeBufferPointer({ $0.firstIndex(of: number) }) else { return }
        remove(at: at)
    }

    package mutating func removeAll(in numbers: Set<Int64>) { removeAll { numbers.contains($0) } }
}

/// So many bytes that repeat only after long.
package func pattern(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: ($0 &* 31) ^ ($0 >> 8)) } }

package func digest(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0100_0000_01b3 }
    return hash
}

/// The numbers below `count`, in the order that `isBefore` says.
package func order(_ count: Int, by isBefore: (Int, Int) throws -> Bool) rethrows -> [Int] {
    try (0..<count).sorted(by: isBefore)
}
