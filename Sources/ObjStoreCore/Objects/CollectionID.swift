/// Which list, set or map: of which object, in which property.
package struct CollectionID: Sendable {
    package var owner: ObjectID
    package var propertyID: UInt32

    package init(owner: ObjectID, propertyID: UInt32) { self.owner = owner; self.propertyID = propertyID }
}

extension Value {
    /// Which collection is in a property, as output: owner and property in the words of the value.
    static func collection(_ kind: ValueKind, _ owner: ObjectID, _ propertyID: UInt32) -> Value {
        Value(
            kind: kind, low: owner.key, high: Int64(bitPattern: UInt64(owner.classID) | UInt64(owner.storeTag) << 32),
            count: Int(propertyID))
    }

    package var asCollection: CollectionID {
        let words = UInt64(bitPattern: high)
        return CollectionID(
            owner: ObjectID(
                classID: UInt32(truncatingIfNeeded: words),
                storeTag: UInt32(truncatingIfNeeded: words >> 32),
                key: low),
            propertyID: UInt32(truncatingIfNeeded: count))
    }
}

/// Which kinds of collections a call is for.
struct CollectionKinds: OptionSet {
    let rawValue: UInt8
    static let list = CollectionKinds(.list), set = CollectionKinds(.set), map = CollectionKinds(.map)
    static let all: CollectionKinds = [.list, .set, .map]

    init(rawValue: UInt8) { self.rawValue = rawValue }
    @inline(__always) init(_ kind: ValueKind) {
        rawValue = kind.isCollection ? 1 << (kind.rawValue - ValueKind.list.rawValue) : 0
    }

    var name: String { self == .list ? "a list" : self == .set ? "a set" : self == .map ? "a map" : "a collection" }
}

extension Value {
    /// As collections store it: of a link only the key, since they know class and store.
    @inline(__always) var asElement: Value { kind == .link ? Value(kind: .link, low: low) : self }
}

extension ClassSchema {
    /// An element on its way out.
    @inline(__always)
    func out(_ value: Value, _ position: Int) throws(StoreError) -> Value {
        if _slowPath(value.kind == .mixed) { return try mixedValue(value, position) }
        return value.kind == .link ? Value(kind: .link, low: value.low, high: Int64(columns[position].target)) : value
    }

    /// The position of a property that is a list, set or map.
    func collection(_ propertyID: UInt32) throws(StoreError) -> Int {
        let position = try position(propertyID)
        guard columns[position].kind.isCollection else {
            throw wrongCollection(position, "a list, set or map", "it is \(columns[position].kind.indefinite)")
        }
        return position
    }

    /// The same of one whose elements are objects of one class.
    func collectionOfLinks(_ propertyID: UInt32) throws(StoreError) -> Int {
        let position = try collection(propertyID), kind = elements(of: position).kind
        guard kind == .link else {
            throw wrongCollection(position, "a collection of links", "its elements are of type \(kind)")
        }
        return position
    }

    func wrongCollection(_ position: Int, _ wanted: String, _ what: String) -> StoreError {
        named(
            StoreError(
                .wrongType,
                "\(name).\(properties[position].name) is \(columns[position].kind.indefinite), not \(wanted): \(what)"),
            position)
    }

    func outOfRange(_ position: Int, _ index: Int, _ count: Int) -> StoreError {
        // C's own are unsigned.
        let shown = index == .max ? "beyond \(Int.max)" : "\(index)"
        return named(
            StoreError(.outOfRange, "\(name).\(properties[position].name): index \(shown), \(count.elementsThere)"),
            position)
    }
}
