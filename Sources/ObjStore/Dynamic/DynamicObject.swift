internal import ObjStoreCore

/// An object of a class that the program need not know: its properties by their names.
///
/// ```swift
/// let store = try Store.open(path: "kennel.objstore")            // no models: the classes are the file's
/// for dog in store.dynamicObjects("Dog").filter("age > $0", 3) {
///     print(dog.name?.string ?? "", dog.object("owner")?["name"]?.string ?? "nobody")
/// }
/// try store.write { tx in
///     let rex = try tx.dynamicCreate("Dog", value: ["name": "Rex", "toys": ["ball"], "owner": ["name": "Ann"]])
///     rex.age = 4
///     try rex.set("toys", to: ["ball", "bone"])
/// }
/// ```
/// Like an ``Object`` it shows what its store shows, changes inside a write only, and reports what an accessor cannot
/// do. Those of a ``Migration`` are as they were, or as they become.
@dynamicMemberLookup
public struct DynamicObject: Sendable {
    let id: ObjectID
    let space: ObjectSpace
    /// Of a migration; nil: what the store shows.
    let fixedView: View?

    init(_ id: ObjectID, _ space: ObjectSpace, fixed: View? = nil) {
        self.id = id
        self.space = space
        fixedView = fixed
    }

    var view: View { fixedView ?? space.current }

    /// The same place, of another object.
    private func other(_ id: ObjectID) -> DynamicObject { DynamicObject(id, space, fixed: fixedView) }

    // MARK: What it is

    public var className: String { reporting("") { () throws(StoreError) in try view.classInfo(id.classID).name } }

    /// Errors: `.noSuchClass` (it was dropped), `.closedHandle`.
    public var objectSchema: ObjectSchema {
        get throws(ObjStoreError) {
            try core { () throws(StoreError) in try view.objectSchema(try view.classInfo(id.classID)) }
        }
    }

    /// Was it deleted, or its store closed?
    public var isInvalidated: Bool { (try? view.exists(id)) != true }

    /// The object that an embedded one lies in; nil: it is not embedded. In the migration in which its class becomes
    /// embedded, the object that leads to it; nil: none does.
    public var parent: DynamicObject? {
        reporting(nil) { () throws(StoreError) in
            guard try view.classInfo(id.classID).hasParents else { return nil }
            return try view.parent(of: id).map { other($0.object) }
        }
    }

    /// The objects whose property, a link or a collection of links, leads to this one, each once.
    public func linkingObjects(ofType className: String, property: String) -> DynamicResults {
        DynamicResults(space, className) { () throws(ObjStoreError) in
            try core { () throws(StoreError) in
                let classID = try view.findClass(className)
                let propertyID = try view.findProperty(classID, property), info = try view.propertyInfo(propertyID)
                let isMixed = info.kind == .mixed || info.elements?.kind == .mixed
                guard isMixed || info.target == id.classID else {
                    throw StoreError(
                        .wrongType,
                        """
                        \(className).\(property) has no links to objects of class \
                        \(try view.classInfo(id.classID).name)
                        """
                    ).at(class: className, property: property)
                }
                return try ObjStoreCore.Query(classID, propertyID, .equal, .link(id), isInside: isMixed)
            }
        }
    }

    // MARK: Values

    /// A property that is no link and no list, set or map; nil: null. Set one with a value of the property's type
    /// (integers become the property's kind of number where they are exactly that); others are set by
    /// ``set(_:to:update:)``. A value of any type that has links to objects has those of the models.
    ///
    /// What is not possible is reported: `.noSuchProperty`, `.wrongType`, `.notInWrite`, `.notNullable` and others.
    public subscript(name: String) -> AnyValue? {
        get {
            reporting(nil) { () throws(StoreError) in
                try withValue(name) { (value, info) throws(StoreError) in
                    if value.kind == .link && info.kind != .mixed || value.kind.isCollection {
                        throw StoreError(
                            .wrongType,
                            """
                            \(name) is \(value.kind.indefinite): ask for it with \
                            \(value.kind == .link ? "object" : "collection")
                            """
                        ).at(class: nil, property: name)
                    }
                    return value.isNull ? nil : try AnyValue(copying: value, space)
                }
            }
        }
        nonmutating set {
            reporting(()) { () throws(StoreError) in
                let property = try property(name), value = newValue ?? AnyValue.none
                if try view.propertyInfo(property).kind != .mixed {
                    try changing(name, value, .all)
                    return
                }
                try ObjectGraph.adding(value, space, view) { (links) throws(StoreError) in
                    try value.withValue(links) { (value) throws(StoreError) in try view.set(id, property, value) }
                }
            }
        }
    }

    /// The same: `dog.age = 4`.
    public subscript(dynamicMember name: String) -> AnyValue? {
        get { self[name] }
        nonmutating set { self[name] = newValue }
    }

