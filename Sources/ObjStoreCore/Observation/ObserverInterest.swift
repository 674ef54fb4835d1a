/// What a change must touch to concern an observer. More is allowed than concerns it, never less.
enum ObserverInterest {
    /// One object.
    case object(ObjectPlace)
    /// Objects of the class that have, before or after, one of these values.
    case values([(propertyID: UInt32, value: ComparedValue)])
    /// The elements of a collection, and which they are.
    case elements(propertyID: UInt32, owner: Int64, target: Int)
    /// Anything in these classes; nil: anywhere.
    case classes(Set<UInt32>?)
    /// Whatever is committed.
    case commits
}

/// An object of one store.
struct ObjectPlace: Hashable {
    let classIndex: UInt32
    let key: Int64
}

/// A value that equals another exactly where a query says so: numbers that may equal others of another kind are none.
struct ComparedValue: Hashable {
    private let kind: ValueKind
    private let low: Int64
    private let high: Int64
    private let bytes: [UInt8]

    /// Nil: of a kind whose values are not told apart by their bits.
    init?(_ value: Value) {
        switch value.kind {
        case .null, .bool, .int, .string, .binary, .timestamp, .objectID, .uuid, .link: break
        default: return nil
        }
        kind = value.kind
        // The class of a link is that of its property.
        (low, high) = value.kind.isBytes || value.isNull ? (0, 0) : (value.low, value.kind == .link ? 0 : value.high)
        bytes =
            value.kind.isBytes && value.count > 0
            ? Array(UnsafeRawBufferPointer(start: value.pointer, count: value.count)) : []
    }
}

extension ObserverScope {
    func interest(in schema: Schema) -> ObserverInterest {
        if observesCommits { return .commits }
        let all = ObserverInterest.classes(reads.leadsAnywhere ? nil : classes(in: schema))
        guard Int(classID) < schema.classes.count else { return all }
        let isUsual = if case .everything = paths { true } else { !paths.leadsAway(from: Int(classID), of: schema) }
        if let key {
            if paths.leadsAway(from: Int(classID), of: schema) { return all }
            return .object(ObjectPlace(classIndex: classID, key: key))
        }
        guard isUsual, !reads.leadsAnywhere, asksOwnValuesAlone else { return all }
        switch query.origin {
        case .stretch: return all
        case .collection(let collection):
            let owners = PropertyID.classIndex(collection.propertyID)
            guard reads.classes.isSubset(of: [Int(classID), owners]) else { return all }
            return .elements(propertyID: collection.propertyID, owner: collection.owner.key, target: Int(classID))
        case .objects:
            guard reads.classes == [Int(classID)] else { return all }
            let cls = schema.classes[Int(classID)]
            for tests in query.predicate.necessary where !tests.isEmpty {
                let values = tests.compactMap { test -> (propertyID: UInt32, value: ComparedValue)? in
                    guard test.comparison == .equal, !test.hasTargets, !test.isInside,
                        let place = PropertyID.position(test.propertyID, cls.id, cls.columns),
                        test.value.isNull || test.value.kind == cls.columns[place].kind,
                        let value = ComparedValue(test.value)
                    else { return nil }
                    return (test.propertyID, value)
                }
                if values.count == tests.count { return .values(values) }
            }
            return all
        }
    }

    /// Whether an object is in the answer, and where, depends on no value of another one, but of those that are in it.
    private var asksOwnValuesAlone: Bool {
        func isOwn(_ predicate: Predicate) -> Bool {
            !predicate.hasTargets
                && predicate.nodes.allSatisfy { if case .paths = $0 { false } else { true } }
        }
        return isOwn(query.predicate)
            && query.steps.allSatisfy { step in
                switch step {
                case .sort(let keys), .distinct(let keys): keys.allSatisfy { $0.path == nil }
                case .filter(let predicate): isOwn(predicate)
                case .limit, .offset: true
                }
            }
    }
}
