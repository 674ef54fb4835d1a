/// How an observer wants to be told.
package struct ObserverOptions: Sendable {
    /// A first change set, empty, of the newest version at its delivery.
    package var isInitial: Bool
    /// Which modifications: names of properties with a dot between, see `ObservedPath`. Nil: of a query all, up to four
    /// links away, of an object its own.
    package var keyPaths: [String]?

    /// Change sets say where objects stand, for 8 bytes an object; a query with an order always does.
    package var hasPositions: Bool

    /// It is told nothing before it goes on.
    package var isPaused: Bool

    package init(
        initial: Bool = false, keyPaths: [String]? = nil, hasPositions: Bool = true, paused: Bool = false
    ) {
        isInitial = initial
        isPaused = paused
        self.hasPositions = hasPositions
        self.keyPaths = keyPaths
    }
}
