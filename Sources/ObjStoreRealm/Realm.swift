@_exported public import ObjStore

// ObjStore in the spelling of Realm Swift, so that a program changes its import and little else. Without logic: what a
// name does is what the ObjStore name behind it does. What cannot be done is not done, and its error is thrown
// by the `write` around it, or reported (docs/decisions/0005-swift-setters.md), as by properties.

public typealias AnyRealmValue = AnyValue
public typealias ObjectBase = Object
public typealias RealmSwiftObject = Object
public typealias RealmSwiftEmbeddedObject = EmbeddedObject
public typealias RealmCollection = LiveCollection
public typealias RealmCollectionValue = CollectionElement

/// A store. `Realm()` opens that of ``Configuration/defaultConfiguration``; opened twice it is the same one. Any thread
/// may use it.
public struct Realm: Sendable {
    public typealias UpdatePolicy = ObjStore.UpdatePolicy
    public typealias Error = ObjStoreError

    /// The same in the spelling of ObjStore.
    public let store: Store
    public let configuration: Configuration

    /// Errors: as of `Store.init`.
    public init(configuration: Configuration = .defaultConfiguration) throws {
        store = try OpenStores.store(configuration)
        self.configuration = configuration
    }

    init(_ store: Store, _ configuration: Configuration) { (self.store, self.configuration) = (store, configuration) }

    public init(fileURL: URL) throws {
        var configuration = Configuration.defaultConfiguration
        configuration.fileURL = fileURL
        try self.init(configuration: configuration)
    }

    /// A realm shows what is there now; `freeze()` gives one fixed version.
    public var isFrozen: Bool { false }
    public func freeze() throws -> Snapshot { try store.freeze() }
    public func thaw() -> Realm { self }
    /// See ``ObjStore/Store/invalidate()``, whose errors are reported here.
    public func invalidate() { reporting(()) { try store.invalidate() } }

    // MARK: Files

    /// Whether there is a store at the configuration's file.
    public static func fileExists(for configuration: Configuration) -> Bool {
        guard let path = try? configuration.path else { return false }
        return (try? Store.exists(atPath: path)) ?? false
    }
    /// False: there was none. Errors: as of `Store.delete(atPath:)`.
    @discardableResult
    public static func deleteFiles(for configuration: Configuration) throws -> Bool {
        guard let path = try configuration.path else { return false }
        return try Store.delete(atPath: path)
    }

    // MARK: Observing

    public enum Notification: String, Sendable {
        /// Something was committed, and the realm shows it.
        case didChange
        /// Something was committed, and the realm does not show it before `refresh()`: ``Realm/autorefresh`` is off.
        case refreshRequired
    }

    /// Called when something was committed, by `realm.store.deliver()`, `wait()` or the worker; see `observeCommits` of
    /// ObjStore. Where it cannot, nothing is observed.
    public func observe(
        _ handler: @escaping @Sendable (Notification, Realm) throws -> Void
    ) -> NotificationToken {
        reporting(NotificationToken()) {
            try store.observeCommits { _ in try handler(store.autorefresh ? .didChange : .refreshRequired, self) }
        }
    }

    // MARK: Writing

    /// Runs `block` as one transaction: all of it happens, or nothing. It throws what `block` throws, or what something
    /// in it reported, and then everything is undone.
    @discardableResult
    public func write<Result>(
        withoutNotifying tokens: [NotificationToken] = [], _ block: () throws -> Result
    ) throws -> Result { try store.write(withoutNotifying: tokens) { _ in try block() } }
    public func write(withoutNotifying tokens: [NotificationToken] = [], _ block: () throws -> Void) throws {
        try store.write(withoutNotifying: tokens) { _ in try block() }
    }
    /// Where the result is not wanted: see ``ObjStore/Store/write(_:)``.
    public func write<Result: ~Copyable>(
        withoutNotifying tokens: [NotificationToken] = [], _ block: () throws -> Result
    ) throws { try store.write(withoutNotifying: tokens) { _ in _ = try block() } }

