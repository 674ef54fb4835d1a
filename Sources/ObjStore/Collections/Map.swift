internal import ObjStoreCore

/// A value for each key, in ascending order of the keys: `@Persisted var notes: Map<String, Double>`.
///
/// Links are optional, `Map<String, Dog?>`: when an object is deleted, its keys stay and have nil.
/// Keys are texts, integers, ``ObjectId`` or `UUID`. Of a managed object it shows what the object has, and changes
/// inside a write only. Cost of finding and changing: O(log n).
public final class Map<Key: _PersistableValue & Hashable, Value: CollectionElement> {
    public typealias Element = (key: Key, value: Value)

    /// Of an unmanaged one.
    private var entries: [ExactKey<Key>: Value] = [:]
    let place: CollectionPlace?

    public init() { place = nil }
    init(_ place: CollectionPlace) { self.place = place }

    public convenience init(_ entries: [Key: Value]) {
        self.init()
        fill(entries.lazy.map { ($0.key, $0.value) })
    }

    /// The value of a key. Setting it to nil removes the key.
    public subscript(key: Key) -> Value? {
        get {
            guard let place else { return entries[ExactKey(key)] }
            return place.readingTexts(nil) { (view, id, buffer) throws(StoreError) in
                try withEncoded(CollectionOfOne(key)) { (keys) throws(StoreError) in
                    try view.value(id, ofKey: keys[0], buffer).map { place.element($0, at: Map.step(keys[0])) }
                }
            }
        }
        set { if let newValue { updateValue(newValue, forKey: key) } else { removeValue(forKey: key) } }
    }

    public subscript(key: Key, default fallback: @autoclosure () -> Value) -> Value {
        get { self[key] ?? fallback() }
        set { self[key] = newValue }
    }

    /// The text of a key, as paths name it.
    private static func step(_ key: CoreValue) -> AnyStep { .key(key.keyText) }

    /// Gives a key a value; nil removes the key.
    public func setValue(_ value: Value?, forKey key: Key) { self[key] = value }

    /// Whether the key is new.
    @discardableResult
    public func updateValue(_ value: Value, forKey key: Key) -> Bool {
        guard let place else { return entries.updateValue(value, forKey: ExactKey(key)) == nil }
        // A managed one may be given where it is already.
        if place.embeds, let object = Value._linked(value), !object.isManaged { return embed(object, key, place) }
        return place.changing(false, with: CollectionOfOne(value)) { (view, id, values) throws(StoreError) in
            try withEncoded(CollectionOfOne(key)) { (keys) throws(StoreError) in
                try view.set(id, key: keys[0], values[0])
            }
        }
    }

    /// Makes an unmanaged embedded object at a key; what it led to before goes. Whether the key is new.
    private func embed(_ object: Object, _ key: Key, _ place: CollectionPlace) -> Bool {
        place.changing(false) { (view, id) throws(StoreError) in
            try withEncoded(CollectionOfOne(key)) { (keys) throws(StoreError) in
                let isNew = try view.value(id, ofKey: keys[0], nil) == nil
                try place.embed([(object, keys[0])], view, id)
                return isNew
            }
        }
    }

    /// Whether the key was there.
    @discardableResult
    public func removeValue(forKey key: Key) -> Bool {
        guard let place else { return entries.removeValue(forKey: ExactKey(key)) != nil }
        return place.changing(false) { (view, id) throws(StoreError) in
            try withEncoded(CollectionOfOne(key)) { (keys) throws(StoreError) in try view.remove(id, key: keys[0]) }
        }
    }

    public func removeAll() { if let place { place.clear() } else { entries.removeAll() } }

    /// Gives keys values, all of them or none; of a key that comes twice the last one.
    public func merge(_ other: some Sequence<(key: Key, value: Value)>) {
        let new = Array(other)
        guard let place else { return fill(new.lazy.map { ($0.key, $0.value) }) }
        if place.embeds {
            let all = Map()
            all.fill((Array(self) + new).lazy.map { ($0.key, $0.value) })
            return place.embed(all)
        }
        place.changing((), with: new.map(\.value)) { (view, id, values) throws(StoreError) in
            try withEncoded(new.map(\.key)) { (keys) throws(StoreError) in
                try view.atOnce { () throws(StoreError) in
                    for index in keys.indices { _ = try view.set(id, key: keys[index], values[index]) }
                }
            }
        }
    }

    public func merge(_ other: some Sequence<(Key, Value)>) { merge(other.map { (key: $0, value: $1) }) }

