internal import ObjStoreCore

/// The base of model classes whose objects lie in one property of one other object, their parent, and go with it.
///
/// ```swift
/// final class Address: EmbeddedObject {
///     @Persisted var street: String?
///     @Persisted var city = ""
/// }
/// final class Person: Object {
///     @Persisted var address: Address?            // or List<Address>, Map<String, Address?>
/// }
/// try store.write { _ in person.address?.city = "Rome" }
/// ```
/// One is made where an unmanaged one is put into a property of a managed object, or of an object that is added. It is
/// deleted when it loses its place (the property is set to nil or to another one, the element removed) and with its
/// parent. It never has a second place: giving one of a store to a property is `.embedded`, as is adding one alone. It
/// has no primary key.
nonisolated open class EmbeddedObject: Object {
    public required init() { super.init() }

    /// The object that it lies in; nil: it is unmanaged. Cost: O(log n) for each property that leads to its class.
    ///
    /// What fails is reported as for properties: the object was deleted, or its parent's class is not among the models.
    public final var parent: Object? { _binding?.takeUnretainedValue().parent(of: _key) }
}

/// What happens to the objects that a link, or a collection of links, leads to when the object that has it is deleted.
public enum DeletionRule: Sendable, Hashable {
    /// They stay.
    case nothing
    /// They are deleted, too, and what their own cascading links lead to; also where others link to them. A loss of the
    /// link alone deletes nothing.
    case cascade
}

extension ClassBinding {
    fileprivate func parent(of key: Int64) -> Object? {
        do throws(StoreError) {
            guard let parent = try space.current.parent(of: id(key)) else { return nil }
            guard let owner = space.bindings.first(where: { $0.classID == parent.object.classID }) else {
                throw StoreError(.noSuchClass, "the class of a parent of \(info.name)#\(key) is not among the models")
                    .at(class: info.name)
            }
            return space.materialise(owner.info.type, owner, parent.object.key)
        } catch {
            report(ObjStoreError(error))
            return nil
        }
    }
}
