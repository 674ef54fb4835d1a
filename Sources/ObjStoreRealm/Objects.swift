public import ObjStore

// What throws in ObjStore and does not in Realm. The compiler prefers these where both are seen.

extension Object {
    /// An unmanaged object from a dictionary, an array, or any object by the names of its properties. What does not fit
    /// is reported, and the object has its defaults.
    public convenience init(value: Any) {
        self.init()
        do { try fill(from: value, ignoresUnknown: true) } catch { Store.reportOfNoStore(error) }
    }

    public final func setValue(_ value: Any?, forKey key: String) { reporting { try setValue(value, named: key) } }
    public final func value(forKey key: String) -> Any? {
        var found: Any?
        reporting { found = try value(named: key) }
        return found
    }

    private func reporting(_ body: () throws -> Void) {
        do { try body() } catch { report(error) }
    }
}

extension Results {
    /// Those for which a condition is true: `.filter("age < 2 AND name BEGINSWITH 'A'")`, `.filter("age < %@", 2)`.
    /// `%K` is a path: `.filter("%K == %@", "owner.name", "Ann")`. What is wrong with it is reported where the results
    /// are used.
    public func filter(_ predicate: String, _ arguments: Any...) -> Results {
        filtered(Predicate.text(predicate), arguments: arguments)
    }

    /// In the order of a property by its name, also of one behind links: `"owner.name"`.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> Results {
        sorted(by: [SortKey(keyPath, ascending: ascending)])
    }
    public func sorted(by descriptors: [SortDescriptor]) -> Results {
        sorted(by: descriptors.map { SortKey($0.keyPath, ascending: $0.ascending) })
    }

    /// In sections with equal values of a property, in the order in which they come when the objects are sorted.
    public func sectioned<Key: CollectionElement>(
        by keyPath: KeyPath<Element, Key>, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> { inOrder(sortDescriptors).sectioned(by: keyPath, in: .ofAppearance) }
    /// The same by what a block says of each object.
    public func sectioned<Key: CollectionElement>(
        by block: @escaping @Sendable (Element) -> Key, sortDescriptors: [SortDescriptor]
    ) -> SectionedResults<Key, Element> { inOrder(sortDescriptors).sectioned(by: block) }

    private func inOrder(_ descriptors: [SortDescriptor]) -> Results {
        descriptors.isEmpty ? self : sorted(by: descriptors)
    }

    /// Sets a property of every object by name.
    public func setValue(_ value: Any?, forKey key: String) {
        do { _ = try setValue(value, named: key) } catch { report(error) }
    }
}

/// What objects are sorted by, and in which direction.
public struct SortDescriptor: Hashable, Sendable {
    /// The name of a property, or a path to one: `"owner.name"`.
    public let keyPath: String
    public let ascending: Bool

    public init(keyPath: String, ascending: Bool = true) {
        self.keyPath = keyPath
        self.ascending = ascending
    }

    /// A key path of no property is reported, and then once more where objects are sorted by it.
    public init<Root: Object>(keyPath: PartialKeyPath<Root>, ascending: Bool = true) {
        var name = ""
        do { name = try SortKey<Root>.name(of: keyPath) } catch { Store.reportOfNoStore(error) }
        self.init(keyPath: name, ascending: ascending)
    }

    public func reversed() -> SortDescriptor { SortDescriptor(keyPath: keyPath, ascending: !ascending) }
}

/// What is unknown is reported, and is 0, or nil.
extension Results {
    /// Of nothing it is 0.
    public func sum<Value: Summable>(of keyPath: KeyPath<Element, Value>) -> Value {
        reporting(Value._initial) { try sum(at: keyPath) }
    }
    public func sum<Value: Summable>(of keyPath: KeyPath<Element, Value?>) -> Value {
        reporting(Value._initial) { try sum(at: keyPath) }
    }
    public func sum<Value: Summable>(ofProperty property: String) -> Value {
        reporting(Value._initial) { try sum(named: property) }
    }
    /// Nil of nothing.
    public func min<Value: Aggregatable>(of keyPath: KeyPath<Element, Value>) -> Value? {
        reporting(nil) { try min(at: keyPath) }
    }
    public func min<Value: Aggregatable>(of keyPath: KeyPath<Element, Value?>) -> Value? {
        reporting(nil) { try min(at: keyPath) }
    }
    public func min<Value: Aggregatable>(ofProperty property: String) -> Value? {
        reporting(nil) { try min(named: property) }
    }
    public func max<Value: Aggregatable>(of keyPath: KeyPath<Element, Value>) -> Value? {
        reporting(nil) { try max(at: keyPath) }
    }
    public func max<Value: Aggregatable>(of keyPath: KeyPath<Element, Value?>) -> Value? {
        reporting(nil) { try max(at: keyPath) }
    }
    public func max<Value: Aggregatable>(ofProperty property: String) -> Value? {
        reporting(nil) { try max(named: property) }
    }
    public func average<Value: Summable>(of keyPath: KeyPath<Element, Value>) -> Double? {
        reporting(nil) { try average(at: keyPath) }
    }
    public func average<Value: Summable>(of keyPath: KeyPath<Element, Value?>) -> Double? {
        reporting(nil) { try average(at: keyPath) }
    }
    public func average(ofProperty property: String) -> Double? { reporting(nil) { try average(named: property) } }

    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) -> NotificationToken {
        reporting(NotificationToken()) { try observing(keyPaths, handler) }
    }
    public func observe(
        keyPaths: [PartialKeyPath<Element>], _ handler: @escaping @Sendable (ChangeSet<Element>) throws -> Void
    ) -> NotificationToken {
        reporting(NotificationToken()) { try observing(keyPaths, handler) }
    }

    private func reporting<T>(_ none: @autoclosure () -> T, _ body: () throws -> T) -> T {
        do { return try body() } catch {
            report(error)
            return none()
        }
    }
}