    /// The same; of a key that is there, or comes twice, `combine` makes one value of both. It is called before
    /// anything changes.
    public func merge(
        _ other: some Sequence<(key: Key, value: Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows {
        var new: [Element] = [], places: [ExactKey<Key>: Int] = [:]
        for (key, value) in Array(other) {
            if let place = places[ExactKey(key)] {
                new[place].value = try combine(new[place].value, value)
            } else {
                places[ExactKey(key)] = new.count
                new.append((key, try self[key].map { try combine($0, value) } ?? value))
            }
        }
        merge(new)
    }
    public func merge(
        _ other: some Sequence<(Key, Value)>, uniquingKeysWith combine: (Value, Value) throws -> Value
    ) rethrows {
        try merge(other.map { (key: $0, value: $1) }, uniquingKeysWith: combine)
    }

    public var count: Int { place?.count ?? entries.count }
    public var isEmpty: Bool { count == 0 }
    public var keys: [Key] { map(\.key) }
    public var values: [Value] { map(\.value) }

    public var isInvalidated: Bool { place?.object.isInvalidated ?? false }
    public var isManaged: Bool { place != nil }
    public var isFrozen: Bool { place?.object.isFrozen ?? false }
}

extension Map: Sequence {
    /// The entries as they are now; of an unmanaged map in any order.
    public func makeIterator() -> IndexingIterator<[Element]> {
        guard let place else { return entries.map { ($0.key.key, $0.value) }.makeIterator() }
        var entries: [Element] = []
        place.forEach(wantsKeys: true) { index, key, value in
            entries.append((place.element(key, at: .index(index)), place.element(value, at: Map.step(key))))
        }
        return entries.makeIterator()
    }
}

extension Map: ExpressibleByDictionaryLiteral {
    /// Of a key that comes twice the last value.
    public convenience init(dictionaryLiteral entries: (Key, Value)...) {
        self.init()
        fill(entries)
    }

    private func fill(_ new: some Sequence<(Key, Value)>) { for (key, value) in new { entries[ExactKey(key)] = value } }
}

extension Map: CustomStringConvertible {
    public var description: String {
        isEmpty ? "[:]" : "[" + map { "\($0.key): \(Value._text($0.value))" }.joined(separator: ", ") + "]"
    }
}

extension Map: Persistable, _CollectionProperty {
    public typealias _Storage = Map?
    public static var _type: _PropertyType { _PropertyType(.map, of: Value._elementType, keys: Key._type) }
    public static func _managed(_ object: Object, _ index: UInt32) -> Map {
        Map(CollectionPlace(object: object, index: index))
    }
    public func _copy() -> Map {
        if Value._isMixed { return _mapped { $0 } }
        let copy = Map()
        copy.fill(lazy.map { ($0.key, $0.value) })
        return copy
    }
    public var _links: [Object] { flatMap { Value._objects($0.value) } }
    public func _mapped(_ other: (Object) -> Object?) -> Map {
        let copy = Map()
        for (key, value) in self { copy.entries[ExactKey(key)] = Value._mapped(value, other) }
        return copy
    }
    public static func _encodeElement(any value: Any?, _ encoder: _RowEncoder) -> Bool {
        Value.encode(any: value, encoder)
    }
    public static func _encodeKey(_ key: Any, _ encoder: _RowEncoder) -> Bool {
        guard let key = Key._convert(key) else { return false }
        encoder.appendKey { Key._encode(key, $0) }
        return true
    }
    public static func _entries(of value: Any) -> [(key: AnyHashable, value: Any?)]? {
        if let map = instance(value, of: Map.self) { return map.map { ($0.key, ClassInfo.unwrap($0.value)) } }
        return (value as? any GivenDictionary)?.givenEntries.map { ($0.key, ClassInfo.unwrap($0.value)) }
    }
    public func _replace(_ object: Object, _ index: UInt32) {
        let place = CollectionPlace(object: object, index: index)
        if place.embeds { return place.embed(self) }
        let entries = Array(self)
        place.changing((), with: entries.map(\.value)) { (view, id, values) throws(StoreError) in
            try withEncoded(entries.map(\.key)) { (keys) throws(StoreError) in
                try view.assign(id, keys.baseAddress, values.baseAddress, values.count)
            }
        }
    }
    public func _encode(to encoder: _RowEncoder) {
        let entries = Array(self)
        encoder.append(CoreValue(kind: .map, low: Int64(entries.count)))
        for (key, value) in entries {
            encoder.appendKey { Key._encode(key, $0) }
            Value._encodeElement(value, encoder)
        }
    }
    /// A map, or a dictionary of what its keys and values can be.
    public static func _convert(_ value: Any?) -> Map? {
        if let map = instance(value, of: Map.self) { return map }
        guard let dictionary = value as? any GivenDictionary else { return nil }
        let map = Map()
        for (key, value) in dictionary.givenEntries {
            guard let key = Key._convert(key.base), let value = Value._convertElement(ClassInfo.unwrap(value)) else {
                return nil
            }
            map.entries[ExactKey(key)] = value
        }
        return map
    }
}

/// A key as a store distinguishes it: texts by their bytes. Swift takes "é" and "e\u{301}" for equal.
struct ExactKey<Key: Hashable>: Hashable {
    let key: Key

    init(_ key: Key) { self.key = key }

    static func == (left: ExactKey, right: ExactKey) -> Bool {
        guard let text = left.key as? String, let other = right.key as? String else { return left.key == right.key }
        return text.utf8.elementsEqual(other.utf8)
    }

    /// Texts that Swift takes for equal have one hash, which does no harm.
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
