/// A value as the model knows it: nothing of the engine is in it.
///
/// The elements of lists, sets and maps are data too; a link is the key of the object that it leads to, whose class the
/// property says, or inside a mixed value the link itself.
package indirect enum Datum: Hashable, Sendable, CustomStringConvertible {
    case null
    case bool(Bool), int(Int64), float(Float), double(Double)
    /// Hundredths.
    case decimal(Int64)
    case text(String), binary([UInt8])
    case timestamp(Int64, Int32)
    /// The two words of a value of the engine, in whose order they are.
    case objectID(Int64, Int64), uuid(Int64, Int64)
    case link(Int64)
    /// In mixed values: class and key.
    case linkTo(String, Int64)
    case list([Datum]), set(Set<Datum>), map([Datum: Datum])
    /// An object that is described, not there yet: an embedded one, by the names of its properties.
    case described([String: Datum])

    var isNull: Bool { self == .null }

    package var description: String {
        switch self {
        case .null: "null"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .float(let value): "\(value)f"
        case .double(let value): "\(value)"
        case .decimal(let value): "\(value)/100"
        case .text(let value): "\"\(value.count > 24 ? value.prefix(20) + "…\(value.utf8.count)" : value)\""
        case .binary(let value): "\(value.count) bytes"
        case .timestamp(let seconds, let nanoseconds): "@\(seconds).\(nanoseconds)"
        case .objectID(let low, let high): "oid \(low):\(high)"
        case .uuid(let low, let high): "uuid \(low):\(high)"
        case .link(let key): "#\(key)"
        case .linkTo(let cls, let key): "\(cls)#\(key)"
        case .list(let all): "[\(all.map(\.description).joined(separator: ", "))]"
        case .set(let all): "{\(all.sorted(by: Datum.isBefore).map(\.description).joined(separator: ", "))}"
        case .map(let all):
            """
            {\(all.sorted { Datum.isBefore($0.key, $1.key) }.map { "\($0.key): \($0.value)" }.joined(separator: ", "))}
            """
        case .described(let all): "new \(all.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" })"
        }
    }

    /// The order of sets and of the keys of maps. Classes are in the order of their names: of their ids the model knows
    /// nothing.
    static func isBefore(_ a: Datum, _ b: Datum) -> Bool {
        switch (a, b) {
        case (.bool(let a), .bool(let b)): !a && b
        case (.int(let a), .int(let b)): a < b
        case (.float(let a), .float(let b)): a < b
        case (.double(let a), .double(let b)): a < b
        case (.decimal(let a), .decimal(let b)): a < b
        case (.text(let a), .text(let b)): a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.binary(let a), .binary(let b)): a.lexicographicallyPrecedes(b)
        case (.timestamp(let a, let x), .timestamp(let b, let y)): (a, x) < (b, y)
        case (.objectID(let a, let x), .objectID(let b, let y)): (a, x) < (b, y)
        case (.uuid(let a, let x), .uuid(let b, let y)): (a, x) < (b, y)
        case (.link(let a), .link(let b)): a < b
        case (.linkTo(let a, let x), .linkTo(let b, let y)): (a, x) < (b, y)
        // Elements of different kinds: null comes first.
        default: isBefore(a, b, families: a.family, b.family)
        }
    }

    private static func isBefore(_ a: Datum, _ b: Datum, families x: Int, _ y: Int) -> Bool {
        if x != y { return x < y }
        if let first = a.hundredfold, let second = b.hundredfold, first != second { return first < second }
        if let first = a.bytes, let second = b.bytes, first != second { return first.lexicographicallyPrecedes(second) }
        return a.kindOrder < b.kindOrder
    }

    private var family: Int {
        switch self {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal: 2
        case .text, .binary: 3
        case .timestamp: 4
        case .objectID: 5
        case .uuid: 6
        case .link, .linkTo: 7
        default: 8
        }
    }

    /// Exact wherever two values of the stocks of `Chance` are near each other.
    private var hundredfold: Double? {
        switch self {
        case .int(let value): Double(value) * 100
        case .float(let value): Double(value) * 100
        case .double(let value): value * 100
        case .decimal(let value): Double(value)
        default: nil
        }
    }

    private var bytes: [UInt8]? {
        switch self {
        case .text(let text): Array(text.utf8)
        case .binary(let bytes): bytes
        default: nil
        }
    }

    /// Of equal values of different kinds.
    private var kindOrder: Int {
        switch self {
        case .float, .binary: 1
        case .double: 2
        case .decimal: 3
        default: 0
        }
    }
}
