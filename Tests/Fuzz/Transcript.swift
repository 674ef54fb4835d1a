import ObjStoreCore

/// What reading a store answered: question by question, what came out. Errors leave no trace.
final class Transcript {
    /// Answers as hashes; of this process only.
    private(set) var answers: [Question: Int] = [:]

    /// What was asked: by its class, its property (or 0), the way, and which of several.
    struct Question: Hashable {
        var classID: UInt32
        var propertyID: UInt32 = 0
        var way: Way
        var index: Int64 = 0
    }
    enum Way {
        case classInfo, propertyInfo, count, first, find, nulls, aggregate, column, rows, packed, object, key, elements,
            mixed
    }

    func note(_ question: Question, _ answer: Int) { answers[question] = answer }

    func note(_ question: Question, _ combine: (inout Hasher) -> Void) {
        var hasher = Hasher()
        combine(&hasher)
        answers[question] = hasher.finalize()
    }

    func note(_ question: Question, _ results: Results) throws(StoreError) {
        var hasher = Hasher()
        hasher.combine(results.count)
        for index in 0..<results.count { hasher.combine(keyOf: try results.object(at: UInt64(index))) }
        answers[question] = hasher.finalize()
    }

    /// The first question that the two answer in different ways; one that only one of them answers counts for `other`
    /// alone.
    func differences(from other: Transcript) -> [Question] {
        answers.filter { other.answers[$0.key] != $0.value }.map(\.key)
    }
}

extension Hasher {
    mutating func combine(_ value: Value) {
        combine(value.kind)
        if value.kind == .string || value.kind == .binary || value.kind == .document {
            combine(value.count)
            combine(bytes: UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        } else {
            combine(value.low)
            combine(value.high)
        }
    }

    /// Not the store's tag: what was salvaged is another store.
    mutating func combine(keyOf object: ObjectID?) { combine(object?.key ?? .min) }

    /// Rows in packed form, without the version and what lies between the parts.
    mutating func combine(packed: UnsafeRawBufferPointer) {
        func word(_ at: Int) -> Int { packed.loadUnaligned(fromByteOffset: at, as: Int.self) }
        let rows = word(8), columns = Int(packed.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        combine(rows)
        combine(bytes: .init(rebasing: packed[word(40)..<word(40) + rows * 8]))
        for line in (0..<columns).map({ 64 + 48 * $0 }) {
            let validity = word(line + 8), offsets = word(line + 16), values = word(line + 24), count = word(line + 32)
            if validity != 0 { combine(bytes: .init(rebasing: packed[validity..<validity + (rows + 7) / 8])) }
            if offsets != 0 { combine(bytes: .init(rebasing: packed[offsets..<offsets + (rows + 1) * 8])) }
            combine(bytes: .init(rebasing: packed[values..<values + count]))
        }
    }
}
