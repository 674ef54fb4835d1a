internal import ObjStoreCore

/// What `Configuration.migrationBlock` changes objects with between two versions of the models.
///
/// ```swift
/// configuration.migrationBlock = { migration, oldVersion in
///     if oldVersion < 2 {
///         try migration.enumerateObjects(ofType: "Person") { old, new in
///             new?["fullName"] = .string("\(old["firstName"]?.string ?? "") \(old["lastName"]?.string ?? "")")
///         }
///     }
/// }
/// ```
/// What it or an accessor throws undoes everything. Of no use afterwards.
public final class Migration {
    /// The versions of the file's schema and of the configuration's.
    public let oldVersion: UInt64
    public let newVersion: UInt64
    /// The models, to add, find and delete objects as in any write.
    public let transaction: Transaction
    private let old: View
    private let new: View
    private let space: ObjectSpace

    init(_ space: ObjectSpace, old: View, new: View, oldVersion: UInt64, newVersion: UInt64) {
        self.oldVersion = oldVersion
        self.newVersion = newVersion
        self.old = old
        self.new = new
        transaction = Transaction(space)
        self.space = space
    }

    /// Calls `body` with every object that a class had, as it was and as it becomes; nil: it was deleted. The class need not be among
    /// the models.
    ///
    /// Errors: `.noSuchClass`: the file did not have it; what `body` throws.
    public func enumerateObjects(ofType name: String, _ body: (_ old: MigrationObject, _ new: MigrationObject?) throws -> Void) throws {
        let classID = try core { () throws(StoreError) in try old.findClass(name) }
        var cursor = try core { () throws(StoreError) in try RowCursor(old, classID) }
        while try core({ () throws(StoreError) in try cursor.next() }) {
            let object = try core { () throws(StoreError) in try cursor.object() }
            let remains = try core { () throws(StoreError) in try new.exists(object) }
            try body(MigrationObject(old, object, space), remains ? MigrationObject(new, object, space) : nil)
        }
    }

    /// Gives a property of each object the values that another one of the class had; returns of how many.
    ///
    /// ``Object/formerNames`` does that without writing an object. Errors: `.noSuchClass`, `.noSuchProperty`, `.wrongType` (they are not
    /// of the same kind), `.notNullable`.
    @discardableResult
    public func renameProperty(onType name: String, from oldName: String, to newName: String) throws(ObjStoreError) -> Int {
        try core { () throws(StoreError) in
            let before = try old.findProperty(try old.findClass(name), oldName), after = try new.findProperty(try new.findClass(name), newName)
            return try new.copyProperty(after, from: old, before)
        }
    }

    /// Deletes all objects of a class, among the models or not; returns how many there were. Errors: `.noSuchClass`.
    @discardableResult
    public func deleteData(forType name: String) throws(ObjStoreError) -> Int {
        try core { () throws(StoreError) in try new.deleteAll(try new.findClass(name)) }
    }

    /// Deletes an object. Errors: `.noSuchObject`, `.notInWrite` (one as it was).
    public func delete(_ object: MigrationObject) throws(ObjStoreError) {
        try core { () throws(StoreError) in try object.view.delete(object.id) }
    }
}

/// An object of a migration, as it was or as it becomes: its properties by their names.
public struct MigrationObject {
    let view: View
    let id: ObjectID
    /// Where the objects of the models are, as they become.
    private let space: ObjectSpace

    init(_ view: View, _ id: ObjectID, _ space: ObjectSpace) {
        self.view = view
        self.id = id
        self.space = space
    }

    /// A property that is no link and no list, set or map; nil: null. Set one of an object as it becomes, with a value of the property's
    /// type. Objects in a value are those of the models, as they become, whichever object has the value.
    ///
    /// What is not possible is thrown at the end of the migration: `.noSuchProperty`, `.wrongType`, `.notInWrite`, `.notNullable` and others.
    public subscript(name: String) -> AnyValue? {
        get {
            reporting(nil) { () throws(StoreError) in
                let property = try property(name), value = try view.value(id, property, nil)
                var isLink = value.kind == .link
                if isLink { isLink = try view.propertyInfo(property).kind != .mixed }
                if isLink || value.kind.isCollection {
                    throw StoreError(.wrongType, "\(name) is a \(value.kind): ask for it with \(value.kind == .link ? "object" : "elements")").at(class: nil, property: name)
                }
                return value.isNull ? nil : try AnyValue(copying: value, space)
            }
        }
        nonmutating set {
            reporting(()) { () throws(StoreError) in
                let property = try property(name)
                let value = newValue ?? AnyValue.none
                try ObjectGraph.adding(value, space, view) { (created) throws(StoreError) in
                    try value.withValue(created) { (value) throws(StoreError) in try view.set(id, property, value) }
                }
            }
        }
    }

    /// What a link leads to; nil: it is null.
    public func object(_ name: String) -> MigrationObject? {
        reporting(nil) { () throws(StoreError) in
            let value = try view.value(id, try property(name), nil)
            if value.isNull { return nil }
            guard value.kind == .link else { throw StoreError(.wrongType, "\(name) is a \(value.kind), not a link").at(class: nil, property: name) }
            return MigrationObject(view, value.linkedObject(storeTag: id.storeTag), space)
        }
    }

    /// Makes a link lead to another object, or to none.
    public func setObject(_ name: String, _ target: MigrationObject?) {
        reporting(()) { () throws(StoreError) in try view.set(id, try property(name), target.map { .link($0.id) } ?? .null) }
    }

    /// The elements of a list or set, or the values of a map in the order of its keys. Objects are those of the models, as they become.
    public func elements(_ name: String) -> [AnyValue] {
        reporting([]) { () throws(StoreError) in
            let place = CollectionID(owner: id, propertyID: try property(name))
            var found: [AnyValue] = [], failure: StoreError?
            _ = try view.elements(place, from: 0, limit: .max, wantsKeys: false, nil) { _, _, value in
                do throws(StoreError) { found.append(try AnyValue(copying: value, space)) } catch { failure = error }
            }
            if let failure { throw failure }
            return found
        }
    }

    private func property(_ name: String) throws(StoreError) -> UInt32 { try view.findProperty(id.classID, name) }

    private func reporting<T>(_ none: T, _ body: () throws(StoreError) -> T) -> T {
        do throws(StoreError) { return try body() } catch {
            space.handle.reports.report(ObjStoreError(error))
            return none
        }
    }
}
