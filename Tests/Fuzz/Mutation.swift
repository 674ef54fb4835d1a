/// Changes bytes as an attacker would who knows where fields, refs and counts are.
struct Mutation<Source: NumberSource> {
    var random: Source

    /// One change in an extent; what it copies comes from anywhere within a larger range.
    mutating func change(_ bytes: inout [UInt8], _ extent: Range<Int>, within range: Range<Int>) {
        guard extent.upperBound <= bytes.count, !range.isEmpty else { return }  // the file was cut before it
        // The first words of an extent are kind, count, length, birth, levels, and the directory of a leaf.
        let unit = extent.lowerBound
        let range = range.clamped(to: 0..<bytes.count)
        let span = min(extent.count, random.chance(0.5) ? 128 : random.chance(0.7) ? 512 : extent.count)
        func place(_ width: Int, _ random: inout Source) -> Int {
            let offset = unit + random.below(span / width) * width
            return min(offset, bytes.count - 8)
        }
        switch random.below(9) {
        case 0: bytes[place(1, &random)] ^= 1 << UInt8(random.below(8))
        case 1: bytes[place(1, &random)] = [0, 1, 2, 4, 8, 0x7f, 0x80, 0xff][random.below(8)]
        case 2: store(&bytes, place(2, &random), 2)
        case 3: store(&bytes, place(4, &random), 4)
        case 4, 5: store(&bytes, place(8, &random), 8)
        case 6:  // a ref of somewhere else, so that trees share children or contain themselves
            let from = range.lowerBound + random.below(range.count / 8) * 8, to = place(8, &random)
            for index in 0..<8 where from + index < bytes.count { bytes[to + index] = bytes[from + index] }
        case 7:  // a piece of another node
            let from = range.lowerBound + random.below(max(1, range.count / 512)) * 512,
                length = [32, 64, 256, 512][random.below(4)]
            for index in 0..<length where unit + index < bytes.count && from + index < bytes.count {
                bytes[unit + index] = bytes[from + index]
            }
        default:
            let at = place(8, &random)
            let value = read(bytes, at) &+ ([1, .max, 8, 512, 4096, 1 << 12, 1 << 32] as [UInt64])[random.below(7)]
            write(&bytes, at, 8, value)
        }
    }

    private mutating func store(_ bytes: inout [UInt8], _ at: Int, _ width: Int) {
        let values: [UInt64] = [
            0, 1, 2, 3, 7, 8, 63, 64, 255, 256, 4095, 4096, 32767, 65535, 1 << 31, 1 << 32 - 1, 1 << 32, 1 << 62,
            1 << 63 - 1, 1 << 63, .max, .max - 1,
        ]
        write(&bytes, at, width, random.chance(0.8) ? values[random.below(values.count)] : random.next())
    }

    private func read(_ bytes: [UInt8], _ at: Int) -> UInt64 {
        (0..<8).reduce(0) { $0 | UInt64(bytes[at + $1]) << UInt64(8 * $1) }
    }

    private func write(_ bytes: inout [UInt8], _ at: Int, _ width: Int, _ value: UInt64) {
        for index in 0..<width where at + index < bytes.count {
            bytes[at + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index))
        }
    }

    // MARK: Whole pieces of a file

    /// One change as of a file system, or of a cut and paste: pages and units that are swapped, copied,
    /// filled, or missing at the end. The first `header` bytes stay what they are in most cases.
    mutating func changePieces(_ bytes: inout [UInt8], header: Int) {
        let size = random.chance(0.5) ? 512 : 4096
        let first = random.chance(0.9) ? header / size : 0
        guard bytes.count / size > first + 1 else { return }
        func piece(_ random: inout Source) -> Int { (first + random.below(bytes.count / size - first)) * size }
        switch random.below(6) {
        case 0, 1:
            let one = piece(&random), other = piece(&random)
            if one != other { for index in 0..<size { bytes.swapAt(one + index, other + index) } }
        case 2:
            let from = piece(&random), to = piece(&random)
            for index in 0..<size { bytes[to + index] = bytes[from + index] }
        case 3:
            let at = piece(&random), value: UInt8 = [0, 0xff, 0x80, 1][random.below(4)], start = random.below(size)
            for index in start..<size { bytes[at + index] = value }
        case 4: bytes.removeLast(bytes.count - max(8, piece(&random) + (random.chance(0.3) ? random.below(size) : 0)))
        default: bytes.append(contentsOf: [UInt8](repeating: 0, count: size * (1 + random.below(8))))
        }
    }
}
