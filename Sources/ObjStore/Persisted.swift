public import CRuntime

/// A property that is stored: `@Persisted var age = 0`.
///
/// Works in classes derived from ``Object`` only. A property is required (it has a default or must be given
/// where an object is created from a dictionary) or optional (nil is stored as null). See
/// docs/decisions/0003-persisted.md for how it finds its object and column.
@frozen @propertyWrapper
public struct Persisted<Value: Persistable> {
    /// Of the property in its class when the object is managed; with bit 31, while a key path is traced; all ones
    /// while the object is unmanaged. Nothing here changes while the object is managed: code that is not optimised
    /// copies all of it to read the index, on any thread.
    @usableFromInline var index: UInt32
    @usableFromInline var flags: UInt8
    @usableFromInline var value: Value._Storage

    @usableFromInline static var _tracing: UInt32 { @inlinable get { 0x8000_0000 } }
    @usableFromInline static var _isPrimaryKey: UInt8 { @inlinable get { 1 } }
    @usableFromInline static var _isIndexed: UInt8 { @inlinable get { 2 } }
    @usableFromInline static var _hasDefault: UInt8 { @inlinable get { 4 } }
    @usableFromInline static var _isUnique: UInt8 { @inlinable get { 8 } }
    @usableFromInline static var _isCascading: UInt8 { @inlinable get { 16 } }
    @usableFromInline static var _isGenerated: UInt8 { @inlinable get { 32 } }
    @usableFromInline static var _isFullText: UInt8 { @inlinable get { 128 } }

    @inlinable
    public init() {
        index = .max
        flags = 0
        value = Value._fresh
    }

    /// With a default. The expression is evaluated for new objects only, not for those read from a store.
    @inlinable
    public init(wrappedValue: @autoclosure () -> Value) {
        index = .max
        flags = Persisted._hasDefault
        var storage = Value._initial
        if !cr_skips_default() { Value._write(&storage, wrappedValue()) }
        value = storage
    }

    /// The primary key: unique in its class, found fast, an integer, a text, an ``ObjectId`` or a `UUID`. At most one
    /// per class.
    @inlinable
    public init(primaryKey: Bool) {
        self.init()
        if primaryKey { flags |= Persisted._isPrimaryKey }
    }

    @inlinable
    public init(wrappedValue: @autoclosure () -> Value, primaryKey: Bool) {
        self.init(wrappedValue: wrappedValue())
        if primaryKey { flags |= Persisted._isPrimaryKey }
    }

    /// Made by the store for an object that is added or created without it: a primary key (an integer above all that
    /// the class ever had, an ``ObjectId`` or a `UUID`), or any ``ObjectId`` or `UUID`. What an unmanaged object has at
    /// first (0, zeros, nil) counts as not given; in a dictionary everything that is there is given.
    @inlinable
    public init(primaryKey: Bool = false, generated: Bool) {
        self.init(primaryKey: primaryKey)
        if generated {
            flags |= Persisted._isGenerated
            value = Value._initial
        }
    }

    /// A link, or a collection of links: what happens to the objects it leads to when its object is deleted.
    @inlinable
    public init(onDelete: DeletionRule) {
        self.init()
        if onDelete == .cascade { flags |= Persisted._isCascading }
    }

    @inlinable
    public init(wrappedValue: @autoclosure () -> Value, onDelete: DeletionRule) {
        self.init(wrappedValue: wrappedValue())
        if onDelete == .cascade { flags |= Persisted._isCascading }
    }

    /// With an ordered index: comparisons find few among many objects without looking at all of them.
    @inlinable
    public init(indexed: Bool) {
        self.init()
        if indexed { flags |= Persisted._isIndexed }
    }

    @inlinable
    public init(wrappedValue: @autoclosure () -> Value, indexed: Bool) {
        self.init(wrappedValue: wrappedValue())
        if indexed { flags |= Persisted._isIndexed }
    }

    /// A text in which words are searched for, by `search` in a `where` and TEXT in a `filter`. Without an index in
    /// this version.
    @inlinable
    public init(fullText: Bool) {
        self.init()
        if fullText { flags |= Persisted._isFullText }
    }

    @inlinable
    public init(wrappedValue: @autoclosure () -> Value, fullText: Bool) {
        self.init(wrappedValue: wrappedValue())
        if fullText { flags |= Persisted._isFullText }
    }

    /// The inverse of a link: the objects of another class whose property of that name leads to this one. Read-only,
    /// and not stored: `@Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>`.
    public init<Element: Object>(originProperty: String) where Value == LinkingObjects<Element> {
        self.init()
        value = originProperty
    }

    /// No two objects have the same value; any number of them may have nil. Has an ordered index.
    /// Not for links, collections and bytes.
    @inlinable
    public init(unique: Bool) {
        self.init()
        if unique { flags |= Persisted._isUnique }
    }

    @inlinable
    public init(wrappedValue: @autoclosure () -> Value, unique: Bool) {
        self.init(wrappedValue: wrappedValue())
        if unique { flags |= Persisted._isUnique }
    }

    @available(*, unavailable, message: "@Persisted works in classes derived from Object only")
    public var wrappedValue: Value {
        get { fatalError() }
        set { fatalError() }
    }

    // The key paths are literals of the user's module: with optimisation nothing is left of them.
    @inlinable
    public static subscript<Enclosing: Object>(
        _enclosingInstance object: Enclosing, wrapped _: ReferenceWritableKeyPath<Enclosing, Value>,
        storage storage: ReferenceWritableKeyPath<Enclosing, Self>
    ) -> Value {
        @inline(__always)
        get {
            let index = object[keyPath: storage].index
            if _fastPath(index < _tracing) { return Value._get(object, index) }
            if index == .max { return Value._read(&object[keyPath: storage].value) }
            return Value._traced(object._trace(index))
        }
        @inline(__always)
        set {
            let index = object[keyPath: storage].index
            if _fastPath(index < _tracing) {
                Value._set(object, index, newValue)
            } else {
                Value._write(&object[keyPath: storage].value, newValue)
            }
        }
    }
}

/// What discovery needs from a field's type.
protocol AnyPersisted {
    static var valueType: any Persistable.Type { get }
}

extension Persisted: AnyPersisted {
    static var valueType: any Persistable.Type { Value.self }
}
