internal import ObjStoreCore

/// The objects of a class, all or those that a query finds, in the order of their creation or another one; or a stretch
/// of an index, in its order.
///
/// Live: it shows what its store shows, and runs the query again when that has moved. A loop visits the objects that
/// were there when it began, whatever it changes. Results of a ``Snapshot`` never change. Any thread may use it.
///
/// `count` is O(1) for all objects of a class; for a comparison O(log n) with an index, else a scan of its columns. It,
/// `first` and subscripts cannot throw: what goes wrong in them is treated as in property accessors (see
/// ``Store/checked(_:)``), and the answer is 0, nil, or an invalid object. ``validate()`` checks beforehand.
public struct Results<Element: Object>: Sendable {
    let space: ObjectSpace
    let question: Question
    private let cache = ResultsCache<Element>()

    enum Question: Sendable {
        case all
        case query(ObjStoreCore.Query)
        /// It was invalid from the start.
        case failed(ObjStoreError)
    }

    init(_ space: ObjectSpace, _ question: Question = .all) {
        self.space = space
        self.question = question
    }

    init(_ space: ObjectSpace, _ query: () throws(ObjStoreError) -> ObjStoreCore.Query) {
        self.space = space
        do throws(ObjStoreError) { question = .query(try query()) } catch { question = .failed(error) }
    }

    /// Throws what would otherwise be reported at the first use: the class is no model of the store, the query
    /// cannot be made, the store was closed.
    @discardableResult
    public func validate() throws(ObjStoreError) -> Results {
        _ = try number()
        return self
    }

    /// Do they permanently show one version?
    public var isFrozen: Bool { space.isFrozen }
    /// Was their store closed, or invalidated?
    public var isInvalidated: Bool { space.isInvalidated || space.handle.store.isClosed }

    /// The results in the version that the store shows now, frozen.
    public func freeze() throws(ObjStoreError) -> Results { inside(try space.freeze()) }

    /// The same of another space.
    func inside(_ space: ObjectSpace) -> Results { Results(space, question) }

    // MARK: Inside

    /// Calls `body` with the question as the core takes it.
    func asking<T>(
        _ view: View, _ body: (View, ClassBinding, ObjStoreCore.Query) throws(StoreError) -> T
    ) throws(ObjStoreError) -> T {
        let binding = try space.binding(Element.self), query: ObjStoreCore.Query
        switch question {
        case .all: query = binding.all
        case .query(let own): query = own
        case .failed(let error): throw error
        }
        return try core { () throws(StoreError) in try body(view, binding, query) }
    }

    private func number() throws(ObjStoreError) -> Int {
        try asking(space.current) { (view, _, query) throws(StoreError) in
            if case .query = question, let list = cache.list(view) { return list.count }
            return try view.count(query)
        }
    }

    /// The list as it is now, with the class's binding.
    func list() throws(ObjStoreError) -> (ObjStoreCore.Results, ClassBinding) {
        try asking(space.current) { (view, binding, query) throws(StoreError) in
            if let list = cache.list(view) { return (list, binding) }
            let stamp = view.stamp, list = try view.find(query)
            cache.keep(list, stamp)
            return (list, binding)
        }
    }

    /// Nil: of nothing.
    func aggregate(_ property: ClassInfo.Property, _ kind: AggregateKind) throws(ObjStoreError) -> _QueryValue? {
        let value = try asking(space.current) { (view, binding, query) throws(StoreError) in
            try view.aggregate(query, binding.properties[Int(property.index)], kind)
        }
        return _QueryValue(aggregate: value)
    }

    private func find() throws(ObjStoreError) -> Element? {
        let (id, binding) = try asking(space.current) { (view, binding, query) throws(StoreError) in
            (try view.first(query), binding)
        }
        return id.map { space.materialise(Element.self, binding, $0.key) }
    }

    private func reporting<T>(_ none: T, _ body: () throws(ObjStoreError) -> T) -> T {
        do throws(ObjStoreError) { return try body() } catch {
            // Those of an invalidated store are empty.
            if !space.isInvalidated { space.handle.reports.report(error) }
            return none
        }
    }
}

extension Results: LiveCollection {
    /// The first in the order of creation, or of the index.
    public var first: Element? { reporting(nil) { () throws(ObjStoreError) in try find() } }

