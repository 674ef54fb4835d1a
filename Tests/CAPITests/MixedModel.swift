import CObjStore
import Testing

/// A value of a mixed property as tests know it.
indirect enum Mixed: Equatable {
    case null, bool(Bool), int(Int64), float(UInt32), double(UInt64), decimal(UInt64, UInt64), text(String), bytes(
        [UInt8]), time(Int64, Int32)
    case id([UInt8]), uuid([UInt8])
    case list([Mixed]), map([String: Mixed])

    enum Step: Equatable {
        case index(Int), key(String)
        var value: objstore_value {
            switch self {
            case .index(let index): objstore_int(Int64(index))
            case .key(let key): objstore_string(CAPITests.text(key))
            }
        }
    }

    // MARK: The C form

    /// Flat, as objstore_document_pack takes it; keys of maps in no particular order.
    var flat: [objstore_value] {
        switch self {
        case .null: [objstore_null()]
        case .bool(let value): [objstore_bool(value)]
        case .int(let value): [objstore_int(value)]
        case .float(let bits): [objstore_float(Float(bitPattern: bits))]
        case .double(let bits): [objstore_double(Double(bitPattern: bits))]
        case .decimal(let low, let high): [objstore_decimal128_value(objstore_decimal128(low: low, high: high))]
        case .text(let text): [objstore_string(CAPITests.text(text))]
        case .bytes(let bytes):
            [
                objstore_binary(
                    UnsafeRawPointer(
                        bytes.withUnsafeBufferPointer { source in
                            let copy = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, source.count))
                            if let base = source.baseAddress { copy.update(from: base, count: source.count) }
                            return copy
                        }), Int64(bytes.count))
            ]
        case .time(let seconds, let nanoseconds): [objstore_time(seconds, nanoseconds)]
        case .id(let bytes):
            [objstore_object_id_value(bytes.withUnsafeBytes { $0.loadUnaligned(as: objstore_object_id.self) })]
        case .uuid(let bytes): [objstore_uuid_value(bytes.withUnsafeBytes { $0.loadUnaligned(as: objstore_uuid.self) })]
        case .list(let list): [objstore_list_of(Int64(list.count))] + list.flatMap(\.flat)
        case .map(let map):
            [objstore_map_of(Int64(map.count))] + map.flatMap { [objstore_string(CAPITests.text($0))] + $1.flat }
        }
    }

    /// The packed value. Lives for ever: tests are short.
    func packed() throws -> objstore_value {
        var buffer = objstore_buffer_init(), value = objstore_value()
        let flat = flat
        try ok(objstore_document_pack(flat, flat.count, &buffer, &value))
        return value
    }

    init(_ value: objstore_value) throws {
        guard value.kind == .OBJSTORE_KIND_DOCUMENT else {
            self = Mixed(scalar: value)
            return
        }
        var count = 0
        try ok(objstore_document_unpack(value, nil, 0, &count))
        var flat = [objstore_value](repeating: objstore_null(), count: count)
        try ok(objstore_document_unpack(value, &flat, count, &count))
        var rest = flat[...]
        self = Mixed(&rest)
        #expect(rest.isEmpty)
    }

    private init(_ flat: inout ArraySlice<objstore_value>) {
        let value = flat.removeFirst()
        switch value.kind {
        case .OBJSTORE_KIND_LIST: self = .list((0..<value.data.integer).map { _ in Mixed(&flat) })
        case .OBJSTORE_KIND_MAP:
            var map: [String: Mixed] = [:], last: String?
            for _ in 0..<value.data.integer {
                let key = string(flat.removeFirst())!
                #expect(
                    last.map { Array($0.utf8).lexicographicallyPrecedes(Array(key.utf8)) } ?? true, "keys are in order")
                last = key
                map[key] = Mixed(&flat)
            }
            self = .map(map)
        default: self = Mixed(scalar: value)
        }
    }

    private init(scalar value: objstore_value) {
        func bytes(_ count: Int) -> [UInt8] { withUnsafeBytes(of: value.data) { Array($0[..<count]) } }
        switch value.kind {
        case .OBJSTORE_KIND_NULL: self = .null
        case .OBJSTORE_KIND_BOOL: self = .bool(value.data.boolean)
        case .OBJSTORE_KIND_INT: self = .int(value.data.integer)
        case .OBJSTORE_KIND_FLOAT: self = .float(value.data.single.bitPattern)
        case .OBJSTORE_KIND_DOUBLE: self = .double(value.data.real.bitPattern)
        case .OBJSTORE_KIND_DECIMAL128: self = .decimal(value.data.decimal128.low, value.data.decimal128.high)
        case .OBJSTORE_KIND_STRING: self = .text(string(value)!)
        case .OBJSTORE_KIND_BINARY:
            self = .bytes(
                Array(UnsafeBufferPointer(start: value.data.binary.bytes, count: Int(value.data.binary.length))))
        case .OBJSTORE_KIND_TIMESTAMP: self = .time(value.data.timestamp.seconds, value.data.timestamp.nanoseconds)
        case .OBJSTORE_KIND_OBJECT_ID: self = .id(bytes(12))
        case .OBJSTORE_KIND_UUID: self = .uuid(bytes(16))
        default: fatalError("\(value.kind)")
        }
    }

    // MARK: The naive way

    var depth: Int {
        switch self {
        case .list(let list): 1 + (list.map(\.depth).max() ?? 0)
        case .map(let map): 1 + (map.values.map(\.depth).max() ?? 0)
        default: 0
        }
    }

    /// What a path leads to.
    subscript(path: ArraySlice<Step>) -> Mixed? {
        guard let step = path.first else { return self }
        switch (self, step) {
        case (.list(let list), .index(let index)):
            let at = index < 0 ? index + list.count : index
            return list.indices.contains(at) ? list[at][path.dropFirst()] : nil
        case (.map(let map), .key(let key)): return map[key]?[path.dropFirst()]
        default: return nil
        }
    }

    enum Change { case set, insert, remove }

    /// False where that is not possible.
    mutating func apply(_ change: Change, _ path: ArraySlice<Step>, _ value: Mixed) -> Bool {
        let step = path.first!
        switch self {
        case .list(var list):
            guard case .index(let index) = step else { return false }
            if path.count == 1, change == .insert {
                let at = index == -1 ? list.count : index
                guard (0...list.count).contains(at) else { return false }
                list.insert(value, at: at)
            } else {
                let at = index < 0 ? index + list.count : index
                guard list.indices.contains(at) else { return false }
                if path.count > 1 {
                    guard list[at].apply(change, path.dropFirst(), value) else { return false }
                } else if change == .set {
                    list[at] = value
                } else {
                    list.remove(at: at)
                }
            }
            self = .list(list)
        case .map(var map):
            guard case .key(let key) = step else { return false }
            if path.count > 1 {
                guard map[key] != nil, map[key]!.apply(change, path.dropFirst(), value) else { return false }
            } else {
                if change == .insert || change == .remove && map[key] == nil { return false }
                map[key] = change == .set ? value : nil
            }
            self = .map(map)
        default: return false
        }
        return true
    }
}

