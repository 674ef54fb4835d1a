internal import CRuntime
internal import ObjStoreCore
internal import Synchronization

/// What managed objects live in: one view of a store, live or frozen, with the model classes as it has them.
///
/// ```
///  Object ──owns──► ObjectSpace ──► StoreHandle (the store, its models, the transaction that is open)
///     └──binding──► ClassBinding    View        (live or frozen)
/// ```
/// The live space shows the transaction to the thread that writes, the live view to every other.
@usableFromInline
final class ObjectSpace: @unchecked Sendable {
    let handle: StoreHandle
    let isFrozen: Bool
    let view: View
    /// In the order of the handle's models.
    private(set) var bindings: [ClassBinding] = []
    private let invalidated = Atomic(false)

    init(_ handle: StoreHandle, _ view: View, isFrozen: Bool) {
        self.handle = handle
        self.view = view
        self.isFrozen = isFrozen
        if !isFrozen { follow() }
        bindings = handle.models.indices.map { ClassBinding(self, handle.models[$0], position: $0) }
    }

    deinit { if !isFrozen { handle.isGoing(self) } }

    /// Moves where changes are delivered, or not, as the store is told. Of a live space.
    func follow() {
        // A view that is closed, or a transaction's, does not move.
        if view.kind == .live { try? view.setAutorefresh(handle.autorefresh.load(ordering: .relaxed)) }
    }

    /// What this thread sees here.
    @inline(__always)
    var current: View {
        if _fastPath(isFrozen || !handle.isWriting) || isInvalidated { return view }
        return handle.transaction ?? view
    }

    /// Its objects are of no use any more, though the store is open.
    var isInvalidated: Bool { invalidated.load(ordering: .acquiring) }

    /// Waits for reads of other threads.
    func invalidate() {
        invalidated.store(true, ordering: .releasing)
        view.close()
    }

    func binding(_ type: Object.Type) throws(ObjStoreError) -> ClassBinding {
        guard let position = handle.positions[ObjectIdentifier(type)] else {
            let name = ClassInfo.name(of: type)
            throw ObjStoreError(
                .noSuchClass, "class \(name) is not among the models that the store was opened with", class: name)
        }
        return bindings[position]
    }

    /// The object for a stored row.
    @inline(__always)
    func materialise<T: Object>(_ type: T.Type, _ binding: ClassBinding, _ key: Int64) -> T {
        let object: T
        if binding.skipsDefaults {
            let mode = cr_set_defaults(Int32(CR_DEFAULTS_SKIPPED))
            object = type.init()
            _ = cr_set_defaults(mode)
        } else {
            object = type.init()
        }
        attach(object, binding, key)
        let base = Unmanaged.passUnretained(object).toOpaque()
        let offsets = binding.indexOffsets
        for index in 0..<offsets.count {
            (base + offsets[index]).storeBytes(of: UInt32(truncatingIfNeeded: index), as: UInt32.self)
        }
        return object
    }

    /// An object that is nowhere.
    func invalid<T: Object>() -> T {
        guard let binding = try? binding(T.self) else { return T() }
        return materialise(T.self, binding, -1)
    }

    /// An unmanaged object, whose values were written, becomes the row's.
    func adopt(_ object: Object, _ binding: ClassBinding, _ key: Int64) {
        attach(object, binding, key)
        for property in binding.info.properties { property.accessor._bind(object, property.offset, property.index) }
        for inverse in binding.info.inverses { inverse.accessor._bind(object, inverse.offset, inverse.index) }
    }

    @inline(__always)
    private func attach(_ object: Object, _ binding: ClassBinding, _ key: Int64) {
        object._space = self
        object._binding = .passUnretained(binding)
        object._key = key
    }

    /// What the live view shows now, frozen.
    func freeze() throws(ObjStoreError) -> ObjectSpace {
        if isFrozen { return self }
        if handle.isWriting {
            throw ObjStoreError(.wrongView, "not inside a write: what it sees may never be committed")
        }
        return ObjectSpace(handle, try core { () throws(StoreError) in try view.freeze() }, isFrozen: true)
    }

    var invalidatedError: StoreError {
        StoreError(.closedHandle, "the store was invalidated since the object was found: it has to be found again")
    }

    /// Do objects of one key look the same in both?
    func shows(_ other: ObjectSpace) -> Bool {
        if self === other { return true }
        guard isFrozen == other.isFrozen, handle.sharesStore(with: other.handle) else { return false }
        guard isFrozen else { return true }
        guard let version = try? view.version(), let otherVersion = try? other.view.version() else { return false }
        return version == otherVersion
    }
}

