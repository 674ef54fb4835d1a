internal import ObjStoreCore

// A link is an optional of a model class: `@Persisted var owner: Person?`. Its inverse is found, not stored:
// `@Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>`. Lists, sets and maps have links as elements,
// with the same inverse.

extension Object: _OptionalPersistable {
    public typealias _OptionalStorage = Object?
    public static var _noValue: Object? { nil }
    public static var _optionalType: _PropertyType {
        var type = _PropertyType(.link)
        type.isOptional = true
        type.linked = self
        return type
    }
    // What is written is of the property's class, which is `Self` here.
    public static func _readOptional(_ storage: inout Object?) -> Self? { storage.map { unsafeDowncast($0, to: self) } }
    public static func _writeOptional(_ storage: inout Object?, _ value: Object?) { storage = value }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Self? {
        object._binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { binding in
            guard let key = binding.number(object._key, index) else { return nil }
            return binding.space.materialise(self, binding.target(index), key)
        }
    }
    public static func _setOptional(_ object: Object, _ index: UInt32, _ value: Object?) {
        guard let value else { return object._setNull(index) }
        object._binding.unsafelyUnwrapped.takeUnretainedValue().setLink(object._key, index, to: value)
    }
    /// A key path that continues from here leads to a property of the other class, which the tracer records, too.
    public static func _tracedOptional(_ tracer: _Tracer) -> Self? {
        (try? ClassInfo.of(self)).map { KeyPaths.prototype(self, $0, tracer) }
    }
    public static func _convertOptional(_ value: Any) -> Self? {
        guard let object = instance(value, of: Object.self), type(of: object) == self else { return nil }
        return unsafeDowncast(object, to: self)
    }
    public static func _encodeOptional(_ value: Object?, _ encoder: _RowEncoder) { encoder.append(value) }
    public static func _takeReferences(_ storage: inout Object?, _ references: _References) {
        if let object = storage { references.add(object) }
        storage = nil
    }
}

extension ClassBinding {
    /// An unmanaged object is added first, with all that it leads to.
    fileprivate func setLink(_ key: Int64, _ index: UInt32, to value: Object) {
        guard value._binding == nil, !space.isFrozen, space.handle.isWriting else {
            // Setting null reports why it cannot.
            guard let target = value._binding?.takeUnretainedValue() else { return set(key, index, .null) }
            return set(key, index, .link(target.id(value._key)))
        }
        do throws(ObjStoreError) {
            let view = try space.handle.writing("a link")
            guard exists(key) else { throw gone(key) }
            if value is EmbeddedObject {
                return try ObjectGraph.embed(
                    [(value, .null)], in: id(key), self, info.properties[Int(index)], view)
            }
            try ObjectGraph.add(value, space, view, .error)
        } catch {
            return report(error)
        }
        if let target = value._binding?.takeUnretainedValue() { set(key, index, .link(target.id(value._key))) }
    }
}

/// The objects whose link leads to an object: the inverse of the link, always up to date.
///
/// ```swift
/// final class Person: Object {
///     @Persisted var name = ""
///     @Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>
/// }
/// ```
/// Of a property of any value, or a collection of them, those that have a link to the object anywhere inside.
/// In the order of their creation; live like ``Results``, and as they are for `count`, `first` and subscripts. Of an
/// unmanaged object it is empty, and a subscript gives an unmanaged object and reports `.outOfRange`. It cannot be set:
/// set the link of the other object.
public struct LinkingObjects<Element: Object>: Sendable {
    /// Nil: of an unmanaged object.
    let found: Results<Element>?

    init() { found = nil }
    init(_ found: Results<Element>) { self.found = found }

    /// Do they permanently show one version?
    public var isFrozen: Bool { found?.isFrozen ?? false }
    /// Was their store closed, or invalidated? Those of a deleted object are empty.
    public var isInvalidated: Bool { found?.isInvalidated ?? false }

    /// The same as results, to be observed or frozen. Errors: `.wrongView`: the object is unmanaged.
    public func results() throws(ObjStoreError) -> Results<Element> {
        guard let found else {
            throw ObjStoreError(
                .wrongView, "an unmanaged object is in no store: nothing links to it",
                class: ClassInfo.name(of: Element.self))
        }
        return found
    }
}

extension LinkingObjects: LiveCollection {
    public var first: Element? { found?.first }

