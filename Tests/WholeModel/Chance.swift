import ObjStoreCore

/// Random numbers (splitmix64) and random values: from small stocks, so that they meet.
package struct Chance: RandomNumberGenerator {
    private var state: UInt64
    package init(_ seed: UInt64) {
        state = seed
        // Else the numbers of a seed would be those of its neighbour, one later.
        state = next() ^ seed << 32
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return z ^ z >> 31
    }
    package mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(1, bound))) }
    package mutating func percent(_ chance: Int) -> Bool { below(100) < chance }
    mutating func one<T>(_ all: [T]) -> T { all[below(all.count)] }

    static func standard(_ kind: ValueKind) -> Datum {
        var chance = Chance(7)
        return chance.scalar(kind)
    }

    mutating func text() -> String {
        switch below(12) {
        case 0: ""
        case 1: "x\u{0}y"
        case 2: String(repeating: "long \(below(4)) ", count: 9 + below(40))
        case 3: String(repeating: "Ü€𝄞", count: below(300))
        default: "t\(below(30))"
        }
    }

    mutating func scalar(_ kind: ValueKind) -> Datum {
        switch kind {
        case .bool: .bool(percent(50))
        case .int: .int(percent(10) ? one([.max, .min, 1 << 40, -1 << 33]) : Int64(below(40)) - 8)
        case .float: .float(percent(10) ? one([.infinity, .greatestFiniteMagnitude]) : Float(below(40)) / 4)
        case .double: .double(percent(10) ? one([-.infinity, 1e300]) : Double(below(40)) / 8 - 2)
        case .decimal128: .decimal(Int64(below(500)))
        case .string: .text(text())
        case .binary: .binary((0..<one([0, 1, 20, 20, 3000])).map { _ in UInt8(truncatingIfNeeded: next()) })
        case .timestamp: .timestamp(Int64(below(50)) * 1000, Int32(below(3)) * 500)
        case .objectID: .objectID(Int64(below(60)) - 30, Int64(below(2)))
        case .uuid: .uuid(Int64(below(60)) - 30, Int64(below(2)))
        default: fatalError("no scalar: \(kind)")
        }
    }

    /// A mixed value with links to objects of a content.
    mutating func mixed(_ content: Content, depth: Int = 0) -> Datum {
        switch below(depth > 3 ? 9 : 12) {
        case 0: return .null
        case 1...5: return scalar(one(Plan.scalars))
        case 6...8: return link(content) ?? .null
        case 9, 10: return .list((0..<below(5)).map { _ in mixed(content, depth: depth + 1) })
        default:
            return .map(
                Dictionary((0..<below(5)).map { _ in (Datum.text("k\(below(9))"), mixed(content, depth: depth + 1)) }) {
                    $1
                })
        }
    }

    /// One that a set may have: no list, no map.
    mutating func single(_ content: Content) -> Datum { mixed(content, depth: 4) }

    /// A link to an object of any class that is not embedded, often to one of a few: so some have many. Nil: the class
    /// has none.
    mutating func link(_ content: Content) -> Datum? {
        let cls = one(content.plan.classes.filter { !$0.isEmbedded }).name, keys = content[cls].keys.sorted()
        return keys.isEmpty ? nil : .linkTo(cls, keys[below(percent(50) ? min(3, keys.count) : keys.count)])
    }
}
