/// What a change must touch to concern an observer. More is allowed than concerns it, never less.
enum ObserverInterest {
    /// One object.
    case object(ObjectPlace)
    /// Objects of the class that have, before or after, one of these values.
    case values([(propertyID: UInt32, value: ComparedValue)])
    /// Objects of the class that have, before or after, a value in that range.
    case range(propertyID: UInt32, ObservedRange)
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

/// A value in few bytes: those that are equal, as queries mean it, have the same; others seldom.
struct ComparedValue: Hashable {
    private let hash: Int

    /// Nil: of a kind of numbers that may equal those of another kind, or others of their own.
    init?(_ value: Value) {
        var hasher = Hasher()
        hasher.combine(value.kind.rawValue)
        switch value.kind {
        case .null: break
        case .string, .binary:
            hasher.combine(bytes: UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        case .bool, .int, .link:
            // The class of a link is that of its property.
            hasher.combine(value.low)
        case .timestamp, .objectID, .uuid:
            hasher.combine(value.low)
            hasher.combine(value.high)
        default: return nil
        }
        hash = hasher.finalize()
    }
}

extension ObserverScope {
    func interest(in schema: Schema) -> ObserverInterest {
        if observesCommits { return .commits }
        if case .collection(let collection) = way {
            let owner = collection.id.owner.key
            guard let target = collection.target else {
                return .object(ObjectPlace(classIndex: UInt32(collection.ownerClass), key: owner))
            }
            if case .some = collection.paths, collection.paths.leadsAway(from: target, of: schema) {
                return .classes(collection.classes(in: schema))
            }
            return .elements(propertyID: collection.id.propertyID, owner: owner, target: target)
        }
        let all = ObserverInterest.classes(reads.leadsAnywhere ? nil : classes(in: schema))
        if let rows {
            if rows.looksFurther { return all }
            if let owner = rows.owner { return .object(ObjectPlace(classIndex: classID, key: owner.key)) }
        }
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
            return range(of: cls) ?? all
        }
    }

    /// The narrowest that the condition has: one with two ends rather than with one.
    private func range(of cls: ClassSchema) -> ObserverInterest? {
        var ranges: [(propertyID: UInt32, range: ObservedRange)] = []
        for tests in query.predicate.necessary {
            guard let test = tests.first, tests.count == 1, !test.hasTargets, !test.isInside,
                let place = PropertyID.position(test.propertyID, cls.id, cls.columns),
                test.value.kind == cls.columns[place].kind, let number = ObservedRange.number(test.value)
            else { continue }
            let index = ranges.firstIndex { $0.propertyID == test.propertyID } ?? ranges.count
            if index == ranges.count { ranges.append((test.propertyID, ObservedRange())) }
            switch test.comparison {
            case .less, .lessOrEqual: ranges[index].range.greatest = min(ranges[index].range.greatest, number)
            case .greater, .greaterOrEqual: ranges[index].range.least = max(ranges[index].range.least, number)
            case .equal, .notEqual: break
            }
        }
        func ends(_ range: ObservedRange) -> Int { (range.least > 0 ? 1 : 0) + (range.greatest < .max ? 1 : 0) }
        guard let best = ranges.max(by: { ends($0.range) < ends($1.range) }), ends(best.range) > 0 else { return nil }
        // Nothing can satisfy it.
        if best.range.isEmpty { return .values([]) }
        return .range(propertyID: best.propertyID, best.range)
    }

    /// Whether an object is in the answer, and where, depends on no value of another one, but of those that are in it.
    private var asksOwnValuesAlone: Bool {
        func isOwn(_ predicate: Predicate) -> Bool {
            !predicate.hasTargets
                && predicate.nodes.allSatisfy { if case .paths = $0 { false } else { true } }
        }
        return isOwn(query.predicate) && sections?.sortKey?.path == nil
            && query.steps.allSatisfy { step in
                switch step {
                case .sort(let keys), .distinct(let keys): keys.allSatisfy { $0.path == nil }
                case .filter(let predicate): isOwn(predicate)
                case .limit, .offset: true
                }
            }
    }
}
