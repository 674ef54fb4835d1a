/// Finds the observers of a hub that ask the same, which then have one answer in common.
struct EqualObservers {
    /// By a hash of what is asked.
    private var groups: [Int: ObserverGroup] = [:]

    mutating func join(_ observer: Observer) {
        guard let hash = observer.hashOfQuestion else { return }
        if let other = groups[hash]?.first(where: { $0.asksTheSame(as: observer) }) {
            let group = other.group ?? SharedAnswer()
            (other.group, observer.group) = (group, group)
        }
        groups[hash].change(observer, comes: true)
    }

    mutating func leave(_ observer: Observer) {
        if let hash = observer.hashOfQuestion { groups[hash].change(observer, comes: false) }
    }
}

extension Observer {
    /// Nil: there is no answer that could be shared, or functions give it, which need not be the same for two.
    fileprivate var hashOfQuestion: Int? {
        guard hasPositions, scope.key == nil, scope.sections == nil, !scope.query.callsFunctions else { return nil }
        if let rows = scope.rows { return rows.questionHash }
        if case .collection = scope.way { return nil }
        return scope.query.questionHash
    }

    fileprivate func asksTheSame(as other: Observer) -> Bool {
        switch (scope.rows, other.scope.rows) {
        case (nil, nil): keyPaths == other.keyPaths && scope.query.asksTheSame(as: other.scope.query)
        case (let mine?, let others?): mine.asksTheSame(as: others)
        default: false
        }
    }
}