/// A model class in one space: what a managed object needs to reach its values.
@usableFromInline
final class ClassBinding {
    /// Owns this object.
    unowned(unsafe) let space: ObjectSpace
    let info: ClassInfo
    let position: Int
    let classID: UInt32
    let indexOffsets: UnsafeBufferPointer<Int>
    let skipsDefaults: Bool
    private let storeTag: UInt32
    private let isFrozen: Bool
    private let handle: Unmanaged<StoreHandle>
    /// Property ids by index; the handle's.
    let properties: UnsafePointer<UInt32>
    private var ids: UnsafeBufferPointer<UInt32> {
        UnsafeBufferPointer(start: properties, count: info.properties.count)
    }

    /// By index of a link: the position of the model that it leads to; the handle's.
    private let targets: UnsafePointer<Int>
    /// The question for all objects.
    let all: ObjStoreCore.Query
    /// Where the inverses are found; see `StoreHandle.Model`.
    let origins: [StoreHandle.Origin]

    /// Of the space's view; nil where that could not be read, and why.
    private let reader: ClassReader?
    /// The same, used without counting references.
    private let fastReader: Unmanaged<ClassReader>?
    private let readerError: StoreError?
    // Of the transaction with that number; only its thread looks.
    private var transactionReader: ClassReader?
    private var transactionNumber: UInt64 = 0

    init(_ space: ObjectSpace, _ model: StoreHandle.Model, position: Int) {
        self.space = space
        self.position = position
        info = model.info
        classID = model.classID
        all = ObjStoreCore.Query(all: model.classID)
        indexOffsets = model.info.indexOffsets
        skipsDefaults = model.info.skipsDefaults
        storeTag = space.handle.tag
        isFrozen = space.isFrozen
        handle = .passUnretained(space.handle)
        properties = model.properties
        targets = model.targets
        origins = model.origins
        var failure: StoreError?
        do throws(StoreError) {
            reader = try ClassReader(
                space.view, classID, UnsafeBufferPointer(start: properties, count: info.properties.count))
        } catch {
            reader = nil
            failure = error
        }
        readerError = failure
        fastReader = reader.map { .passUnretained($0) }
    }

    @inline(__always)
    func id(_ key: Int64) -> ObjectID { ObjectID(classID: classID, storeTag: storeTag, key: key) }

    /// Never reports: what cannot be reached is not there.
    func exists(_ key: Int64) -> Bool { (try? currentReader().takeUnretainedValue().exists(key)) ?? false }

    func gone(_ key: Int64) -> ObjStoreError {
        do throws(StoreError) { _ = try currentReader().takeUnretainedValue().exists(key) } catch {
            return ObjStoreError(error)
        }
        return ObjStoreError(
            .noSuchObject, "the object \(info.name)#\(key) was deleted or never existed", class: info.name)
    }

    // MARK: Reading

    /// Of what this thread sees here: the space's view, or the transaction.
    @inline(__always)
    private func currentReader() throws(StoreError) -> Unmanaged<ClassReader> {
        if _fastPath(isFrozen || !handle._withUnsafeGuaranteedRef { $0.isWriting }), let fastReader {
            return fastReader
        }
        return .passUnretained(try findReader())
    }

    @inline(never)
    private func findReader() throws(StoreError) -> ClassReader {
        if space.isInvalidated { throw space.invalidatedError }
        guard !space.isFrozen, space.handle.isWriting, let transaction = space.handle.transaction else {
            throw readerError ?? StoreError(.internalError, "class \(info.name) cannot be read")
        }
        if let transactionReader, transactionNumber == space.handle.transactionNumber { return transactionReader }
        let new = try ClassReader(transaction, classID, ids)
        transactionReader = new
        transactionNumber = space.handle.transactionNumber
        return new
    }

    /// Reads, and reports where that fails.
    @inline(__always)
    private func reading<T>(_ index: UInt32, _ none: T, _ body: (ClassReader) throws(StoreError) -> T) -> T {
        var failure: StoreError?
        var result = none
        do throws(StoreError) {
            try currentReader()._withUnsafeGuaranteedRef { reader in
                do throws(StoreError) { result = try body(reader) } catch { failure = error }
            }
        } catch {
            failure = error
        }
        if _slowPath(failure != nil), let failure { report(failure, index) }
        return result
    }

    /// An int, a bool or the bits of a float or double; nil where it is null or cannot be read, which is reported.
    @inline(__always)
    func number(_ key: Int64, _ index: UInt32) -> Int64? {
        reading(index, nil) { (reader) throws(StoreError) in try reader.number(key, Int(index)) }
    }

    /// The position of the model that a link, or the elements of a collection, lead to; -1: they are no links.
    func target(of index: Int) -> Int { targets[index] }

    /// The binding of the class that a link leads to.
    @inline(__always)
    func target(_ index: UInt32) -> ClassBinding { space.bindings[targets[Int(index)]] }

