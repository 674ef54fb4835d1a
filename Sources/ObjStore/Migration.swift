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

    /// Calls `body` with every object that a class had, as it was and as it becomes; nil: it was deleted. The class
    /// need not be among the models.
    ///
    /// Errors: `.noSuchClass`: the file did not have it; what `body` throws.
    public func enumerateObjects(
        ofType name: String, _ body: (_ old: DynamicObject, _ new: DynamicObject?) throws -> Void
    ) throws {
        let classID = try core { () throws(StoreError) in try old.findClass(name) }
        var cursor = try core { () throws(StoreError) in try RowCursor(old, classID) }
        while try core({ () throws(StoreError) in try cursor.next() }) {
            let object = try core { () throws(StoreError) in try cursor.object() }
            let remains = try core { () throws(StoreError) in try new.exists(object) }
            try body(DynamicObject(object, space, fixed: old), remains ? DynamicObject(object, space, fixed: new) : nil)
        }
    }

    /// Gives a property of each object the values that another one of the class had; returns of how many.
    ///
    /// ``Object/formerNames`` does that without writing an object. Errors: `.noSuchClass`, `.noSuchProperty`,
    /// `.wrongType` (they are not of the same kind), `.notNullable`.
    @discardableResult
    public func renameProperty(
        onType name: String, from oldName: String, to newName: String
    ) throws(ObjStoreError) -> Int {
        try core { () throws(StoreError) in
            let before = try old.findProperty(try old.findClass(name), oldName),
                after = try new.findProperty(try new.findClass(name), newName)
            return try new.copyProperty(after, from: old, before)
        }
    }

    /// Deletes all objects of a class, among the models or not; returns how many there were. Errors: `.noSuchClass`.
    @discardableResult
    public func deleteData(forType name: String) throws(ObjStoreError) -> Int {
        try core { () throws(StoreError) in try new.deleteAll(try new.findClass(name)) }
    }

    /// Deletes the objects of a class that no link leads to; returns how many there were. What has no parent when a
    /// class becomes embedded is an error at the end of the migration otherwise. Errors: `.noSuchClass`.
    @discardableResult
    public func deleteOrphans(ofType name: String) throws(ObjStoreError) -> Int {
        try core { () throws(StoreError) in try new.deleteOrphans(try new.findClass(name)) }
    }

    /// Deletes an object. Errors: `.noSuchObject`, `.notInWrite` (one as it was).
    public func delete(_ object: DynamicObject) throws(ObjStoreError) {
        try core { () throws(StoreError) in try object.view.delete(object.id) }
    }
}