    /// Sets a property to whatever describes what it can have: a value, a ``DynamicObject`` or ``Object`` that a link
    /// leads to, a dictionary or array that describes an object to be linked or embedded (one with a primary key that
    /// is there is updated), all elements of a list or set as a sequence, all entries of a map as a dictionary.
    ///
    /// Errors: `.notInWrite`, `.noSuchProperty`, `.wrongType`, `.notNullable`, `.noSuchObject`, `.keyImmutable` and
    /// others; what is nested says where it is: "$.toys[1]: …". Nothing has happened then.
    public func set(_ name: String, to value: Any?, update: UpdatePolicy = .all) throws(ObjStoreError) {
        do throws(StoreError) { try changing(name, value, update) } catch { throw ObjStoreError(error) }
    }

    /// Adds to an int; returns the sum. Errors: `.nullValue`, `.outOfRange`, `.wrongType`.
    @discardableResult
    public func increment(_ name: String, by delta: Int = 1) throws(ObjStoreError) -> Int {
        try core { () throws(StoreError) in Int(try view.increment(id, try property(name), Int64(delta))) }
    }

    private func changing(_ name: String, _ value: Any?, _ update: UpdatePolicy) throws(StoreError) {
        let property = try property(name), view = view
        // What is wrong with a frozen one, or outside of a write, the view says.
        let encoder = _RowEncoder()
        do throws(ObjStoreError) {
            try encoder.append(nested: value)
            try encoder.withValues { (values) throws(StoreError) in
                _ = try view.set(id, property, from: values, update.core)
            }
        } catch {
            throw error.ofCore
        }
    }

    // MARK: Objects and collections

    /// What a link leads to, or a value of any type that is one; nil: it leads nowhere.
    public func object(_ name: String) -> DynamicObject? {
        reporting(nil) { () throws(StoreError) in
            try withValue(name) { (value, _) throws(StoreError) in
                if value.isNull { return nil }
                guard value.kind == .link else {
                    throw StoreError(.wrongType, "\(name) is \(value.kind.indefinite), not a link").at(
                        class: nil, property: name)
                }
                return linked(value)
            }
        }
    }

    /// Makes a link lead to another object, or to none.
    public func setObject(_ name: String, _ target: DynamicObject?) {
        reporting(()) { () throws(StoreError) in
            try view.set(id, try property(name), target.map { .link($0.id) } ?? .null)
        }
    }

    /// A list, set or map.
    public func collection(_ name: String) -> DynamicCollection { DynamicCollection(self, name) }

    /// The elements of a list or set, or the values of a map in the order of its keys, that are no objects, or objects
    /// of the models.
    public func elements(_ name: String) -> [AnyValue] { collection(name).values }

    // MARK: Inside

    func property(_ name: String) throws(StoreError) -> UInt32 { try view.findProperty(id.classID, name) }

    private func withValue<T>(
        _ name: String, _ body: (Value, PropertyInfo) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let info = try view.propertyInfo(try property(name))
        return try withValue(info) { (value) throws(StoreError) in try body(value, info) }
    }

    func withValue<T>(
        _ property: PropertyInfo, _ body: (Value) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        var buffer = OutputBuffer()
        defer { OutputBuffer.free(&buffer) }
        return try body(try view.value(id, property.propertyID, &buffer))
    }

    /// The object that a link leads to.
    func linked(_ link: Value) -> DynamicObject {
        other(ObjectID(classID: UInt32(truncatingIfNeeded: link.high), storeTag: id.storeTag, key: link.low))
    }

    func reporting<T>(_ none: T, _ body: () throws(StoreError) -> T) -> T {
        do throws(StoreError) { return try body() } catch {
            space.handle.reports.report(ObjStoreError(error))
            return none
        }
    }
}

/// The same object of the same store, in whatever version.
extension DynamicObject: Hashable {
    public static func == (left: DynamicObject, right: DynamicObject) -> Bool { left.id == right.id }
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

extension DynamicObject: CustomStringConvertible {
    public var description: String {
        let name = isInvalidated ? nil : ErrorCollector.unlessGone(space.handle.reports) { className }
        return name.map { "\($0)#\(id.key)" } ?? "\(id.key), deleted or closed"
    }
}

extension Object {
    /// The same object by the names of its properties. Errors: `.wrongView`: it is unmanaged.
    public final func dynamic() throws(ObjStoreError) -> DynamicObject {
        guard let space = _space, let binding = _binding?.takeUnretainedValue() else {
            throw ObjStoreError(
                .wrongView, "an unmanaged object is in no store", class: ClassInfo.name(of: type(of: self)))
        }
        return DynamicObject(binding.id(_key), space)
    }
}
