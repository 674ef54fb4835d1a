internal import ObjStoreCore

/// The objects of results that have one key, in the order of the results: an element of ``SectionedResults``.
///
/// It stays as it is: objects among them may have been deleted since (``Object/isInvalidated``). Like an array, it
/// stops the program where there is no such element.
public struct ResultsSection<Key: CollectionElement, SectionElement: Object> {
    /// What the objects have in common.
    public let key: Key
    public let count: Int
    private let number: Int
    private let space: ObjectSpace
    /// Nil: of nothing.
    private let origin: (sections: SectionsNow, binding: ClassBinding)?
    /// What it is a section of; nil: of nothing.
    let parent: SectionedResults<Key, SectionElement>?

    init(
        _ number: Int, of sections: SectionsNow, _ parent: SectionedResults<Key, SectionElement>,
        _ binding: ClassBinding
    ) {
        self.number = number
        self.parent = parent
        let space = parent.results.space
        self.space = space
        origin = (sections, binding)
        (key, count) = sections.withSection(number) { (key, count) in (space.sectionKey(key), count) }
    }

    /// Where there is no section: no objects.
    init(nothingIn space: ObjectSpace) {
        (number, count, key, origin, parent) = (0, 0, Key._emptyElement, nil, nil)
        self.space = space
    }

    // For other modules of the package.
    package func report(_ error: any Error) {
        if let error = error as? ObjStoreError { space.handle.reports.report(error) } else { parent?.report(error) }
    }

    /// Where the objects are in the results, ascending.
    public var positions: [Int] {
        (0..<count).compactMap { index in origin.map { $0.sections.object(number, index).position } }
    }
}

extension ResultsSection: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    public subscript(index: Int) -> SectionElement {
        guard let (sections, binding) = origin, index >= 0, index < count else {
            preconditionFailure("index \(index) of \(count.counted("object"))")
        }
        return space.materialise(SectionElement.self, binding, sections.object(number, index).key)
    }
}

extension ResultsSection: Identifiable where Key: Hashable {
    public var id: Key { key }
}

extension ObjectSpace {
    /// A key as the type that it has in Swift; what is none of that type is what an element of collections is then.
    func sectionKey<Key: CollectionElement>(_ value: Value) -> Key {
        if Key._isMixed, let key = (try? AnyValue(copying: value, self)) as? Key { return key }
        let target =
            value.kind == .link ? bindings.first { $0.classID == value.linkedObject(storeTag: 0).classID } : nil
        return Key._element(_StoredValue(value: value, target: target)) ?? Key._emptyElement
    }
}