    /// O(log n).
    public var _count: Int { found?._count ?? 0 }
    public func _element(at index: Int) -> Element {
        if let found { return found._element(at: index) }
        ErrorReports.reportOfNoStore(
            ObjStoreError(
                .outOfRange, "index \(index) of 0 objects: nothing links to an unmanaged object",
                class: ClassInfo.name(of: Element.self)))
        return Element()
    }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> { found?._pinned(bounds) ?? Pinned([]) }
    public func _walking<R>(_ body: (inout _Walk<Element>) -> R) -> R {
        if let found { return found._walking(body) }
        var walk = _Walk<Element>()
        return body(&walk)
    }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) {
        if let found { return found._reportOutOfRange(range, count) }
        ErrorReports.reportOfNoStore(
            ObjStoreError(
                .outOfRange, "\(range) of 0 objects: nothing links to an unmanaged object",
                class: ClassInfo.name(of: Element.self)))
    }
    /// Walks the objects that are there now.
    public func makeIterator() -> Results<Element>.Iterator { found?.makeIterator() ?? .nothing }
}

/// What generic code sees; see ``LiveCollection``.
extension LinkingObjects {
    @_disfavoredOverload public var startIndex: Int { walkStart }
    @_disfavoredOverload public var endIndex: Int { walkEnd }
    @_disfavoredOverload public var count: Int { walkCount }
    @_disfavoredOverload public var isEmpty: Bool { walkCount == 0 }
    @_disfavoredOverload public var indices: Range<Int> { 0..<walkCount }
    @_disfavoredOverload public subscript(index: Int) -> Element { walkElement(index) }
    @_disfavoredOverload public subscript(bounds: Range<Int>) -> Pinned<Element> { walkSlice(bounds) }
    @_disfavoredOverload public func index(after index: Int) -> Int { walkNext(index) }
    @_disfavoredOverload public func index(before index: Int) -> Int { walk(to: index.moved(by: -1), from: index) }
    @_disfavoredOverload public func formIndex(after index: inout Int) { index = walkNext(index) }
    @_disfavoredOverload public func formIndex(before index: inout Int) {
        index = walk(to: index.moved(by: -1), from: index)
    }
    @_disfavoredOverload public func index(_ index: Int, offsetBy distance: Int) -> Int {
        walk(to: index.moved(by: distance), from: index)
    }
    @_disfavoredOverload public func index(_ index: Int, offsetBy distance: Int, limitedBy limit: Int) -> Int? {
        walk(to: Self.index(index, distance, limit), from: index)
    }
    @_disfavoredOverload public func distance(from start: Int, to end: Int) -> Int { end.distance(from: start) }
}

extension LinkingObjects: Persistable {
    public typealias _Storage = String?
    public static var _initial: String? { nil }
    public static var _type: _PropertyType {
        var type = _PropertyType(.null)
        type.linked = Element.self
        type.isInverse = true
        return type
    }
    public static func _originProperty(_ object: Object, _ offset: Int) -> String? {
        wrapper(object, offset).pointee.value
    }
    public static func _read(_ storage: inout String?) -> LinkingObjects { LinkingObjects() }
    public static func _write(_ storage: inout String?, _ value: LinkingObjects) {}
    public static func _get(_ object: Object, _ index: UInt32) -> LinkingObjects {
        object._binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { binding in
            let origin = binding.origins[Int(index) - binding.info.properties.count], id = binding.id(object._key)
            let space = binding.space
            return LinkingObjects(
                Results(space) { () throws(ObjStoreError) in
                    let other = try space.binding(Element.self), property = other.properties[Int(origin.property)]
                    return try core { () throws(StoreError) in
                        try ObjStoreCore.Query(other.classID, property, .equal, .link(id), isInside: true)
                    }
                })
        }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: LinkingObjects) {
        let binding = object._binding.unsafelyUnwrapped.takeUnretainedValue()
        binding.report(
            StoreError(
                .invalidArgument,
                "\(binding.path(index)) cannot be set: it is what links lead here, and these can be set"), index)
    }
    public static func _traced(_ tracer: _Tracer) -> LinkingObjects { LinkingObjects() }
    public static func _encode(_ value: LinkingObjects, _ encoder: _RowEncoder) { encoder.append(.null) }
}

extension Object: _SingleElement {
    public static var _elementType: _PropertyType {
        var type = _PropertyType(.link)
        type.linked = self
        return type
    }
    public static var _emptyElement: Self { self.init() }
    public static func _element(_ value: _StoredValue) -> Self? {
        guard value.value.kind == .link, let target = value.target else { return nil }
        return target.space.materialise(self, target, value.value.low)
    }
    public static func _convertElement(_ value: Any?) -> Self? { value.flatMap { _convertOptional($0) } }
    public static func _encodeElement(_ value: Object, _ encoder: _RowEncoder) { encoder.append(value) }
    public static func _linked(_ value: Object) -> Object? { value }
}
