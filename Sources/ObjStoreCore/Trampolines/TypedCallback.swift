internal import CFFI

/// Calls a C function once for each object of a change set, with properties as native C arguments.
///
/// The argument block is laid out once; for each object it is filled and handed to libffi (about 50 ns a call
/// and the reading of the values). Not for two threads at once: a handler's calls never overlap.
///
/// ```
/// word     C arguments                  in the block
/// i64      int64_t                      value
/// i64?     const int64_t *              pointer or NULL ─► value
/// time?    const objstore_timestamp *   pointer or NULL ─► seconds, nanoseconds
/// str      const char *, int64_t        pointer, length          (pointers into the pinned version)
/// ```
package final class TypedCallback: @unchecked Sendable {
    package typealias Function = @convention(c) () -> Void

    private let signature: Signature
    /// Column ids, in the order of the words that take a property.
    private let columnIDs: [UInt32]
    private let function: Function
    private let around: CallAround?
    private let description: CallDescription
    /// Four words for each word of the signature: two arguments, two values that they may point to.
    private let block: UnsafeMutablePointer<Int64>
    private let arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>
    private static let wordsPerWord = 4
    /// What an empty text that is not null points to.
    private nonisolated(unsafe) static let nothing = UnsafeRawPointer(UnsafeMutablePointer<Int64>.allocate(capacity: 1))

    /// - Parameters:
    ///   - properties: positions in the class, one for each word that takes a property.
    ///   - userdata: the last argument of every call.
    ///   - around: makes each call; nil: it is made at once.
    package init(
        _ signature: Signature, class cls: ClassSchema, properties: [Int], function: @escaping Function,
        userdata: UnsafeMutableRawPointer?,
        around: CallAround? = nil
    ) throws(StoreError) {
        try signature.check(properties, of: cls)
        self.signature = signature
        self.function = function
        self.around = around
        columnIDs = properties.map { cls.columns[$0].id }
        var types: [CallDescription.ArgumentType] = []
        /// Offsets in the block, in words.
        var places: [Int] = []
        for (index, word) in signature.words.enumerated() {
            let place = index * TypedCallback.wordsPerWord
            switch word.kind {
            case .str, .bin:
                types += [.pointer, .int64]
                places += [place, place + 1]
            case .time where !word.isNullable:
                types += [.int64, .int32]
                places += [place, place + 1]
            default:
                types.append(TypedCallback.type(word))
                places.append(place)
            }
        }
        description = try CallDescription(types + [.pointer], returning: signature.returnsStatus ? .int32 : .nothing)
        let count = signature.words.count * TypedCallback.wordsPerWord
        block = .allocate(capacity: count + 1)
        block.initialize(repeating: 0, count: count + 1)
        block[count] = Int64(Int(bitPattern: userdata))
        arguments = .allocate(capacity: places.count + 1)
        for (index, place) in (places + [count]).enumerated() {
            (arguments + index).initialize(to: UnsafeMutableRawPointer(block + place))
        }
    }

    deinit {
        block.deallocate()
        arguments.deallocate()
    }

    private static func type(_ word: Signature.Word) -> CallDescription.ArgumentType {
        if word.isNullable { return .pointer }
        switch word.kind {
        case .bool: return .bool
        case .i64, .key: return .int64
        case .f32: return .float
        case .f64: return .double
        case .event: return .int32
        case .time, .str, .bin: return .pointer
        }
    }

    /// Calls the function for each inserted object, then for each one that was modified in one of the
    /// properties. Returns the first status that is not 0, which ends it, as closing the observer does.
    package func deliver(_ changes: ChangeSet) throws(StoreError) -> Int32 {
        let cls = changes.schema
        var positions: [Int] = []
        for id in columnIDs {
            guard let position = cls.columns.firstIndex(where: { $0.id == id }) else {
                throw StoreError(.noSuchProperty, "a property of a typed observer does not exist any more").at(
                    class: cls.name)
            }
            positions.append(position)
        }
        let objects = try changes.after.trees.objects(cls)
        for key in changes.inserted {
            let status = try call(objects, positions, key, event: 2)
            if status != 0 || changes.observer?.isEnded == true { return status }
        }
        for (index, key) in changes.modified.enumerated()
        where positions.contains(where: { changes.hasChanged($0, ofModification: index) }) {
            let status = try call(objects, positions, key, event: 3)
            if status != 0 || changes.observer?.isEnded == true { return status }
        }
        return 0
    }

    /// - Parameter event: OBJSTORE_INSERTIONS or OBJSTORE_MODIFICATIONS.
    private func call(
        _ objects: ClusterReader, _ positions: [Int], _ key: Int64, event: Int32
    ) throws(StoreError) -> Int32 {
        guard let row = try objects.find(key) else {
            throw StoreError(.corrupt, "the log names the object \(key), which the version does not have")
        }
        var used = 0
        for (index, word) in signature.words.enumerated() {
            let place = block + index * TypedCallback.wordsPerWord
            switch word.kind {
            case .key: place[0] = key
            case .event: place[0] = Int64(event)
            default:
                let value = try objects.value(row, positions[used])
                used += 1
                fill(place, word, value)
            }
        }
        let around = around
        return try ApplicationCall.run { around?(callFunction) ?? callFunction() }
    }

    private func callFunction() -> Int32 {
        var result: ffi_sarg = 0
        ffi_call(description.cif, function, &result, arguments)
        return signature.returnsStatus ? Int32(truncatingIfNeeded: result) : 0
    }

    private func fill(_ place: UnsafeMutablePointer<Int64>, _ word: Signature.Word, _ value: Value) {
        switch word.kind {
        case .str, .bin:
            place[0] = value.isNull ? 0 : Int64(Int(bitPattern: value.pointer ?? TypedCallback.nothing))
            place[1] = value.isNull ? 0 : Int64(value.count)
        case _ where word.isNullable:
            place[0] = value.isNull ? 0 : Int64(Int(bitPattern: place + 2))
            place[2] = value.low
            place[3] = value.high
        default:
            place[0] = value.low
            place[1] = value.high
        }
    }
}
