/// The objects of results in sections: those with equal keys together, in the order of the results. As the results,
/// they stand still until they are updated, whatever is written.
///
/// ```
///  Results ──► SectionGroups ──► SectionList
///  list        by key            in the order that is wanted
/// ```
/// Keys are equal as DISTINCT has it: ints and doubles by number, null equals null, and NaN is NaN. Any thread.
package final class Sections: @unchecked Sendable {
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Sections in the order of their keys, as SORT has it, not in that in which they come in the results.
        package static let ascending = Flags(rawValue: 1)
        package static let descending = Flags(rawValue: 2)
        /// The key is the first letter of a text.
        package static let firstLetter = Flags(rawValue: 4)
        package static let all = Flags(rawValue: 7)
    }

    /// Says the key of an object. Its value is valid until it is called again. Called without a lock, on the thread
    /// that makes or updates sections, or delivers to their observers.
    package typealias Ask = (ObjectID) throws(StoreError) -> Value
    /// Calls its argument with what says the keys of objects in a view: that of the results, or one of a version in
    /// which observers look at them.
    package typealias Function = (View, (Ask) throws(StoreError) -> Void) throws(StoreError) -> Void

    private enum Key {
        case value(SectionKey)
        case function(Function)
    }

    package let results: Results
    private let key: Key
    private let flags: Flags
    private let lock = Lock()
    /// Replaced as a whole.
    private var current: SectionList
    /// Of the view that they were made in.
    private var version: UInt64 = 0

    private init(_ results: Results, _ key: Key, _ flags: Flags) throws(StoreError) {
        (self.results, self.key, self.flags) = (results, key, flags)
        if flags.isSuperset(of: [.ascending, .descending]) {
            throw StoreError(.invalidArgument, "sections are in ascending or in descending order, not in both")
        }
        current = try SectionList()
        _ = try make()
    }

    package var view: View { results.view }
    package var storeTag: UInt32 { view.shared.tag }

    /// Repeats the query of the results, and makes sections of what it finds; returns whether anything is different.
    ///
    /// Where it throws they stay as they are; the results may have been updated.
    package func update() throws(StoreError) -> Bool {
        _ = try results.update()
        return try make()
    }

    private func make() throws(StoreError) -> Bool {
        let list = results.list(), made: SectionList, version: UInt64
        switch key {
        case .value(let key):
            let groups: SectionGroups
            (groups, version) = try view.asking(results.classID, key.callsFunctions) { (trees) throws(StoreError) in
                let groups = try SectionGroups(of: list, by: key, trees, try trees.schema.cls(results.classID))
                return (groups, trees.version)
            }
            made = try SectionList(list, groups, order)
        case .function(let function):
            version = try view.serialised { () throws(StoreError) in try view.trees.version }
            let groups = try view.groups(
                of: list, results.classID, isFirstLetter: flags.contains(.firstLetter), by: function)
            made = try SectionList(list, groups, order)
        }
        let old = lock.withLock { current }, isSame = try made.isSame(as: old)
        lock.withLock { if isSame { self.version = version } else { (current, self.version) = (made, version) } }
        return !isSame
    }

    private var order: SectionList.Order {
        flags.contains(.ascending) ? .ascending : flags.contains(.descending) ? .descending : .ofAppearance
    }

    // MARK: Observing

    /// From what they are now.
    ///
    /// - Parameters:
    ///   - one: the key of the one section that is observed; nil: all. It may be one that there is not yet.
    ///   - hub: delivers; nil: the store's.
    /// Errors: as of the results; `.wrongView` also where these were updated since; of the key as of `find(key:)`.
    package func observe(
        _ options: ObserverOptions, one: Value? = nil, on hub: ObserverHub? = nil,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        if let one { _ = try now().find(key: one) }
        let (scope, snapshot, _) = try results.observed(options)
        let (current, version) = lock.withLock { (self.current, self.version) }
        guard version == snapshot.version else {
            throw StoreError(
                .wrongView,
                """
                the view has moved from version \(version) to \(snapshot.version) since the sections were made: \
                update them first
                """)
        }
        var only: OwnedValue?
        if let one { only = try OwnedValue(copying: one) }
        let sections = SectionScope(observedKey, order, only: only)
        let observed = scope.inSections(sections).calling(within: view.store.asking)
        return try (hub ?? view.store.hub).observe(
            observed, from: snapshot, ObservedAnswer(current), options, handler: handler)
    }

    private var observedKey: SectionScope.Key {
        switch key {
        case .value(let key): return .value(key)
        case .function(let function):
            let classID = results.classID, isFirstLetter = flags.contains(.firstLetter)
            return .function { [weak store = view.store] (list, snapshot) throws(StoreError) in
                guard let store else { throw StoreError(.closedHandle, "the store is closed") }
                let view = View(store: store, snapshot: snapshot, kind: .frozen)
                defer { view.close() }
                return try view.groups(of: list, classID, isFirstLetter: isFirstLetter, by: function)
            }
        }
    }

    // MARK: Reading

    /// As they are now; later updates do not change it. For several questions whose answers are to fit together.
    package func now() -> SectionsNow { SectionsNow(list: lock.withLock { current }, sections: self) }

    /// One section, as it is now.
    package struct Section {
        /// Its bytes lie in the buffer; without one they are valid until the sections are updated or gone.
        package let key: Value
        /// How many objects there are in the sections before it.
        package let start: Int
        package let count: Int
    }

    /// Where an object is.
    package struct Place {
        package let section: Int
        package let index: Int
    }
}

