public import ObjStore

// What throws in ObjStore and does not in Realm. The compiler prefers these where both are seen.

extension SectionedResults {
    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) -> NotificationToken { reporting { try observing(keyPaths, handler) } }
    public func observe(
        keyPaths: [PartialKeyPath<SectionElement>],
        _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) -> NotificationToken { reporting { try observing(keyPaths, handler) } }
}

extension ResultsSection {
    /// See `observe` of ObjStore. Where it cannot, nothing is observed.
    public func observe(
        keyPaths: [String]? = nil, _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) -> NotificationToken { reporting { try observing(keyPaths, handler) } }
    public func observe(
        keyPaths: [PartialKeyPath<SectionElement>],
        _ handler: @escaping @Sendable (SectionChangeSet<Key, SectionElement>) throws -> Void
    ) -> NotificationToken { reporting { try observing(keyPaths, handler) } }
}

extension ResultsSection {
    private func reporting(_ body: () throws -> NotificationToken) -> NotificationToken {
        do { return try body() } catch {
            report(error)
            return NotificationToken()
        }
    }
}

extension SectionedResults {
    private func reporting(_ body: () throws -> NotificationToken) -> NotificationToken {
        do { return try body() } catch {
            report(error)
            return NotificationToken()
        }
    }
}
