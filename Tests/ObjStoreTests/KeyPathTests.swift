import Foundation
import ObjStore
import Testing

/// A key path leads to one property, and ends there.
@Suite struct KeyPathTests {
    final class Reading: Object {
        @Persisted var number = 0
        @Persisted var small: Int8 = 0
        @Persisted var real = 0.0
        @Persisted var single: Float?
        @Persisted var text = ""
        @Persisted var flag = false
        @Persisted var maybe: Int?
        @Persisted var time = Timestamp(seconds: 0)
        @Persisted var date = Date()
        @Persisted var jumps: Counter
        @Persisted var size: Size
        @Persisted var bytes: [UInt8]
        @Persisted var words: List<String>
        @Persisted var any: AnyValue
        @Persisted var next: Reading?
        @Persisted(originProperty: "next") var before: LinkingObjects<Reading>
        var doubled: Int { number * 2 }
        var upper: String { text.uppercased() }
        var other: Bool { !flag }
    }

    @Test func propertiesAreFound() throws {
        let store = try memoryStore([Reading.self]), readings = store.objects(Reading.self)
        let keyPaths: [PartialKeyPath<Reading>] = [
            \.number, \.small, \.real, \.single, \.text, \.flag, \.maybe, \.time, \.date, \.jumps, \.size, \.bytes,
            \.words, \.any, \.next, \.maybe!, \.single!,
        ]
        for keyPath in keyPaths { try readings.observe(keyPaths: [keyPath]) { _ in }.invalidate() }
    }

    @Test func nothingBeyondThem() throws {
        let store = try memoryStore([Reading.self]), readings = store.objects(Reading.self)
        let keyPaths: [PartialKeyPath<Reading>] = [
            \.number.nonzeroBitCount, \.number.bigEndian, \.number.magnitude, \.number.description,
            \.small.nonzeroBitCount, \.small.trailingZeroBitCount,
            \.real.magnitude, \.real.significand, \.real.nextUp, \.single?.magnitude, \.text.count, \.text.first,
            \.text.utf8.count, \.text.localizedUppercase, \.flag.description,
            \.maybe?.byteSwapped, \.maybe!.nonzeroBitCount, \.time.seconds, \.date.timeIntervalSince1970, \.jumps.value,
            \.size.rawValue, \.bytes.count, \.words.count,
            \.any.int, \.before, \.doubled, \.upper, \.other, \.self, \.isFrozen,
        ]
        for (number, keyPath) in keyPaths.enumerated() {
            #expect(
                code { try readings.observe(keyPaths: [keyPath]) { _ in } } == .invalidQuery, "\(number) \(keyPath)")
        }
        for keyPath in [\.next?.number, \.next?.next] as [PartialKeyPath<Reading>] {
            try readings.observe(keyPaths: [keyPath]) { _ in }.invalidate()
        }
        try store.write { tx in
            _ = try tx.create(
                Reading.self, value: ["number": 6, "jumps": 0, "size": Size.small, "bytes": [UInt8]()] as [String: Any])
            #expect(code { _ = try readings.sum(of: \.number.nonzeroBitCount) } == .invalidQuery)
            #expect(code { try readings.set(\.number.bigEndian, to: 5) } == .invalidQuery)
            #expect(code { try tx.insert(Reading.self, [Column(\.text.localizedUppercase, ["x"])]) } == .invalidQuery)
        }
        #expect(readings.count == 1 && readings.first?.number == 6)
    }
}