/// Sections at one time.
package struct SectionsNow: Sendable {
    let list: SectionList
    let sections: Sections

    package var count: Int { list.count }

    /// Errors: `.outOfRange`; `.wrongView`: the key is a text, there is no buffer, and the view may move.
    package func section(
        _ index: UInt64, _ buffer: UnsafeMutablePointer<OutputBuffer>? = nil
    ) throws(StoreError) -> Sections.Section {
        let number = try check(index), places = list.places(of: number)
        var key = list.keys[number]
        if key.kind.hasBytes {
            if let buffer {
                try OutputBuffer.copy(&key, 1, into: buffer)
            } else if !sections.view.canLend {
                throw StoreError(
                    .wrongView,
                    "sections of a live view do not lend texts, since they may be updated: a buffer is needed")
            }
        }
        return Sections.Section(key: key, start: places.lowerBound, count: places.count)
    }

    /// A section that there is: its key, valid until `body` returns, and how many objects it has.
    package func withSection<T>(_ index: Int, _ body: (Value, Int) -> T) -> T {
        withExtendedLifetime(list) { body(list.keys[index], list.places(of: index).count) }
    }

    private func check(_ index: UInt64) throws(StoreError) -> Int {
        guard index < UInt64(list.count) else {
            throw StoreError(.outOfRange, "section \(index) of \(list.count)")
        }
        return Int(index)
    }

    /// Up to `limit` places of a section, from its object `start` on.
    private func places(_ section: UInt64, _ start: UInt64, _ limit: Int) throws(StoreError) -> Range<Int> {
        let all = list.places(of: try check(section))
        guard start <= UInt64(all.count) else {
            throw StoreError(.outOfRange, "start \(start) of \(all.count.counted("object"))")
        }
        let first = all.lowerBound + Int(start)
        return first..<first + min(limit, all.upperBound - first)
    }

    /// An object of a section, both of which there are: its key, and its position in the results.
    package func object(_ section: Int, _ index: Int) -> (key: Int64, position: Int) {
        let place = list.places(of: section).lowerBound + index
        return (list.objectKey(at: place), list.positions[place])
    }

    /// Objects of a section from `start` on, and their positions in the results; returns how many.
    package func objects(
        _ section: UInt64, from start: UInt64, into objects: UnsafeMutablePointer<ObjectID>?,
        positions: UnsafeMutablePointer<UInt64>?, capacity: Int
    ) throws(StoreError) -> Int {
        let places = try places(section, start, capacity)
        if let objects {
            for (index, place) in places.enumerated() {
                objects[index] = sections.results.object(list.objectKey(at: place))
            }
        }
        if let positions {
            for (index, place) in places.enumerated() { positions[index] = UInt64(list.positions[place]) }
        }
        return places.count
    }

    /// Rows of a section from `start` on, with the values of the view as it is now, into the layout of
    /// `objstore_packed`.
    package func read(
        _ section: UInt64, from start: UInt64, limit: Int, _ properties: UnsafeBufferPointer<UInt32>,
        into buffer: UnsafeMutablePointer<OutputBuffer>
    ) throws(StoreError) {
        let places = try places(section, start, limit), view = sections.view
        let keys = try KeyBuffer(expecting: places.count)
        for place in places { try keys.append(list.objectKey(at: place)) }
        defer { withExtendedLifetime(keys) {} }
        try view.serialised { () throws(StoreError) in
            let trees = try view.trees
            try PackedRows.read(
                UnsafeBufferPointer(start: keys.keys, count: keys.count),
                try trees.schema.cls(sections.results.classID),
                properties, trees, into: buffer)
        }
    }

    // MARK: Searching

    /// The section with that key; nil: there is none.
    ///
    /// Errors: `.wrongType`: a collection; `.wrongStore`; `.invalidUTF8`; of what is no document those of
    /// `MixedCell.admit`.
    package func find(key: Value) throws(StoreError) -> Int? {
        if key.kind == .string, !UTF8Check.isValid(key.pointer, key.count) {
            throw StoreError(.invalidUTF8, "the text is not valid UTF-8")
        }
        if key.kind == .document { try MixedCell.admit(key, limit: .max) }
        if key.kind == .link, key.givenObject.storeTag != sections.storeTag {
            throw StoreError(.wrongStore, "the object is of another store")
        }
        // Also where there is no section to compare with.
        _ = try MixedOrder.family(key)
        return try list.section(of: key)
    }

    /// Where the object at a position of the results is; nil: it was deleted before the sections were made.
    ///
    /// Errors: `.outOfRange`.
    package func find(position: UInt64) throws(StoreError) -> Sections.Place? {
        guard position < UInt64(list.list.count) else {
            throw StoreError(.outOfRange, "position \(position) of \(list.list.count.counted("result"))")
        }
        return try place(ofPosition: Int(position))
    }

    /// Where an object is; nil: it is none of them. Errors: `.wrongStore`.
    package func find(_ object: ObjectID) throws(StoreError) -> Sections.Place? {
        guard object.storeTag == sections.storeTag else {
            throw StoreError(.wrongStore, "the object is of another store")
        }
        guard object.classID == sections.results.classID, let position = list.position(of: object.key) else {
            return nil
        }
        return try place(ofPosition: position)
    }

    private func place(ofPosition position: Int) throws(StoreError) -> Sections.Place? {
        guard let place = try list.place(ofPosition: position) else { return nil }
        let section = list.section(at: place)
        return Sections.Place(section: section, index: place - list.starts[section])
    }
}

