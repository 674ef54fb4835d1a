/// The plain values that a query found, with the query: they do not change until they are updated, whatever is written.
/// Any thread.
package final class ValueResults: @unchecked Sendable {
    package let view: View
    package let query: ValueQuery
    private let lock = Lock()
    /// Replaced as a whole, never changed.
    private var found: FoundValues
    /// The view that they were found in.
    private var version: UInt64

    package init(_ view: View, _ query: ValueQuery) throws(StoreError) {
        self.view = view
        self.query = query
        (found, version) = try view.findWithVersion(query)
    }

    /// Found in the version that the view shows.
    init(_ view: View, _ query: ValueQuery, _ found: FoundValues) {
        (self.view, self.query, self.found) = (view, query, found)
        version = view.snapshot?.version ?? 0
    }

    /// As they are now; later updates do not change them.
    package func values() -> FoundValues { lock.withLock { found } }

    /// Runs the query again in the view as it is now; returns whether anything is different. What was lent before is
    /// gone then.
    package func update() throws(StoreError) -> Bool {
        let (new, version) = try view.findWithVersion(query)
        return lock.withLock {
            // Another call has come before with what is newer.
            if version < self.version { return false }
            self.version = version
            if new.isSame(as: found) { return false }
            found = new
            return true
        }
    }

    package func aggregate(_ aggregate: AggregateKind) throws(StoreError) -> Value {
        try query.aggregate(aggregate, of: values())
    }
}
