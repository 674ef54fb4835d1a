internal import ObjStoreCore

/// Where the elements of a managed list, set or map are: an object and its property.
struct CollectionPlace {
    let object: Object
    /// Of the property in its class.
    let index: UInt32

    private var binding: ClassBinding { object._binding.unsafelyUnwrapped.takeUnretainedValue() }
    private var id: CollectionID { CollectionID(owner: binding.id(object._key), propertyID: binding.properties[Int(index)]) }

    /// Reads; what fails is reported, like that of any property.
    func reading<T>(_ none: T, _ body: (View, CollectionID) throws(StoreError) -> T) -> T {
        let binding = binding
        do throws(StoreError) { return try body(binding.space.current, id) } catch {
            binding.report(error, index)
            return none
        }
    }

    /// Changes, inside a write; what fails is reported.
    func changing<T>(_ none: T, _ body: (View, CollectionID) throws(StoreError) -> T) -> T {
        let binding = binding
        do throws(StoreError) {
            guard !binding.space.isFrozen else { throw StoreError(.wrongView, "\(binding.path(index)) cannot be changed: the object is frozen") }
            guard binding.space.handle.isWriting else { throw StoreError(.notInWrite, "\(binding.path(index)) cannot be changed outside a write") }
            return try body(binding.space.current, id)
        } catch {
            binding.report(error, index)
            return none
        }
    }

    var count: Int { reading(0) { (view, id) throws(StoreError) in try view.elementCount(id) } }

    /// The same with memory for texts, where the view does not lend its own: a live one may move.
    func readingTexts<T>(_ none: T, _ body: (View, CollectionID, UnsafeMutablePointer<OutputBuffer>?) throws(StoreError) -> T) -> T {
        reading(none) { (view, id) throws(StoreError) in
            if view.lends { return try body(view, id, nil) }
            var buffer = OutputBuffer()
            defer { OutputBuffer.free(&buffer) }
            return try withUnsafeMutablePointer(to: &buffer) { (buffer) throws(StoreError) in try body(view, id, buffer) }
        }
    }

    /// Elements from `start` on, at most `limit`; keys are null but of maps.
    func forEach(from start: Int = 0, limit: Int = .max, wantsKeys: Bool, _ body: (Value, Value) -> Void) {
        readingTexts(()) { (view, id, buffer) throws(StoreError) in
            _ = try view.elements(id, from: start, limit: limit, wantsKeys: wantsKeys, buffer) { body($1, $2) }
        }
    }

    func element<Element: CollectionElement>(at index: Int) -> Element {
        readingTexts(Element._emptyElement) { (view, id, buffer) throws(StoreError) in element(try view.element(id, at: index, buffer).value) }
    }

    func values<Element: CollectionElement>(as _: Element.Type) -> [Element] {
        var values: [Element] = []
        forEach(wantsKeys: false) { _, value in values.append(element(value)) }
        return values
    }

    /// A stored value as the collection's type; what is none is reported and replaced.
    func element<Element: CollectionElement>(_ value: Value) -> Element {
        if let element = Element._element(_StoredValue(value: value)) { return element }
        binding.report(StoreError(.outOfRange, "\(binding.path(index)) has an element \(value.text) in the store, which is no \(Element.self)"), index)
        return Element._emptyElement
    }

    func clear() { changing(()) { (view, id) throws(StoreError) in try view.removeAllElements(id) } }
}

/// What the three kinds of collections have in common as properties.
public protocol _CollectionProperty: AnyObject, Persistable where _Storage == Self? {
    init()
    static func _managed(_ object: Object, _ index: UInt32) -> Self
    /// An unmanaged one with the same elements.
    func _copy() -> Self
    /// Gives the collection of an object these elements instead of its own.
    func _replace(_ object: Object, _ index: UInt32)
    func _store(_ scope: _FillScope)
}

extension _CollectionProperty {
    public static var _initial: Self? { nil }
    public static func _read(_ storage: inout Self?) -> Self {
        if let storage { return storage }
        let collection = Self()
        storage = collection
        return collection
    }
    public static func _write(_ storage: inout Self?, _ value: Self) { storage = value._copy() }
    public static func _get(_ object: Object, _ index: UInt32) -> Self { _managed(object, index) }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Self) { value._copy()._replace(object, index) }
    public static func _traced(_ tracer: _Tracer) -> Self { Self() }
    /// Elements are stored after their object.
    public static func _encode(_ value: Self, _ encoder: _RowEncoder) { encoder.append(.null) }
}

/// The collection of an object that was just stored, for its elements.
public final class _FillScope {
    let view: View
    let id: CollectionID
    /// Elements that are the same already stay.
    let comparesFirst: Bool
    private(set) var failure: StoreError?

    init(_ view: View, _ id: CollectionID, comparesFirst: Bool) {
        self.view = view
        self.id = id
        self.comparesFirst = comparesFirst
    }

    /// Replaces what is there, unless it is the same.
    func replace(count: Int, isSame: () throws(StoreError) -> Bool, _ insert: () throws(StoreError) -> Void) {
        do throws(StoreError) {
            let old = try view.elementCount(id)
            if old == 0, count == 0 { return }
            if comparesFirst, old == count, try isSame() { return }
            if old > 0 { try view.removeAllElements(id) }
            if count > 0 { try insert() }
        } catch {
            failure = error
        }
    }
}