/// Making sections. Errors of all: `.invalidArgument`: both orders are wanted; those of their keys.
extension Results {
    /// By a value of each object: the nodes of one value. Values are copied.
    ///
    /// Errors, with the place of the node: `.noSuchProperty`, `.wrongType`, `.invalidQuery`, `.notSupported`,
    /// `.invalidUTF8`; `.invalidArgument`: they are no tree; `.outOfMemory`.
    package func sections(by nodes: [QueryNode], _ flags: Sections.Flags) throws(StoreError) -> Sections {
        try sections(by: try QueryTree(nodes), flags)
    }

    /// By the value that a text says: `owner.name`. Errors: the same, with the place in the text, in bytes.
    package func sections(
        byParsing text: UnsafeRawBufferPointer, _ arguments: [QueryArgument] = [], _ flags: Sections.Flags
    ) throws(StoreError) -> Sections {
        try sections(by: try QueryTree(parsingValue: text, arguments: arguments), flags)
    }

    /// By what a function answers about each object, in the order of the list. An error of it ends the call.
    package func sections(
        _ flags: Sections.Flags, by function: @escaping Sections.Function
    ) throws(StoreError) -> Sections {
        try Sections(self, function: function, flags)
    }

    private func sections(by tree: QueryTree, _ flags: Sections.Flags) throws(StoreError) -> Sections {
        let key = try view.serialised { () throws(StoreError) in
            let trees = try view.trees
            return try SectionKey(
                tree, isFirstLetter: flags.contains(.firstLetter), trees, try trees.schema.cls(classID),
                view.store.names, view.store.functions)
        }
        return try Sections(self, key: key, flags)
    }
}

extension Sections {
    fileprivate convenience init(_ results: Results, key: SectionKey, _ flags: Flags) throws(StoreError) {
        try self.init(results, .value(key), flags)
    }

    fileprivate convenience init(
        _ results: Results, function: @escaping Function, _ flags: Flags
    ) throws(StoreError) {
        try self.init(results, .function(function), flags)
    }
}

extension View {
    /// The objects of a list by what a function says of them here.
    func groups(
        of list: KeyBuffer, _ classID: UInt32, isFirstLetter: Bool, by function: Sections.Function
    ) throws(StoreError) -> SectionGroups {
        var groups: SectionGroups?
        try function(self) { (ask) throws(StoreError) in
            groups = try SectionGroups(
                of: list, isFirstLetter: isFirstLetter, storeTag: object(classID, 0).storeTag
            ) { (key) throws(StoreError) in
                let object = object(classID, key)
                return try exists(object) ? try ask(object) : nil
            }
        }
        return groups.unsafelyUnwrapped
    }
}
