internal import CFFI

/// What a typed observer is told besides insertions and modifications.
package struct TypedEvents: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let deletions = TypedEvents(rawValue: 1)
    package static let beginnings = TypedEvents(rawValue: 2)

    /// The word `event` of a beginning.
    fileprivate static let beginning: Int32 = 0
}

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
/// What was deleted has the values of the version before, and is told where that was requested; so are beginnings.
package final class TypedCallback: @unchecked Sendable {
    package typealias Function = @convention(c) () -> Void

    private let signature: Signature
    private let told: TypedEvents
    /// In the order of the words that take a property.
    private let columns: [(id: UInt32, name: String)]
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
    ///   - told: what it is called for besides insertions and modifications.
    package init(
        _ signature: Signature, class cls: ClassSchema, properties: [Int], function: @escaping Function,
        userdata: UnsafeMutableRawPointer?,
        around: CallAround? = nil, telling told: TypedEvents = []
    ) throws(StoreError) {
        try signature.check(properties, of: cls)
        if told.contains(.deletions) { try signature.checkEvent(toTell: "deletions") }
        if told.contains(.beginnings) { try signature.checkEvent(toTell: "beginnings") }
        self.told = told
        self.signature = signature
        self.function = function
        self.around = around
        columns = properties.map { (cls.columns[$0].id, cls.properties[$0].name) }
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

    /// Calls the function for each deleted object, if that was requested, then for each inserted one, then for each
    /// that was modified in one of the properties, whether it was moved or not. Returns the first status that is not 0,
    /// which ends it, as closing the observer does.
    ///
    /// - Parameter found: what the observer's query finds in a version, for one that begins.
    package func deliver(
        _ changes: ChangeSet, found: (Snapshot) throws(StoreError) -> KeyBuffer
    ) throws(StoreError) -> Int32 {
        if changes.isInitial || changes.isLost {
            return told.contains(.beginnings) ? try begin(changes, found) : 0
        }
        if told.contains(.deletions), !changes.deleted.isEmpty {
            // The last version that the observer knows of an object; of one that it was not told of, a silent one.
            let versions = try ([changes.before] + changes.silentVersions).reversed().map {
                (version) throws(StoreError) in
                try Side(version, changes.classID, columns)
            }
            for key in changes.deleted {
                var found: (Side, RowPosition)?
                for side in versions where found == nil {
                    if let row = try side.objects.find(key) { found = (side, row) }
                }
                guard let (side, row) = found else { throw TypedCallback.missing(key) }
                let status = try call(side, row, key, event: 1)
                if status != 0 || changes.observer?.isEnded == true { return status }
            }
        }
        let after = try Side(changes.after, changes.classID, columns)
        for key in changes.inserted {
            let status = try call(after, key, event: 2)
            if status != 0 || changes.observer?.isEnded == true { return status }
        }
        for (index, key) in changes.modified.enumerated() where after.hasChanged(changes, index) {
            let status = try call(after, key, event: 3)
            if status != 0 || changes.observer?.isEnded == true { return status }
        }
        for (index, key) in changes.moved.enumerated() where after.hasChanged(changes, changes.modified.count + index) {
            let status = try call(after, key, event: 3)
            if status != 0 || changes.observer?.isEnded == true { return status }
        }
        return 0
    }

    /// Once without values, then all that is found, as insertions.
    private func begin(
        _ changes: ChangeSet, _ found: (Snapshot) throws(StoreError) -> KeyBuffer
    ) throws(StoreError) -> Int32 {
        let keys = changes.isOwnerDeleted ? KeyBuffer() : try found(changes.after)
        for (index, word) in signature.words.enumerated() {
            let place = block + index * TypedCallback.wordsPerWord
            (place[0], place[1]) = (word.kind == .event ? Int64(TypedEvents.beginning) : 0, 0)
        }
        var status = try callFunction()
        if status != 0 || keys.count == 0 { return status }
        let after = try Side(changes.after, changes.classID, columns)
        for index in 0..<keys.count {
            if changes.observer?.isEnded == true { break }
            status = try call(after, keys.keys[index], event: 2)
            if status != 0 { break }
        }
        return status
    }

    /// Where values are read: the objects of a version, and the places of the properties there.
    private struct Side {
        let objects: ClusterReader
        let positions: [Int]

        init(_ version: Snapshot, _ classID: UInt32, _ columns: [(id: UInt32, name: String)]) throws(StoreError) {
            let cls = version.schema.classes[Int(classID)]
            objects = try version.trees.objects(cls)
            positions = try columns.map { (column) throws(StoreError) in
                guard let position = cls.columns.firstIndex(where: { $0.id == column.id }) else {
                    throw StoreError(
                        .noSuchProperty,
                        "\(cls.name).\(column.name), which a typed observer takes, does not exist any more"
                    ).at(class: cls.name, property: column.name)
                }
                return position
            }
        }

        func hasChanged(_ changes: ChangeSet, _ index: Int) -> Bool {
            positions.contains { changes.hasChanged($0, ofModification: index) }
        }
    }

    private static func missing(_ key: Int64) -> StoreError {
        StoreError(.corrupt, "the log names the object \(key), which the version does not have")
    }

    private func call(_ side: Side, _ key: Int64, event: Int32) throws(StoreError) -> Int32 {
        guard let row = try side.objects.find(key) else { throw TypedCallback.missing(key) }
        return try call(side, row, key, event: event)
    }

    /// - Parameter event: OBJSTORE_DELETIONS, OBJSTORE_INSERTIONS or OBJSTORE_MODIFICATIONS.
    private func call(_ side: Side, _ row: RowPosition, _ key: Int64, event: Int32) throws(StoreError) -> Int32 {
        var used = 0
        for (index, word) in signature.words.enumerated() {
            let place = block + index * TypedCallback.wordsPerWord
            switch word.kind {
            case .key: place[0] = key
            case .event: place[0] = Int64(event)
            default:
                let value = try side.objects.value(row, side.positions[used])
                used += 1
                fill(place, word, value)
            }
        }
        return try callFunction()
    }

    private func callFunction() throws(StoreError) -> Int32 {
        let around = around
        return try ApplicationCall.run { around?(callWithBlock) ?? callWithBlock() }
    }

    private func callWithBlock() -> Int32 {
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