    /// See ``ObjStore/Store/beginWrite()``, whose errors are reported here.
    @available(
        *, noasync, message: "after an await the task is on another thread, and the write is lost: use write { … }"
    )
    public func beginWrite() { reporting(()) { try store.beginWrite() } }
    @available(
        *, noasync, message: "after an await the task is on another thread, and the write is lost: use write { … }"
    )
    public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws {
        try store.commitWrite(withoutNotifying: tokens)
    }
    @available(
        *, noasync, message: "after an await the task is on another thread, and the write is lost: use write { … }"
    )
    public func cancelWrite() { reporting(()) { try store.cancelWrite() } }
    public var isInWriteTransaction: Bool { store.isInWrite }

    public func add(_ object: Object, update: UpdatePolicy = .error) {
        reporting(()) { try store.add(object, update: update) }
    }
    public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) where S.Element: Object {
        reporting(()) { try store.add(objects, update: update) }
    }

    /// An object from a dictionary, an array, or any object by the names of its properties; see `create` of ObjStore.
    /// As in Realm, names in dictionaries that are no properties are ignored. Where it cannot be created: an invalid
    /// object.
    @discardableResult
    public func create<T: Object>(_ type: T.Type, value: Any = [String: Any](), update: UpdatePolicy = .error) -> T {
        reporting(store.invalid(type)) { try store.create(type, value: value, update: update, ignoresUnknown: true) }
    }

    // MARK: Deleting

    public func delete(_ object: Object) { reporting(()) { try store.delete(object) } }
    public func delete<S: Sequence>(_ objects: S) where S.Element: Object {
        reporting(()) { try store.delete(objects) }
    }
    public func delete<T: Object>(_ objects: Results<T>) { reporting(()) { try store.delete(objects) } }
    public func delete<T: Object>(_ objects: LinkingObjects<T>) { reporting(()) { try store.delete(objects) } }
    public func delete<T: Object>(_ objects: List<T>) { reporting(()) { try store.delete(objects) } }
    public func delete<T: Object>(_ objects: MutableSet<T>) { reporting(()) { try store.delete(objects) } }
    public func delete<Key, T: Object>(_ objects: Map<Key, T?>) { reporting(()) { try store.delete(objects) } }
    public func deleteAll() { reporting(()) { try store.deleteAll() } }

    // MARK: Reading

    public func objects<T: Object>(_ type: T.Type) -> Results<T> { store.objects(type) }
    public func object<T: Object, Key: _PersistableValue>(ofType type: T.Type, forPrimaryKey key: Key) -> T? {
        reporting(nil) { try store.object(ofType: type, forPrimaryKey: key) }
    }
    /// The objects of a class by its name, which need be none of the configuration's; see ``DynamicObject``.
    public func dynamicObjects(_ type: String) -> DynamicResults { store.dynamicObjects(type) }
    public func dynamicObject(ofType type: String, forPrimaryKey key: Any) -> DynamicObject? {
        reporting(nil) { try store.dynamicObject(ofType: type, forPrimaryKey: key) }
    }
    /// See ``ObjStore/Store/autorefresh``.
    public var autorefresh: Bool {
        get { store.autorefresh }
        nonmutating set { store.autorefresh = newValue }
    }
    /// See ``ObjStore/Store/refresh()``, whose errors are reported here.
    @discardableResult
    public func refresh() -> Bool { reporting(false) { try store.refresh() } }

    /// What it refers to, as this realm shows it; in a write as it is there. Nil: it was deleted.
    public func resolve<Confined: Referable>(_ reference: ThreadSafeReference<Confined>) -> Confined? {
        reporting(nil) { try reference.reference.flatMap { try store.resolve($0) } }
    }

    private func reporting<T>(_ none: @autoclosure () -> T, _ body: () throws -> T) -> T {
        do { return try body() } catch {
            store.report(error)
            return none()
        }
    }
}

/// Whether both are one store.
extension Realm: Equatable {
    public static func == (left: Realm, right: Realm) -> Bool { left.store === right.store }
}
