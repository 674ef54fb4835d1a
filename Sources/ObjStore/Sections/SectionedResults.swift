internal import ObjStoreCore

/// In which order sections come.
public enum SectionOrder: Sendable, Hashable {
    /// In that of their keys, as they are sorted by: nil first, texts by code point, false before true.
    case ascending, descending
    /// In which the first objects of each come in the results.
    case ofAppearance
}

/// Results in sections: the objects with equal keys together, in the order of the results.
///
/// ```swift
/// let dogs = store.objects(Dog.self).sorted(by: \.name).sectioned(byFirstLetterOf: \.name)
/// for section in dogs { print(section.key ?? "-", section.map(\.name)) }
/// ```
/// Live like ``Results``, and as they are for `count`, `first` and subscripts; a section that was taken out stays as it
/// is. Numbers that are equal are one key, and so are all nils. What goes wrong is reported, as there; ``validate()``
/// throws it.
public struct SectionedResults<Key: CollectionElement, SectionElement: Object>: Sendable {
    /// Says the key of an object: a node of a query, the text of one, or what a function answers.
    enum Source: Sendable {
        case nodes(QueryNodes)
        case text(String, QueryNodes)
        case function(@Sendable (SectionElement) throws -> Key)
    }

    let results: Results<SectionElement>
    let source: Source
    let flags: Sections.Flags
    private let cache = SectionsCache<ResultsSection<Key, SectionElement>>()

    init(_ results: Results<SectionElement>, _ source: Source, _ flags: Sections.Flags) {
        (self.results, self.source, self.flags) = (results, source, flags)
    }

    init(
        _ results: Results<SectionElement>, _ source: Source, _ order: SectionOrder, isFirstLetter: Bool = false
    ) {
        var flags: Sections.Flags = isFirstLetter ? [.firstLetter] : []
        switch order {
        case .ascending: flags.insert(.ascending)
        case .descending: flags.insert(.descending)
        case .ofAppearance: break
        }
        self.init(results, source, flags)
    }

    /// Throws what would otherwise be reported at the first use: the results cannot be found, what is no key, an error
    /// of the function.
    @discardableResult
    public func validate() throws -> SectionedResults {
        _ = try now()
        return self
    }

    /// Do they permanently show one version?
    public var isFrozen: Bool { results.isFrozen }
    /// Was their store closed, or invalidated?
    public var isInvalidated: Bool { results.isInvalidated }

    /// The sections in the version that the store shows now, frozen.
    public func freeze() throws(ObjStoreError) -> SectionedResults {
        SectionedResults(try results.freeze(), source, flags)
    }
    /// The same question, answered by what the store shows now. Errors: `.closedHandle`.
    @_disfavoredOverload
    public func thaw() throws(ObjStoreError) -> SectionedResults { try thawed() }
    package func thawed() throws(ObjStoreError) -> SectionedResults {
        SectionedResults(try results.thawed(), source, flags)
    }

    // MARK: Searching

    /// The keys, one of each section.
    public var allKeys: [Key] {
        reporting([]) {
            let (sections, _) = try now()
            return (0..<sections.count).map { sections.withSection($0) { (key, _) in results.space.sectionKey(key) } }
        }
    }

    /// The section with a key; nil: there is none.
    public func section(forKey key: Key) -> ResultsSection<Key, SectionElement>? {
        reporting(nil) {
            let (sections, binding) = try now()
            let number = try core { () throws(StoreError) in
                try withEncoded(CollectionOfOne(key)) { (values) throws(StoreError) in
                    try sections.find(key: values[0])
                }
            }
            return number.map { ResultsSection($0, of: sections, self, binding) }
        }
    }

    /// In which section an object is, and at which index there; nil: in none.
    public func place(of object: SectionElement) -> (section: Int, index: Int)? {
        guard let mine = object._binding?.takeUnretainedValue() else { return nil }
        return reporting(nil) {
            let (sections, _) = try now()
            return try core { () throws(StoreError) in try sections.find(mine.id(object._key)) }
                .map { ($0.section, $0.index) }
        }
    }

    /// The same of the object that is at a position of the results.
    public func place(ofPosition position: Int) -> (section: Int, index: Int)? {
        reporting(nil) {
            let (sections, _) = try now()
            return try core { () throws(StoreError) in
                try sections.find(position: try UInt64(index: position, of: results._count, "result"))
            }.map { ($0.section, $0.index) }
        }
    }