extension _ObservableObject {
    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) -> NotificationToken {
        reporting { try observing(keyPaths, handler) }
    }
    public func observe(
        keyPaths: [PartialKeyPath<Self>], _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) -> NotificationToken {
        reporting { try observing(keyPaths, handler) }
    }

    private func reporting(_ body: () throws -> NotificationToken) -> NotificationToken {
        do { return try body() } catch {
            report(error)
            return NotificationToken()
        }
    }
}

extension LiveCollection {
    /// The elements there.
    public func objects(at indexes: some Sequence<Int>) -> [Element] { indexes.map { self[$0] } }
}

extension List {
    public func append<S: Sequence>(contentsOf new: S) where S.Element == Element { append(objectsIn: new) }
    public func removeAll(keepingCapacity: Bool) { removeAll() }
    public func replace(index: Int, object: Element) { self[index] = object }
    public func removeObjects(at indexes: some Sequence<Int>) { removeAll(at: indexes) }
    public func remove(atOffsets offsets: some Sequence<Int>) { removeObjects(at: offsets) }
}

extension Map {
    public func removeObject(for key: Key) { removeValue(forKey: key) }
    public func object(forKey key: Key) -> Value? { self[key] }
    public func value(forKey key: Key) -> Value? { self[key] }
    public func asKeyValueSequence() -> [(Key, Value)] { map { ($0.key, $0.value) } }
}

extension LinkCollection {
    /// Sets a property of every object among the elements by name.
    public func setValue(_ value: Any?, forKey key: String) {
        do { _ = try setValue(value, named: key) } catch { report(error) }
    }
}

// What is live again, of what is frozen. Where there is none, or it cannot be: nil.

extension Object {
    public final func thaw() -> Self? { reportingNil { try thawed() } }

    private func reportingNil<T>(_ body: () throws -> T?) -> T? {
        do { return try body() } catch {
            report(error)
            return nil
        }
    }
}

extension Results {
    public func thaw() -> Results? { reporting(nil) { try thawed() } }
}

extension SectionedResults {
    public func thaw() -> SectionedResults? {
        do { return try thawed() } catch {
            Store.reportOfNoStore(error)
            return nil
        }
    }
}

extension List {
    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (CollectionChange<List>) throws -> Void
    ) -> NotificationToken { reporting { try observing(keyPaths, handler) } }
    public func thaw() -> List? { reporting { try thawed() } }
}

extension MutableSet {
    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (CollectionChange<MutableSet>) throws -> Void
    ) -> NotificationToken { reporting { try observing(keyPaths, handler) } }
    public func thaw() -> MutableSet? { reporting { try thawed() } }
}

extension Map {
    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (CollectionChange<Map>) throws -> Void
    ) -> NotificationToken { reporting { try observing(keyPaths, handler) } }
    public func thaw() -> Map? { reporting { try thawed() } }
}

extension _CollectionProperty {
    fileprivate func reporting(_ body: () throws -> NotificationToken) -> NotificationToken {
        do { return try body() } catch {
            report(error)
            return NotificationToken()
        }
    }

    fileprivate func reporting(_ body: () throws -> Self?) -> Self? {
        do { return try body() } catch {
            report(error)
            return nil
        }
    }
}

enum Predicate {
    /// `%@`, `%ld` and their like become `$0`, `$1`, …, and `%K`, a path, `$K0`; YES and NO become true and false.
    static func text(_ format: String) -> String {
        var text = "", number = 0, rest = format[...]
        var quote: Character?
        while let character = rest.first {
            if quote == nil, character == "%", let kind = rest.dropFirst().firstIndex(where: { !"hlqz".contains($0) }),
                "@KdDiuUxXfFeEgG".contains(rest[kind])
            {
                text += rest[kind] == "K" ? "$K\(number)" : "$\(number)"
                rest = rest[rest.index(after: kind)...]
                number += 1
                continue
            }
            let word = quote == nil ? rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" } : ""
            if !word.isEmpty {
                text += word == "YES" ? "true" : word == "NO" ? "false" : word
                rest = rest[word.endIndex...]
                continue
            }
            rest.removeFirst()
            if quote != nil, character == "\\", let escaped = rest.popFirst() {
                text += "\\\(escaped)"
                continue
            }
            if character == quote {
                quote = nil
            } else if quote == nil, character == "'" || character == "\"" {
                quote = character
            }
            text.append(character)
        }
        return text
    }
}
