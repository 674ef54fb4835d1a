public import ObjStore

// Projections as Realm has them: what throws in ObjStore and does not in Realm.

extension Realm {
    /// All objects of a class, each shown by a projection.
    public func objects<P: ProjectionType>(_ type: P.Type) -> ProjectedResults<P> { store.objects(type) }
}

extension ProjectedResults {
    /// See `filter` of `Results`: `.filter("firstName == %@", "Jason")`, by the names of the class.
    public func filter(_ predicate: String, _ arguments: Any...) -> ProjectedResults {
        filtered(Predicate.text(predicate), arguments: arguments)
    }

    /// In the order of a property of the class by its name, also of one behind links: `"owner.name"`.
    public func sorted(byKeyPath keyPath: String, ascending: Bool = true) -> ProjectedResults {
        sorted(by: [SortKey(keyPath, ascending: ascending)])
    }
    public func sorted(by descriptors: [SortDescriptor]) -> ProjectedResults {
        sorted(by: descriptors.map { SortKey($0.keyPath, ascending: $0.ascending) })
    }

    public func thaw() -> ProjectedResults? { reporting(nil) { try thawed() } }

    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (ProjectedChangeSet<Element>) throws -> Void
    ) -> NotificationToken {
        reporting(NotificationToken()) { try observing(keyPaths, handler) }
    }
    public func observe(
        keyPaths: [PartialKeyPath<Element>],
        _ handler: @escaping @Sendable (ProjectedChangeSet<Element>) throws -> Void
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

extension ProjectionType {
    public func thaw() -> Self? { reporting(nil) { try thawed() } }

    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) -> NotificationToken {
        reporting(NotificationToken()) { try observing(keyPaths, handler) }
    }
    public func observe(
        keyPaths: [PartialKeyPath<Self>], _ handler: @escaping @Sendable (ObjectChange<Self>) throws -> Void
    ) -> NotificationToken {
        reporting(NotificationToken()) { try observing(keyPaths, handler) }
    }

    private func reporting<T>(_ none: @autoclosure () -> T, _ body: () throws -> T) -> T {
        do { return try body() } catch {
            rootObject.report(error)
            return none()
        }
    }
}