    public var _count: Int { reporting(0) { () throws(ObjStoreError) in try number() } }
    public func _element(at index: Int) -> Element {
        reporting(space.invalid()) { () throws(ObjStoreError) in
            let (list, binding) = try list()
            let id = try core { () throws(StoreError) in
                try list.object(at: try UInt64(index: index, of: list.count, "result"))
            }
            return space.materialise(Element.self, binding, id.key)
        }
    }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> {
        guard let (list, binding) = reporting(nil, { () throws(ObjStoreError) in try list() }) else {
            return Pinned([])
        }
        let space = space
        // The list does not change: it has them all.
        return Pinned(bounds(list.count)) {
            space.materialise(Element.self, binding, (try? list.object(at: UInt64($0)))?.key ?? -1)
        }
    }
    public func _walking<R>(_ body: (inout _Walk<Element>) -> R) -> R { cache.walks.with(body) }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) {
        space.handle.reports.report(
            ObjStoreError(
                .outOfRange, "\(range) of \(count.counted("result"))", class: ClassInfo.name(of: Element.self)))
    }

    /// Walks the objects that are there now.
    public func makeIterator() -> Iterator {
        if let walked { return Iterator(walked) }
        return Iterator(space, reporting(nil) { () throws(ObjStoreError) in try list() })
    }

    public struct Iterator: IteratorProtocol {
        /// Nil only where there is no list.
        private let space: ObjectSpace?
        private let list: (ObjStoreCore.Results, ClassBinding)?
        /// Of a caller that has counted before.
        private var walked: Pinned<Element>.Iterator?
        /// The next objects, fetched some at a time.
        private var chunk: [ObjectID] = []
        private var inChunk = 0
        private var fetched = 0

        private static var chunkSize: Int { 256 }

        /// Of no objects.
        static var nothing: Iterator { Iterator(nil, nil) }

        init(_ space: ObjectSpace?, _ list: (ObjStoreCore.Results, ClassBinding)?) {
            self.space = space
            self.list = list
        }

        init(_ walked: Pinned<Element>) {
            self.init(nil, nil)
            self.walked = walked.makeIterator()
        }

        public mutating func next() -> Element? {
            guard walked == nil else { return walked?.next() }
            guard let space, let list else { return nil }
            if inChunk == chunk.count {
                fetch(list.0)
                if chunk.isEmpty { return nil }
            }
            let key = chunk[inChunk].key
            inChunk += 1
            return space.materialise(Element.self, list.1, key)
        }

        private mutating func fetch(_ list: ObjStoreCore.Results) {
            inChunk = 0
            let start = fetched
            chunk = [ObjectID](unsafeUninitializedCapacity: Iterator.chunkSize) { memory, count in
                // The list does not change: that its end is reached is no error.
                count = (try? list.objects(from: UInt64(start), into: memory.baseAddress, capacity: memory.count)) ?? 0
            }
            fetched += chunk.count
        }
    }
}

extension Results {
    /// The index of an object, the first where it is there more than once; nil: it is none of them. Cost: O(n), at
    /// memory speed; no object is made.
    public func index(of object: Element) -> Int? { firstIndex(of: object) }
    public func firstIndex(of object: Element) -> Int? {
        guard let other = object._space, space.shows(other) else { return nil }
        return reporting(nil) { () throws(ObjStoreError) in
            let (list, _) = try list()
            let id = ObjectID(classID: list.classID, storeTag: list.storeTag, key: object._key)
            return try core { () throws(StoreError) in try list.find(id) }
        }
    }
}

/// What generic code sees; see ``LiveCollection``.
extension Results {
    @_disfavoredOverload public var startIndex: Int { walkStart }
    @_disfavoredOverload public var endIndex: Int { walkEnd }
    @_disfavoredOverload public var count: Int { walkCount }
    @_disfavoredOverload public var isEmpty: Bool { walkCount == 0 }
    @_disfavoredOverload public var indices: Range<Int> { 0..<walkCount }
    @_disfavoredOverload public subscript(index: Int) -> Element { walkElement(index) }
    @_disfavoredOverload public subscript(bounds: Range<Int>) -> Pinned<Element> { walkSlice(bounds) }
    @_disfavoredOverload public func index(after index: Int) -> Int { walkNext(index) }
    @_disfavoredOverload public func index(before index: Int) -> Int { walk(to: index.moved(by: -1), from: index) }
    @_disfavoredOverload public func formIndex(after index: inout Int) { index = walkNext(index) }
    @_disfavoredOverload public func formIndex(before index: inout Int) {
        index = walk(to: index.moved(by: -1), from: index)
    }
    @_disfavoredOverload public func index(_ index: Int, offsetBy distance: Int) -> Int {
        walk(to: index.moved(by: distance), from: index)
    }
    @_disfavoredOverload public func index(_ index: Int, offsetBy distance: Int, limitedBy limit: Int) -> Int? {
        walk(to: Self.index(index, distance, limit), from: index)
    }
    @_disfavoredOverload public func distance(from start: Int, to end: Int) -> Int { end.distance(from: start) }
}

/// The list of one view at one time.
final class ResultsCache<Element>: Sendable {
    private struct Entry: Sendable {
        var list: ObjStoreCore.Results
        var stamp: UInt64
    }
    private let entry = Guarded<Entry?>(nil)
    let walks = Walks<Element>()

    func list(_ view: View) -> ObjStoreCore.Results? {
        guard let entry = entry.withLock({ $0 }), entry.list.view === view, entry.stamp == view.stamp else {
            return nil
        }
        return entry.list
    }

    func keep(_ list: ObjStoreCore.Results, _ stamp: UInt64) { entry.withLock { $0 = Entry(list: list, stamp: stamp) } }
}

extension UInt64 {
    /// The core's indexes have no sign: for one below 0 it would report another. `.outOfRange`.
    init(index: Int, of count: Int, _ what: String) throws(StoreError) {
        guard index >= 0 else { throw StoreError(.outOfRange, "index \(index) of \(count.counted(what))") }
        self.init(index)
    }
}
