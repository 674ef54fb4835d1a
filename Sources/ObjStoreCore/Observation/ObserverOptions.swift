/// How an observer wants to be told.
package struct ObserverOptions: Sendable {
    /// A first change set, empty, of the newest version at its delivery.
    package var isInitial: Bool
    /// Which modifications: names of properties with a dot between, see `ObservedPath`. Nil: of a query all, up to four
    /// links away, of an object its own.
    package var keyPaths: [String]?

    package init(initial: Bool = false, keyPaths: [String]? = nil) {
        isInitial = initial
        self.keyPaths = keyPaths
    }
}
