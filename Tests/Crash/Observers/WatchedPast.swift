import ObjStoreCore

/// What was committed so far, by whichever process: the content of each version that a reader may know, and what was
/// written between two of them.
struct WatchedPast {
    struct Commit {
        let version: UInt64
        let content: WatchedContent
        /// The process that has made it.
        let actor: Int
        var writes: Set<WatchedContent.Write> = []
        /// Numbers of readers that are not told of it.
        var silenced: Set<Int> = []
        /// The log may not say what was written before it.
        var isRough = false
    }

    private var commits: [Commit] = []
    /// The newest version when the store was opened, with nobody else: which versions before were checkpoints is not
    /// known any more.
    var openedAt: UInt64 = 0

    var newest: WatchedContent { commits.last!.content }
    var newestVersion: UInt64 { commits.last?.version ?? 0 }

    mutating func append(_ commit: Commit) { commits.append(commit) }

    /// Nobody knows an older version than this one.
    mutating func forget(before version: UInt64) {
        while commits.count > 1, commits[1].version <= version { commits.removeFirst() }
    }

    /// Checkpoints have versions, too, with the content of the one before.
    func content(at version: UInt64) -> WatchedContent { commits.last { $0.version <= version }!.content }

    /// Whether a process other than this one has committed something between two versions.
    func hasOthers(than actor: Int, from before: UInt64, to after: UInt64) -> Bool {
        commits.contains { $0.version > before && $0.version <= after && $0.actor != actor }
    }

    /// - Parameter reader: who is not told of what was silent.
    func step(from before: UInt64, to after: UInt64, of reader: WatchedReader) -> WatchedStep {
        let between = commits.filter { $0.version > before && $0.version <= after }
        let told = between.filter { !$0.silenced.contains(reader.number) }
        let step = WatchedStep(content(at: before), content(at: after))
        step.writes = told.reduce(into: []) { $0.formUnion($1.writes) }
        step.hasCommits = !told.isEmpty
        step.isPartlySilent = told.count < between.count
        step.isReopened = before <= openedAt
        step.isRough = between.contains { $0.isRough }
        return step
    }
}

/// What happened between two versions, as far as a reader is to be told of it: which objects count as modified, and in
/// which properties, by plain loops along the links.
final class WatchedStep {
    typealias Place = WatchedContent.Place
    typealias Key = WatchedContent.Key
    typealias Write = WatchedContent.Write

    let before: WatchedContent, after: WatchedContent
    var writes: Set<Write> = [] {
        didSet { written = Dictionary(grouping: writes) { $0.place }.mapValues { Set($0.map(\.property)) } }
    }
    private var written: [Place: Set<String>] = [:]
    var hasCommits = false, isPartlySilent = false, isRough = false
    /// It begins before the store was opened: who compares versions takes checkpoints for commits of others.
    var isReopened = false

    init(_ before: WatchedContent, _ after: WatchedContent) { (self.before, self.after) = (before, after) }

    var hasOtherSchema: Bool { before.schema != after.schema }

    /// The same with nothing but what differs: what two versions say when they are compared.
    private(set) lazy var real: WatchedStep = {
        let step = WatchedStep(before, after)
        var writes: Set<Write> = []
        for (place, was) in before.things {
            guard let now = after.things[place], was != now else { continue }
            func wrote(_ property: String, _ differs: Bool) {
                if differs { writes.insert(Write(place: place, property: property)) }
            }
            wrote("number", was.number != now.number)
            // Of another kind it is another property, which had its default before.
            let isSame = place.kind != .item || before.schema.lives["mark"] == after.schema.lives["mark"]
            wrote("mark", isSame ? was.mark != now.mark : after.schema.areMarksTexts || now.mark != 0)
            wrote("tag", was.tag != now.tag)
            wrote("part", was.part != now.part)
            wrote("items", was.items != now.items)
            wrote("crew", was.crew != now.crew && before.schema.lives["crew"] == after.schema.lives["crew"])
            wrote("notes", was.notes != now.notes && before.schema.lives["notes"] == after.schema.lives["notes"])
            wrote("named", was.named != now.named)
            wrote("scores", was.scores != now.scores)
            wrote("levels", was.levels != now.levels)
            wrote("labels", was.labels != now.labels)
            wrote("weight", was.weight != now.weight)
            wrote("price", was.price != now.price)
            for name in Set(was.named.keys).union(now.named.keys) {
                wrote("named/" + name, was.named[name] != now.named[name])
            }
        }
        step.writes = writes
        return step
    }()

    /// Whether something was written in an object that is there before and after; nil: whatever.
    func isWritten(_ place: Place, _ property: String?) -> Bool {
        guard let properties = written[place], before.things[place] != nil, after.things[place] != nil else {
            return false
        }
        return property.map { properties.contains($0) } ?? true
    }

    /// With a change inside of what is embedded.
    private func isWrittenAsWhole(_ place: Place, _ property: String) -> Bool {
        isWritten(place, property)
            || property == "part" && after.targets(place, property).contains { isWritten($0, nil) }
    }

    // MARK: Behind links

    /// How many links lead at least from an object to one in which something was written; what is embedded is as far
    /// away as what it lies in. As far as four.
    private lazy var distances: [Place: Int] = {
        var distances: [Place: Int] = [:]
        for place in after.things.keys
        where place.kind.properties.contains(where: { isWrittenAsWhole(place, $0) }) { distances[place] = 0 }
        for distance in 1...4 {
            for place in after.things.keys where distances[place] == nil {
                let isNear = place.kind.links.contains { property in
                    property != "part" && after.targets(place, property).contains { distances[$0] == distance - 1 }
                }
                if isNear { distances[place] = distance }
            }
        }
        return distances
    }()

    private func isTold(_ path: ArraySlice<String>, _ place: Place) -> Bool {
        let first = path.first!, rest = path.dropFirst()
        if first == "*" { return isWritten(place, nil) }
        if first == "@links" {
            // Items that lead here, or did, or whose way has changed.
            let further = rest.dropFirst(2)
            for item in Set(after.things.keys).union(before.things.keys) where item.kind == .item {
                let led = before.things[item]?.tag == place.key, leads = after.things[item]?.tag == place.key
                let isThroughout = after.things[item] != nil && before.things[item] != nil
                if (led || leads) && (!isThroughout || isWritten(item, "tag")) { return true }
                if leads && !further.isEmpty && isTold(further, item) { return true }
            }
            return false
        }
        if rest.isEmpty { return isWrittenAsWhole(place, first) }
        if isWritten(place, first) { return true }
        return after.targets(place, first).contains { isTold(rest, $0) }
    }

    /// The properties that an object counts as modified in; nil: not at all.
    func modified(_ place: Place, _ kind: WatchedKind) -> Set<String>? {
        guard before.things[place] != nil, after.things[place] != nil else { return nil }
        var names = Set(place.kind.properties.filter { isWrittenAsWhole(place, $0) })
        if let paths = kind.paths {
            var isIncluded = false
            for path in paths.map({ $0.split(separator: ".").map(String.init) }) {
                guard isTold(path[...], place) else { continue }
                isIncluded = true
                if path.count > 1, place.kind.links.contains(path[0]) { names.insert(path[0]) }
            }
            return isIncluded ? names : nil
        }
        if !kind.isObject {
            for property in place.kind.links
            where after.targets(place, property).contains(where: { distances[$0].map { $0 <= 3 } ?? false }) {
                names.insert(property)
            }
        }
        return names.isEmpty ? nil : names
    }
}
