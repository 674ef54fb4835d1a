/// stub
package struct TextPattern: Sendable {
    package enum Operation: Sendable {
        case equal, less, lessOrEqual, greater, greaterOrEqual, beginsWith, endsWith, contains, like
    }
    let operation: Operation
    let pattern: [UInt8]
    let isBinary: Bool
    let folds: Bool
    package init(
        _ operation: Operation, _ pattern: UnsafeRawBufferPointer, foldsCase: Bool, foldsAccents: Bool,
        isBinary: Bool = false
    ) throws(StoreError) {
        self.operation = operation
        folds = foldsCase
        self.pattern = TextPattern.fold(Array(pattern), foldsCase)
        self.isBinary = isBinary
    }
    static func fold(_ b: [UInt8], _ folds: Bool) -> [UInt8] {
        folds ? b.map { $0 >= 65 && $0 <= 90 ? $0 + 32 : $0 } : b
    }
    package func matches(_ text: UnsafeRawPointer?, _ count: Int) -> Bool {
        let t = TextPattern.fold(Array(UnsafeRawBufferPointer(start: text, count: count)), folds)
        switch operation {
        case .equal: return t == pattern
        case .less: return t.lexicographicallyPrecedes(pattern)
        case .greater: return pattern.lexicographicallyPrecedes(t)
        case .lessOrEqual: return !pattern.lexicographicallyPrecedes(t)
        case .greaterOrEqual: return !t.lexicographicallyPrecedes(pattern)
        case .beginsWith: return t.starts(with: pattern)
        case .endsWith: return t.reversed().starts(with: pattern.reversed())
        case .contains:
            return pattern.isEmpty
                || (t.count >= pattern.count
                    && (0...(t.count - pattern.count)).contains { t[$0...].starts(with: pattern) })
        case .like: return t == pattern
        }
    }
    package static func compareFolded(
        _ a: UnsafeRawPointer?, _ aCount: Int, _ b: UnsafeRawPointer?, _ bCount: Int, foldsCase: Bool,
        foldsAccents: Bool
    ) -> Int {
        let x = fold(Array(UnsafeRawBufferPointer(start: a, count: aCount)), foldsCase),
            y = fold(Array(UnsafeRawBufferPointer(start: b, count: bCount)), foldsCase)
        return x == y ? 0 : x.lexicographicallyPrecedes(y) ? -1 : 1
    }
}
