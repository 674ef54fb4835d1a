/// The observers of a hub, in the order in which they began; one leaves at the same cost however many there are.
///
/// One that leaves makes a hole; the holes are closed when there are as many of them as observers.
struct ObserverList {
    private var places: [Observer?] = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }
    var all: [Observer] { places.compactMap { $0 } }

    func contains(where isWanted: (Observer) -> Bool) -> Bool { places.contains { $0.map(isWanted) ?? false } }

    /// The least of what some of them have.
    func least(_ value: (Observer) -> Int64?) -> Int64? {
        var least: Int64?
        for case let observer? in places {
            if let value = value(observer), value < least ?? .max { least = value }
        }
        return least
    }

    mutating func append(_ observer: Observer) {
        observer.place = places.count
        places.append(observer)
        count += 1
    }

    mutating func remove(_ observer: Observer) {
        // One whose hub was closed while it was made never came in.
        guard let place = observer.place else { return }
        observer.place = nil
        places[place] = nil
        count -= 1
        guard places.count > 2 * count else { return }
        places = all
        for (place, observer) in places.enumerated() { observer!.place = place }
    }
}
