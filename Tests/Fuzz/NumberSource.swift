import ObjStoreSimulation

/// What decides how a case is made: a seed, or the bytes that libFuzzer gives.
protocol NumberSource {
    mutating func next() -> UInt64
    mutating func below(_ n: Int) -> Int
    mutating func chance(_ p: Double) -> Bool
    /// Nothing more is to be decided: what is requested now is always the same.
    var isExhausted: Bool { get }
}

extension RandomNumbers: NumberSource {
    var isExhausted: Bool { false }
}

/// Numbers read from libFuzzer's bytes, each from as few as it takes: a byte that changes changes one decision.
struct InputNumbers: NumberSource {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    /// Whether `next` gives bytes as they are. libFuzzer sees what the code under test compares, also the hashes that
    /// it would have to write to be believed: where hashes count, it must not be able to.
    var isRaw = true

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    var isExhausted: Bool { position >= bytes.count }

    private mutating func read(_ count: Int) -> UInt64 {
        var value: UInt64 = 0
        for index in 0..<count where position < bytes.count {
            value |= UInt64(bytes[position]) << UInt64(8 * index)
            position += 1
        }
        return value
    }

    mutating func next() -> UInt64 {
        if isRaw { return read(8) }
        var random = RandomNumbers(seed: read(2))
        return random.next()
    }

    mutating func below(_ n: Int) -> Int { n <= 1 ? 0 : Int(read(n <= 256 ? 1 : n <= 65536 ? 2 : 4) % UInt64(n)) }

    mutating func chance(_ p: Double) -> Bool { Double(read(1)) < p * 256 }
}
