/// Sorting for tests: they are not optimised, and what the standard library does for them by way of generics takes ten times as long.

extension Sequence where Element == Int64 {
    package func ascending() -> [Int64] {
        var numbers = ContiguousArray<Int64>()
        numbers.reserveCapacity(underestimatedCount)
        for number in self { numbers.append(number) }
        numbers.sort()
        return Array(numbers)
    }
}

/// The numbers below `count`, in the order that `isBefore` says.
package func order(_ count: Int, by isBefore: (Int, Int) throws -> Bool) rethrows -> [Int] { try (0..<count).sorted(by: isBefore) }
