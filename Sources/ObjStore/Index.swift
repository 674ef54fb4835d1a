internal import ObjStoreCore

/// An index of several properties of a class:
///
/// ```swift
/// final class Person: Object {
///     @Persisted var last = ""
///     @Persisted var first = ""
///     @Persisted var born: Int?
///     override class var indexes: [Index] { [Index("last", "first", unique: true), Index("born", "last")] }
/// }
/// ```
/// It orders by the first property, where that is equal by the second, and so on: nil first, then values as comparisons
/// have them, NaN last. Unique: no two objects have the same values in all of them; where one of the values is nil they
/// are never the same. `primaryKey`: they are the primary key of the objects together, bools, ints, strings, dates and
/// ids that are not optional, which never change. The index of one property is `@Persisted(indexed: true)` or
/// `@Persisted(unique: true)`.
public struct Index: Sendable, Hashable {
    /// Names of 2 to 8 properties.
    public let properties: [String]
    public let isUnique: Bool
    public let isPrimaryKey: Bool

    public init(_ properties: String..., unique: Bool = false, primaryKey: Bool = false) {
        self.properties = properties
        isUnique = unique || primaryKey
        isPrimaryKey = primaryKey
    }

    init(_ properties: [String], _ isUnique: Bool, _ isPrimaryKey: Bool) {
        self.properties = properties
        self.isUnique = isUnique
        self.isPrimaryKey = isPrimaryKey
    }

    var flags: SchemaDraft.IndexFlags { isPrimaryKey ? [.unique, .primaryKey] : isUnique ? .unique : [] }
}

extension StoreReading {
    /// The object that has these values in a unique index, or in a unique property: `store.object(ofType: Person.self,
    /// by: ["last": "Gray", "first": "Ada"])`. Nil: there is none. A nil finds
    /// nothing, but for an optional primary key of one property; where the property is not optional, it is
    /// `.wrongType`.
    ///
    /// Errors: `.noSuchIndex` (no unique index is of exactly these properties), `.noSuchProperty`, `.wrongType`,
    /// `.noSuchClass`, `.closedHandle`. Cost: O(log n).
    public func object<T: Object>(
        ofType type: T.Type, by values: KeyValuePairs<String, Any?>
    ) throws(ObjStoreError) -> T? {
        let space = _scope.space
        let binding = try space.binding(type)
        let (index, order) = try binding.uniqueIndex(values.map(\.key))
        let given = try binding.constants(order.map { values[$0].key }, order.map { values[$0].value })
        guard
            let id = try withValues(given, { (values) throws(StoreError) in try space.current.find(by: index, values) })
        else { return nil }
        return space.materialise(type, binding, id.key)
    }

    /// Objects in the order of an index, which is named by its properties: from those whose values begin with `from` to
    /// those whose values begin with `to`, each as many as one likes; none: from the first, to the last.
    ///
    /// ```swift
    /// store.objects(Person.self, in: ["last", "first"], from: ["Gray"], to: ["Gray"])    // by their first names
    /// store.objects(Person.self, in: ["last", "first"], from: ["Gray", "A"], to: ["Gray", "M"])
    /// ```
    /// Without `includingFrom` those whose values begin with `from` are left out, without `includingTo` those of `to`.
    /// The results cannot be filtered by `where`. What is wrong with the question
    /// (``Results/validate()``: `.noSuchIndex`, `.noSuchProperty`, `.wrongType`, `.invalidArgument`) is reported where
    /// they are used.
    public func objects<T: Object>(
        _ type: T.Type, in properties: [String], from: [Any?] = [], to: [Any?] = [], includingFrom: Bool = true,
        includingTo: Bool = true
    ) -> Results<T> {
        let space = _scope.space
        var flags: IndexStretch.Flags = []
        if !includingFrom { flags.insert(.afterFrom) }
        if !includingTo { flags.insert(.beforeTo) }
        return Results(space) { () throws(ObjStoreError) in
            let binding = try space.binding(type)
            let index = try binding.index(properties)
            let first = try binding.constants(properties, from), last = try binding.constants(properties, to)
            let stretch = try withValues(first) { (first) throws(StoreError) in
                try ObjStoreError.unwrapping { () throws(ObjStoreError) in
                    try withValues(last) { (last) throws(StoreError) in
                        try IndexStretch(index, from: first, to: last, flags)
                    }
                }
            }
            return ObjStoreCore.Query(binding.classID, in: stretch)
        }
    }
}

extension ObjStoreError {
    /// For calls of the interface inside those of the core.
    fileprivate static func unwrapping<T>(_ body: () throws(ObjStoreError) -> T) throws(StoreError) -> T {
        do throws(ObjStoreError) { return try body() } catch {
            throw StoreError(StatusCode(rawValue: error.code.rawValue) ?? .internalError, error.message)
        }
    }
}

/// Calls `body` with values as the core takes them.
private func withValues<T>(
    _ constants: [_QueryValue], _ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> T
) throws(ObjStoreError) -> T {
    var owned: [OwnedValue] = []
    for constant in constants {
        owned.append(try constant.withValue { OwnedValue($0) })
    }
    return try core { () throws(StoreError) in
        var result: Result<T, StoreError>!
        owned.map(\.value).withUnsafeBufferPointer { values in
            result = Result { () throws(StoreError) in try body(values) }
        }
        withExtendedLifetime(owned) {}
        return try result.get()
    }
}

extension ClassBinding {
    /// The id of the index of these properties, in this order.
    fileprivate func index(_ names: [String]) throws(ObjStoreError) -> UInt32 {
        var ids: [UInt32] = []
        for name in names { ids.append(properties[Int(try info.property(named: name).index)]) }
        return try core { () throws(StoreError) in
            var result: Result<UInt32, StoreError>!
            ids.withUnsafeBufferPointer { ids in
                result = Result { () throws(StoreError) in try space.current.findIndex(classID, ids) }
            }
            return try result.get()
        }
    }

    /// The unique index of these properties in any order, and for each of its properties the place of its name.
    func uniqueIndex(_ names: [String]) throws(ObjStoreError) -> (id: UInt32, order: [Int]) {
        var ids: [UInt32] = []
        for name in names { ids.append(properties[Int(try info.property(named: name).index)]) }
        let found = try core { () throws(StoreError) -> (UInt32, [Int])? in
            let view = space.current
            for position in 0..<(try view.indexCount(classID)) {
                let index = try view.indexInfo(classID, at: position)
                guard index.isUnique, index.properties.count == ids.count, Set(index.properties) == Set(ids) else {
                    continue
                }
                return (index.indexID, index.properties.map { ids.firstIndex(of: $0)! })
            }
            return nil
        }
        guard let found else {
            throw ObjStoreError(
                .noSuchIndex, "no unique index of \(info.name) is of exactly (\(names.joined(separator: ", ")))",
                class: info.name)
        }
        return found
    }

    fileprivate func constants(_ names: [String], _ values: [Any?]) throws(ObjStoreError) -> [_QueryValue] {
        guard values.count <= names.count else {
            throw ObjStoreError(
                .invalidArgument, "\(values.count) values for an index of \(names.count) properties", class: info.name)
        }
        var constants: [_QueryValue] = []
        for (name, value) in zip(names, values) {
            let property = try info.property(named: name)
            guard let value = value.flatMap({ ClassInfo.unwrap($0) }) else {
                constants.append(.null)
                continue
            }
            guard let constant = property.accessor.constant(value) else { throw info.wrongType(property, value) }
            constants.append(constant)
        }
        return constants
    }
}