    // MARK: Making

    func now() throws -> (SectionsNow, ClassBinding) {
        let (list, binding) = try results.list()
        if let sections = cache.sections(of: list) { return (sections.now(), binding) }
        let sections = try make(of: list)
        cache.keep(sections)
        return (sections.now(), binding)
    }

    func make(of list: ObjStoreCore.Results) throws -> Sections {
        switch source {
        case .nodes(let nodes):
            return try nodes.withoutPosition { (nodes) throws(StoreError) in try list.sections(by: nodes, flags) }
        case .text(var text, let arguments):
            return try arguments.withArguments { (arguments) throws(StoreError) in
                try text.withBytes { (bytes) throws(StoreError) in
                    try list.sections(byParsing: bytes, arguments, flags)
                }
            }
        case .function(let function): return try make(of: list, by: function)
        }
    }

    /// By what a function answers; its error is thrown as it is.
    private func make(
        of list: ObjStoreCore.Results, by function: @escaping (SectionElement) throws -> Key
    ) throws -> Sections {
        let own = results.space, thrown = Guarded<(any Error)?>(nil)
        do throws(StoreError) {
            return try list.sections(flags) { [weak shown = list.view] (view, body) throws(StoreError) in
                // Observers look in a version of their own.
                let space = view === shown ? own : ObjectSpace(own.handle, view, isFrozen: true)
                let binding: ClassBinding
                do throws(ObjStoreError) { binding = try space.binding(SectionElement.self) } catch {
                    throw error.ofCore
                }
                var last: OwnedValue?
                try body { (object) throws(StoreError) in
                    let key: Key
                    do { key = try function(space.materialise(SectionElement.self, binding, object.key)) } catch {
                        thrown.withLock { $0 = error }
                        throw StoreError(.callback, "the function that says the key of a section threw \(error)")
                    }
                    let value = try withEncoded(CollectionOfOne(key)) { (values) throws(StoreError) in
                        try OwnedValue(copying: values[0])
                    }
                    last = value
                    return value.value
                }
                withExtendedLifetime(last) {}
            }
        } catch {
            throw thrown.withLock { $0 } ?? ObjStoreError(error)
        }
    }

    // For other modules of the package.
    package func report(_ error: any Error) { results.report(error) }

    func reporting<T>(_ none: T, _ body: () throws -> T) -> T {
        do { return try body() } catch {
            // Those of an invalidated store are empty.
            if !results.space.isInvalidated { results.report(error) }
            return none
        }
    }
}

extension SectionedResults: LiveCollection {
    public typealias Element = ResultsSection<Key, SectionElement>

    public var _count: Int { reporting(0) { try now().0.count } }
    public func _element(at index: Int) -> Element {
        let section: Element? = reporting(nil) {
            let (sections, binding) = try now()
            guard index >= 0, index < sections.count else {
                throw ObjStoreError(
                    .outOfRange, "section \(index) of \(sections.count)", class: ClassInfo.name(of: SectionElement.self)
                )
            }
            return ResultsSection(index, of: sections, self, binding)
        }
        return section ?? Element(nothingIn: results.space)
    }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> {
        reporting(Pinned([])) {
            let (sections, binding) = try now()
            return Pinned(bounds(sections.count)) { ResultsSection($0, of: sections, self, binding) }
        }
    }
    public func _walking<R>(_ body: (inout _Walk<Element>) -> R) -> R { cache.walks.with(body) }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) {
        results.report(
            ObjStoreError(
                .outOfRange, "\(range) of \(count.counted("section"))", class: ClassInfo.name(of: SectionElement.self)))
    }

    /// Walks the sections that are there now.
    public func makeIterator() -> IndexingIterator<Pinned<Element>> { (walked ?? pinned()).makeIterator() }
}

/// What generic code sees; see ``LiveCollection``.
extension SectionedResults {
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

/// The sections of one list.
final class SectionsCache<Element>: Sendable {
    private let entry = Guarded<Sections?>(nil)
    let walks = Walks<Element>()

    func sections(of list: ObjStoreCore.Results) -> Sections? {
        entry.withLock { $0 }.flatMap { $0.results === list ? $0 : nil }
    }
    func keep(_ sections: Sections) { entry.withLock { $0 = sections } }
}
