internal import ObjStoreCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#elseif canImport(Foundation)
internal import Foundation
#endif

// Values of any type on their way to and from the core.

/// In an extension of ``AnyValue`` the name alone is that of its literals' values.
typealias CoreValue = Value

extension AnyValue {
    /// A value of the core that is no list or map of a document; texts are copied.
    init(scalar value: CoreValue) {
        switch value.kind {
        case .bool: self = .bool(value.low != 0)
        case .int: self = .int(Int(value.low))
        case .float: self = .float(value.asFloat)
        case .double: self = .double(value.asDouble)
        case .decimal128: self = .decimal128(Decimal128(value.asDecimal))
        case .string: self = .string(_StoredValue(value: value).text)
        case .binary: self = .data([UInt8](UnsafeRawBufferPointer(start: value.pointer, count: value.count)))
        case .timestamp: self = .date(Timestamp(seconds: value.low, nanoseconds: Int32(truncatingIfNeeded: value.high)))
        case .objectID: self = .objectId(ObjectId(value))
        case .uuid: self = .uuid(UUID._element(_StoredValue(value: value)) ?? UUID._initial)
        case .null, .link, .list, .set, .map, .mixed, .document: self = .none
        }
    }

    /// A whole value, copied: lists and dictionaries are unmanaged. Its links are to objects of `space`.
    init(copying value: CoreValue, _ space: ObjectSpace?) throws(StoreError) {
        if value.kind == .link {
            try self.init(link: value, space)
            return
        }
        guard value.kind == .document else {
            self.init(scalar: value)
            return
        }
        try self.init(copying: MixedNode(value.pointer, value.count), space)
    }

    private init(copying node: MixedNode, _ space: ObjectSpace?) throws(StoreError) {
        switch try node.kind {
        case .list:
            let container = try MixedContainer(node)
            var elements: [AnyValue] = []
            elements.reserveCapacity(container.count)
            for index in 0..<container.count { elements.append(try AnyValue(copying: container.node(index), space)) }
            self = .list(AnyList(elements))
        case .map:
            let container = try MixedContainer(node)
            var entries: [(String, AnyValue)] = []
            entries.reserveCapacity(container.count)
            for index in 0..<container.count {
                entries.append(
                    (
                        String(decoding: try container.key(index), as: UTF8.self),
                        try AnyValue(copying: container.node(index), space)
                    ))
            }
            self = .dictionary(AnyMap(entries: entries))
        case .link: try self.init(link: node.value(), space)
        default: self.init(scalar: try node.value())
        }
    }

    /// Appends everything in it. `encoder` knows what objects become links.
    func append(to builder: DocumentBuilder, _ encoder: _RowEncoder) throws(StoreError) {
        switch self {
        case .list(let list):
            try builder.begin(.list)
            for element in list.values { try element.append(to: builder, encoder) }
            try builder.end()
        case .dictionary(let map):
            try builder.begin(.map)
            for (key, value) in map.entries {
                try AnyStep.withBytes(key.key) { (bytes) throws(StoreError) in try builder.key(bytes) }
                try value.append(to: builder, encoder)
            }
            try builder.end()
        case .object(let object): try builder.append(encoder.mixedLink(object))
        default: try withScalar { (value) throws(StoreError) in try builder.append(value) }
        }
    }

    private func withScalar(_ body: (CoreValue) throws(StoreError) -> Void) throws(StoreError) {
        let encoder = _RowEncoder()
        appendScalar(to: encoder)
        var failure: StoreError?
        encoder.drain { _, values in do throws(StoreError) { try body(values.pointee) } catch { failure = error } }
        if let failure { throw failure }
    }

    private func appendScalar(to encoder: _RowEncoder) {
        switch self {
        case .none, .list, .dictionary, .object: encoder.append(.null)
        case .bool(let value): Bool._encode(value, encoder)
        case .int(let value): Int._encode(value, encoder)
        case .float(let value): Float._encode(value, encoder)
        case .double(let value): Double._encode(value, encoder)
        case .decimal128(let value): Decimal128._encode(value, encoder)
        case .string(let value): String._encode(value, encoder)
        case .data(let value): [UInt8]._encode(value, encoder)
        case .date(let value): Timestamp._encode(value, encoder)
        case .objectId(let value): ObjectId._encode(value, encoder)
        case .uuid(let value): UUID._encode(value, encoder)
        }
    }

    /// Calls `body` with the value as the core takes it; valid until it returns.
    ///
    /// - Parameter links: to unmanaged objects that have just been stored. `.wrongView`: another one.
    func withValue<T>(
        _ links: [ObjectIdentifier: CoreValue] = [:], _ body: (CoreValue) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let encoder = _RowEncoder()
        encoder.links = links
        try encode(to: encoder)
        var result: Result<T, StoreError>?
        encoder.drain { _, values in result = Result { () throws(StoreError) in try body(values.pointee) } }
        return try result.unsafelyUnwrapped.get()
    }

    func encode(to encoder: _RowEncoder) throws(StoreError) {
        if case .object(let object) = self { return encoder.append(try encoder.mixedLink(object)) }
        guard list != nil || dictionary != nil else { return appendScalar(to: encoder) }
        let builder = DocumentBuilder()
        try append(to: builder, encoder)
        encoder.append(builder.node, .document)
    }
}
