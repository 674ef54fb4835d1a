internal import ObjStoreCore

/// Properties of one object on their way into a store: the memory that one call of the core needs, used again for
/// the next.
public final class _RowEncoder {
    /// Property ids; one for each value.
    private(set) var properties: [UInt32] = []
    /// Texts have their offset in `text` instead of a pointer, which may move while it grows.
    private var values: [Value] = []
    private var text: [UInt8] = []
    /// Why a value cannot be written: the first one that was refused.
    private(set) var refusal: ObjStoreError?
    /// And of which property of a row it is.
    private(set) var refusedProperty: UInt32?
    /// What links to objects are that are unmanaged, or to be copied: they are nodes, or have just been stored.
    var links: [ObjectIdentifier: Value] = [:]
    /// Whose unmanaged objects become nodes.
    unowned var graph: ObjectGraph?
    /// Of a column, whose links in mixed values must not say their stores: which these were. Nil: they say them.
    var linkedStores: Set<UInt32>?

    init() {}

    func removeAll() {
        properties.removeAll(keepingCapacity: true)
        values.removeAll(keepingCapacity: true)
        text.removeAll(keepingCapacity: true)
        refusal = nil
        refusedProperty = nil
    }

    /// A link. The core decides whether its object is allowed there.
    func append(_ object: Object?) {
        guard let object else { return append(.null) }
        if let binding = object._binding {
            return append(.link(binding._withUnsafeGuaranteedRef { $0.id(object._key) }))
        }
        if let graph { return graph.append(object) }
        if let link = links[ObjectIdentifier(object)] { return append(link) }
        refuse(unmanaged(object))
    }

    func unmanaged(_ object: Object) -> ObjStoreError {
        let name = ClassInfo.name(of: type(of: object))
        return ObjStoreError(
            .wrongView, "an unmanaged \(name) cannot be linked to: it is in no store; add it first", class: name)
    }

    /// A value that cannot be written: replaced by null.
    func refuse(_ error: ObjStoreError) {
        if refusal == nil { (refusal, refusedProperty) = (error, properties.last) }
        append(.null)
    }

    /// The property that the next value is for.
    func begin(_ propertyID: UInt32) { properties.append(propertyID) }

    func append(_ value: Value) { values.append(value) }

    /// What another one has.
    func append(contentsOf other: _RowEncoder) {
        for var value in other.values {
            if let offset = value.pointer { value.pointer = offset + text.count }
            values.append(value)
        }
        text += other.text
    }

    /// How many values there are.
    var count: Int { values.count }

    /// Whether the first value is null, zero, or a collection without elements.
    var isNothing: Bool {
        guard let first = values.first else { return true }
        if first.kind == .list || first.kind == .map { return first.low == 0 }
        return first.isNull || first.kind != .link && first.pointer == nil && first.isSame(as: .zero(of: first.kind))
    }

    /// A key of a map among nested values: its text.
    func appendKey(_ encode: (_RowEncoder) -> Void) {
        encode(self)
        guard let key = values.last, key.kind != .string else { return }
        values.removeLast()
        append(key.text)
    }

    func append(_ string: String) {
        var string = string
        string.withUTF8 { append(UnsafeRawBufferPointer($0), .string) }
    }

    func append(_ bytes: UnsafeRawBufferPointer, _ kind: ValueKind) {
        values.append(Value(kind: kind, pointer: UnsafeRawPointer(bitPattern: text.count + 1), count: bytes.count))
        text.append(contentsOf: bytes)
    }

    /// Calls `body` with what was appended; everything is valid until it returns.
    func withRow<T>(
        _ body: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) throws(StoreError) -> T
    ) throws(ObjStoreError) -> T {
        if let refusal {
            removeAll()
            throw refusal
        }
        var result: Result<T, StoreError>?
        drain { properties, values in result = Result { () throws(StoreError) in try body(properties, values) } }
        do throws(StoreError) { return try result.unsafelyUnwrapped.get() } catch { throw ObjStoreError(error) }
    }

    /// The same for values that are of no properties.
    func withValues<T>(_ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        let count = values.count
        return try withRow { (_, values) throws(StoreError) in
            try body(UnsafeBufferPointer(start: values, count: count))
        }
    }

    /// The same where nothing can fail.
    func drain(_ body: (UnsafeBufferPointer<UInt32>, UnsafePointer<Value>) -> Void) {
        text.withUnsafeBytes { text in
            values.withUnsafeMutableBufferPointer { values in
                for index in values.indices {
                    guard let offset = values[index].pointer else { continue }
                    values[index].pointer =
                        values[index].count == 0 ? nil : text.baseAddress.map { $0 + (Int(bitPattern: offset) - 1) }
                }
                properties.withUnsafeBufferPointer { properties in
                    // One that is never read, where there is none.
                    withUnsafePointer(to: Value.null) { none in
                        body(properties, values.baseAddress.map { UnsafePointer($0) } ?? none)
                    }
                }
            }
        }
        removeAll()
    }

    /// The only value there is.
    func withValue<T>(_ body: (Value) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        try withRow { (_, values) throws(StoreError) in try body(values.pointee) }
    }
}