/// Random values, shallow and deep, small and long.
struct MixedRandom {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_f491_4f6c_dd1d
    }
    mutating func below(_ bound: Int) -> Int { Int(next() >> 33) % bound }

    mutating func key() -> String {
        below(20) == 0
            ? String(repeating: "ключ", count: below(40))
            : ["", "a", "b", "name", "é", "z\0z", "k\(below(30))"][below(7)]
    }

    mutating func scalar() -> Mixed {
        switch below(14) {
        case 0: return .null
        case 1: return .bool(below(2) == 0)
        case 2: return .int(Int64(bitPattern: next()))
        case 3:
            return .int(
                [0, 1, -1, 127, 128, -128, -129, 32767, 32768, -32769, 1 << 31, -(1 << 31) - 1, .max, .min][below(14)])
        case 4: return .float([0, 0x8000_0000, 0x3f80_0000, 0x7fc0_0000, 0x7f80_0000][below(5)])
        case 5: return .double(below(2) == 0 ? next() : Double(below(100)).bitPattern)
        case 6: return .decimal(UInt64(below(1000)), 0x3040_0000_0000_0000)
        case 7, 8: return .text(key())
        case 9: return .text(String(repeating: "long text ", count: below(below(10) == 0 ? 2000 : 20)))
        case 10: return .bytes((0..<below(40)).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        case 11: return .time(Int64(below(1_000_000)) - 500_000, Int32(below(1_000_000_000)))
        case 12: return .id((0..<12).map { _ in UInt8(below(256)) })
        default: return .uuid((0..<16).map { _ in UInt8(below(256)) })
        }
    }

    mutating func value(_ depth: Int = 4) -> Mixed {
        if depth == 0 || below(3) == 0 { return scalar() }
        let count = below(12) == 0 ? below(400) : below(6)
        let inner = count > 20 ? 0 : depth - 1
        if below(2) == 0 { return .list((0..<count).map { _ in value(inner) }) }
        return .map(
            Dictionary((0..<count).map { _ in (key() + (count > 20 ? "\(below(1000))" : ""), value(inner)) }) { a, _ in
                a
            })
    }

    /// A path of the document, to something that is there or next to it, or to nothing at all.
    mutating func path(_ value: Mixed) -> [Mixed.Step] {
        var path: [Mixed.Step] = [], here = value
        while path.count < 8 {
            let step: Mixed.Step
            switch here {
            case .list(let list):
                step = below(40) == 0 ? .key(key()) : .index(below(list.count + 3) - 1)
                here = here[[step]] ?? .null
            case .map(let map):
                let keys = map.keys.sorted()
                step =
                    below(40) == 0
                    ? .index(0) : keys.isEmpty || below(4) == 0 ? .key(key()) : .key(keys[below(keys.count)])
                here = here[[step]] ?? .null
            default: return path.isEmpty ? [.index(0)] : path
            }
            path.append(step)
            if below(4) == 0 { return path }
        }
        return path
    }
}
