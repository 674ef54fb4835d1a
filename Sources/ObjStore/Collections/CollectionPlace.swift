internal import ObjStoreCore

/// Where the elements of a managed list, set or map are: an object and its property.
struct CollectionPlace {
    let object: Object
    /// Of the property in its class.
    let index: UInt32

    var binding: ClassBinding { object._binding.unsafelyUnwrapped.takeUnretainedValue() }
    var id: CollectionID { CollectionID(owner: binding.id(object._key), propertyID: binding.properties[Int(index)]) }

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
            guard !binding.space.isFrozen else {
                throw StoreError(.wrongView, "\(binding.path(index)) cannot be changed: the object is frozen")
            }
            if binding.space.isInvalidated { throw binding.space.invalidatedError }
            guard binding.space.handle.isWriting else {
                throw binding.space.handle.notInWrite("\(binding.path(index)) cannot be changed outside a write")
            }
            return try body(binding.space.current, id)
        } catch {
            binding.report(error, index)
            return none
        }
    }

    /// The same with elements, which are encoded. Unmanaged objects among them are added first, with all that they lead
    /// to.
    func changing<Element: CollectionElement, T>(
        _ none: T, with elements: some Sequence<Element>,
        _ body: (View, CollectionID, UnsafeBufferPointer<Value>) throws(StoreError) -> T
    ) -> T {
        changing(none) { (view, id) throws(StoreError) in
            let elements = Array(elements), new = try unmanaged(elements)
            return try ObjectGraph.adding(new, binding.space, view) { (links) throws(StoreError) in
                try withEncoded(elements, links: links) { (values) throws(StoreError) in try body(view, id, values) }
            }
        }
    }

    /// The unmanaged objects that elements lead to, each once.
    private func unmanaged<Element: CollectionElement>(_ elements: [Element]) throws(StoreError) -> [Object] {
        let type = binding.info.properties[Int(index)].type
        guard type.hasLinks else { return [] }
        guard binding.exists(object._key) else { throw binding.gone(object._key).ofCore }
        var seen: Set<ObjectIdentifier> = [], new: [Object] = []
        for target in elements.flatMap({ Element._objects($0) }) {
            if let other = target._space {
                // What would be refused afterwards.
                guard other.handle.sharesStore(with: binding.space.handle) else {
                    throw StoreError(.wrongStore, "\(binding.path(index)): the object is managed by another store").at(
                        class: binding.info.name)
                }
            } else if seen.insert(ObjectIdentifier(target)).inserted {
                if Element._isMixed, target is EmbeddedObject { throw AnyValue.embedded(target) }
                new.append(target)
            }
        }
        return new
    }

    // What is missing is reported before anything changes.

    func outOfRange(_ index: Int, _ count: Int) -> StoreError {
        StoreError(.outOfRange, "\(binding.path(self.index)): index \(index), \(count.elementsThere)")
    }

    func check(_ indexes: some Sequence<Int>, of count: Int) throws(StoreError) {
        for index in indexes where index < 0 || index >= count { throw outOfRange(index, count) }
    }

    func check(_ range: Range<Int>, of count: Int) throws(StoreError) {
        guard range.lowerBound >= 0, range.upperBound <= count else {
            throw StoreError(.outOfRange, "\(binding.path(index)): \(range), \(count.elementsThere)")
        }
    }

    /// Whether the elements are embedded objects.
    var embeds: Bool { binding.info.properties[Int(index)].embeds }

    /// Makes unmanaged embedded objects in a list, before the element at `start`; nil: at its end.
    func embed<Element: CollectionElement>(_ elements: some Sequence<Element>, at start: Int?) {
        changing(()) { (view, id) throws(StoreError) in
            let count = try view.elementCount(id), first = start ?? count
            guard first >= 0, first <= count else { throw outOfRange(first, count) }
            try embed(
                elements.compactMap { Element._linked($0) }.enumerated().map { ($1, .int(Int64(first + $0))) }, view, id
            )
        }
    }

    /// Makes unmanaged embedded objects at places in the collection.
    func embed(_ objects: [(object: Object, place: Value)], _ view: View, _ id: CollectionID) throws(StoreError) {
        if let managed = objects.first(where: { $0.object.isManaged }) {
            throw StoreError(
                .embedded,
                """
                \(binding.path(index)): an object of class \(ClassInfo.name(of: type(of: managed.object))) that has a \
                place cannot have another
                """
            )
        }
        try embedding { (binding, property) throws(ObjStoreError) in
            try ObjectGraph.embed(objects, in: id.owner, binding, property, view)
        }
    }

    /// Gives the collection the elements of another one instead of its own.
    func embed(_ collection: any _CollectionProperty) {
        changing(()) { (view, id) throws(StoreError) in
            try embedding { (binding, property) throws(ObjStoreError) in
                try ObjectGraph.embed(collection, in: id.owner, binding, property, view)
            }
        }
    }

    private func embedding(_ body: (ClassBinding, ClassInfo.Property) throws(ObjStoreError) -> Void) throws(StoreError)
    {
        do throws(ObjStoreError) {
            guard binding.exists(object._key) else { throw binding.gone(object._key) }
            try body(binding, binding.info.properties[Int(index)])
        } catch {
            throw error.ofCore
        }
    }

    /// Looks up an element; an unmanaged object, or one of another store, is in no collection of a store.
    func asking<Element: CollectionElement, T>(
        _ none: T, about element: Element, _ body: (View, CollectionID, Value) throws(StoreError) -> T
    ) -> T {
        let own = binding.space.handle
        if Element._objects(element).contains(where: { $0._space?.handle.sharesStore(with: own) != true }) {
            return none
        }
        return reading(none) { (view, id) throws(StoreError) in
            try withEncoded(CollectionOfOne(element)) { (values) throws(StoreError) in try body(view, id, values[0]) }
        }
    }

    /// Makes a set what it and other values are together.
    func combine<Element: CollectionElement>(_ operation: SetOperation, _ elements: some Sequence<Element>) {
        changing((), with: elements) { (view, id, values) throws(StoreError) in
            _ = try view.combine(id, operation, values.baseAddress, values.count)
        }
    }

    var count: Int { reading(0) { (view, id) throws(StoreError) in try view.elementCount(id) } }

    /// The same with memory for texts, where the view does not lend its own: a live one may move.
    func readingTexts<T>(
        _ none: T, _ body: (View, CollectionID, UnsafeMutablePointer<OutputBuffer>?) throws(StoreError) -> T
    ) -> T {
        reading(none) { (view, id) throws(StoreError) in
            if view.canLend { return try body(view, id, nil) }
            var buffer = OutputBuffer()
            defer { OutputBuffer.free(&buffer) }
            return try withUnsafeMutablePointer(to: &buffer) { (buffer) throws(StoreError) in try body(view, id, buffer)
            }
        }
    }

    /// Elements from `start` on, at most `limit`; keys are null but of maps.
    func forEach(
        from start: Int = 0, limit: Int = .max, wantsKeys: Bool,
        _ body: (_ index: Int, _ key: Value, _ value: Value) -> Void
    ) {
        readingTexts(()) { (view, id, buffer) throws(StoreError) in
            _ = try view.elements(id, from: start, limit: limit, wantsKeys: wantsKeys, buffer) {
                body(start + $0, $1, $2)
            }
        }
    }

    func element<Element: CollectionElement>(at index: Int) -> Element {
        readingTexts(Element._emptyElement) { (view, id, buffer) throws(StoreError) in
            element(try view.element(id, at: index, buffer).value, at: .index(index))
        }
    }

    func values<Element: CollectionElement>(as _: Element.Type) -> [Element] {
        var values: [Element] = []
        forEach(wantsKeys: false) { index, _, value in values.append(element(value, at: .index(index))) }
        return values
    }

    /// Elements as they are at one moment.
    func pinned<Element: CollectionElement>(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> {
        let view = binding.space.current
        while true {
            // The view may move between two reads: then both are repeated.
            let stamp = view.stamp, count = count, range = bounds(count)
            var elements: [Element] = []
            if !range.isEmpty {
                forEach(from: range.lowerBound, limit: range.count, wantsKeys: false) {
                    elements.append(element($2, at: .index($0)))
                }
            }
            if view.stamp == stamp || elements.count == range.count { return Pinned(elements, from: range.lowerBound) }
        }
    }

    /// A stored value as the collection's type; what is none is reported and replaced.
    func element<Element: CollectionElement>(_ value: Value, at step: @autoclosure () -> AnyStep) -> Element {
        if Element._isMixed {
            let place = AnyPlace(self, [step()])
            if let element = Element._element(_StoredValue(value: value, place: place)) { return element }
            // What a link leads to is of a class that the application does not know: looking it up reports that.
            _ = place.value()
            return Element._emptyElement
        }
        let target = value.kind == .link ? binding.target(index) : nil
        if let element = Element._element(_StoredValue(value: value, target: target)) { return element }
        binding.report(
            StoreError(
                .outOfRange,
                "\(binding.path(index)) has an element \(value.text) in the store, which is no \(Element.self)"), index)
        return Element._emptyElement
    }

    /// Removes elements by their indexes: all of them, or none.
    func remove(_ indexes: RangeSet<Int>) {
        changing(()) { (view, id) throws(StoreError) in
            let count = try view.elementCount(id)
            for range in indexes.ranges { try check([range.lowerBound, range.upperBound - 1], of: count) }
            for range in indexes.ranges.reversed() { try view.remove(id, at: range.lowerBound, count: range.count) }
        }
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
    /// Appends the elements, as nested values.
    func _encode(to encoder: _RowEncoder)
    /// The objects among the elements.
    var _links: [Object] { get }
    /// An unmanaged one with other objects instead of these; of a list or set without those that are nil.
    func _mapped(_ other: (Object) -> Object?) -> Self

    // For nested values.
    static func _encodeElement(any value: Any?, _ encoder: _RowEncoder) -> Bool
    /// Of a map: its text.
    static func _encodeKey(_ key: Any, _ encoder: _RowEncoder) -> Bool
    /// Of a map: what a dictionary or another map has; nil: the value is none.
    static func _entries(of value: Any) -> [(key: AnyHashable, value: Any?)]?
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
    public static func _takeReferences(_ object: Object, _ offset: Int, _ references: _References) {
        if let collection = wrapper(object, offset).pointee.value { references.add(collection) }
        wrapper(object, offset).pointee.value = nil
    }
    public static func _encodeKey(_ key: Any, _ encoder: _RowEncoder) -> Bool { false }
    public static func _entries(of value: Any) -> [(key: AnyHashable, value: Any?)]? { nil }
    public static func _encode(_ value: Self, _ encoder: _RowEncoder) { value._encode(to: encoder) }
}

extension CollectionElement {
    /// False: it is no value of this type.
    static func encode(any value: Any?, _ encoder: _RowEncoder) -> Bool {
        guard let element = _convertElement(value) else { return false }
        _encodeElement(element, encoder)
        return true
    }
}

extension View {
    /// Several steps: all of them, or none.
    func atOnce(_ steps: () throws(StoreError) -> Void) throws(StoreError) {
        let savepoint = try beginSavepoint()
        do throws(StoreError) {
            try steps()
            try releaseSavepoint(savepoint)
        } catch {
            try rollBack(toSavepoint: savepoint)
            throw error
        }
    }
}