    /// Any value but text; null where it cannot be read, which is reported.
    func value(_ key: Int64, _ index: UInt32) -> Value {
        reading(index, .null) { (reader) throws(StoreError) in try reader.value(key, Int(index)) }
    }

    /// Calls `body` with a text or binary unless it is null or cannot be read, which is reported.
    @inline(__always)
    func bytes(_ key: Int64, _ index: UInt32, _ body: (UnsafeRawBufferPointer) -> Void) {
        reading(index, ()) { (reader) throws(StoreError) in _ = try reader.bytes(key, Int(index), body) }
    }

    // MARK: Writing

    func set(_ key: Int64, _ index: UInt32, _ value: Value) {
        do throws(StoreError) {
            guard !space.isFrozen else {
                throw named(StoreError(.wrongView, "\(path(index)) cannot be set: the object is frozen"), index)
            }
            if space.isInvalidated { throw named(space.invalidatedError, index) }
            guard space.handle.isWriting else {
                throw named(space.handle.notInWrite("\(path(index)) cannot be set outside a write"), index)
            }
            try space.current.set(id(key), properties[Int(index)], value)
        } catch {
            report(error, index)
        }
    }

    // MARK: Errors

    /// Of a property or an inverse.
    private func name(_ index: UInt32) -> String {
        Int(index) < info.properties.count
            ? info.properties[Int(index)].name : info.inverses[Int(index) - info.properties.count].name
    }

    func path(_ index: UInt32) -> String { "\(info.name).\(name(index))" }

    private func named(_ error: StoreError, _ index: UInt32) -> StoreError {
        error.at(class: info.name, property: name(index))
    }

    /// Why a value of a row is refused, with the name of its property.
    func named(_ refusal: ObjStoreError, _ propertyID: UInt32) -> ObjStoreError {
        guard let property = info.properties.first(where: { properties[Int($0.index)] == propertyID }) else {
            return refusal
        }
        return ObjStoreError(
            refusal.code, "\(info.name).\(property.name): \(refusal.message)", class: info.name, property: property.name
        )
    }

    @inline(never)
    func report(_ error: StoreError, _ index: UInt32) {
        space.handle.reports.report(ObjStoreError(named(error, index)))
    }

    /// What a property cannot do for a reason of this layer.
    func report(_ error: ObjStoreError) { space.handle.reports.report(error) }
}

/// What properties of managed objects do.
extension Object {
    @inline(__always)
    private var binding: ClassBinding { _binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0 } }

    @usableFromInline
    final func _number(_ index: UInt32) -> Int64 {
        _binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.number(_key, index) ?? 0 }
    }

    @usableFromInline
    final func _optionalNumber(_ index: UInt32) -> Int64? {
        _binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.number(_key, index) }
    }

    /// Any value but text; nil = null.
    final func _value(_ index: UInt32) -> Value? {
        let value = _binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.value(_key, index) }
        return value.isNull ? nil : value
    }

    final func _timestamp(_ index: UInt32) -> Timestamp? {
        _value(index).map { value in Timestamp(seconds: value.low, nanoseconds: Int32(truncatingIfNeeded: value.high)) }
    }

    final func _text(_ index: UInt32) -> String? {
        var text: String?
        _binding.unsafelyUnwrapped._withUnsafeGuaranteedRef {
            $0.bytes(_key, index) { text = String(decoding: $0, as: UTF8.self) }
        }
        return text
    }

    final func _bytes(_ index: UInt32) -> [UInt8]? {
        var bytes: [UInt8]?
        _binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.bytes(_key, index) { bytes = [UInt8]($0) } }
        return bytes
    }

    final func _set(_ index: UInt32, _ value: Value) {
        _binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { $0.set(_key, index, value) }
    }
    @usableFromInline final func _setInt(_ index: UInt32, _ value: Int64) { _set(index, .int(value)) }
    /// Reports why a property cannot have a value.
    final func _refuse(_ refusal: StoreError, _ index: UInt32) {
        let binding = binding
        binding.report(StoreError(refusal.code, "\(binding.path(index)): \(refusal.message)"), index)
    }
    @usableFromInline final func _setNull(_ index: UInt32) { _set(index, .null) }

    @usableFromInline
    final func _reportOutOfRange(_ index: UInt32, _ value: Any, _ type: String) {
        binding.report(
            StoreError(.outOfRange, "\(binding.path(index)) is \(value) in the store, which is no \(type)"), index)
    }

    final func _reportUnsupported(_ index: UInt32) {
        binding.report(
            StoreError(
                .notSupported, "\(binding.path(index)): properties of this kind are not supported by this version"),
            index)
    }
}
