internal import ObjStoreCore

// What is wrong with a key is reported where the sections are used, and thrown by `validate()`.

extension Results {
    /// By a property, in the order of its values: `.sectioned(by: \.city)`; also of what links lead to:
    /// `\.owner?.name`. Inside of each section objects stay in the order that they have here.
    public func sectioned<Key: CollectionElement>(
        by keyPath: KeyPath<Element, Key>, ascending: Bool = true
    ) -> SectionedResults<Key, Element> {
        sectioned(by: keyPath, in: ascending ? .ascending : .descending)
    }
    public func sectioned<Key: CollectionElement>(
        by keyPath: KeyPath<Element, Key>, in order: SectionOrder
    ) -> SectionedResults<Key, Element> {
        SectionedResults(self, .nodes(key(keyPath)), order)
    }

    /// By the first letter of a text, as a capital: of an empty one "", of nil nil.
    ///
    /// The letter is one code point; where its capital is several, as that of ß, it stays as it is. Accents stay, too.
    public func sectioned(
        byFirstLetterOf keyPath: KeyPath<Element, String>, in order: SectionOrder = .ascending
    ) -> SectionedResults<String, Element> {
        SectionedResults(self, .nodes(key(keyPath)), order, isFirstLetter: true)
    }
    public func sectioned(
        byFirstLetterOf keyPath: KeyPath<Element, String?>, in order: SectionOrder = .ascending
    ) -> SectionedResults<String?, Element> {
        SectionedResults(self, .nodes(key(keyPath)), order, isFirstLetter: true)
    }

    /// By a value that a text says, as ``filter(_:_:)`` has it: `.sectioned(by: "age / $0", 10)`.
    public func sectioned(
        by text: String, _ arguments: Any?..., in order: SectionOrder = .ascending
    ) -> SectionedResults<AnyValue, Element> {
        SectionedResults(self, .text(text, QueryNodes(arguments: arguments)), order)
    }

    /// By what a function says of each object, in the order in which the first objects of each section come here:
    /// `.sectioned { $0.age / 10 }`. It is called whenever the sections are made again, and should only look.
    public func sectioned<Key: CollectionElement>(
        by key: @escaping @Sendable (Element) throws -> Key
    ) -> SectionedResults<Key, Element> { sectioned(in: .ofAppearance, by: key) }
    /// The same in another order.
    public func sectioned<Key: CollectionElement>(
        in order: SectionOrder, by key: @escaping @Sendable (Element) throws -> Key
    ) -> SectionedResults<Key, Element> {
        SectionedResults(self, .function(key), order)
    }
    /// By a character, whose key is a text: `.sectioned(by: { $0.name.first })`.
    public func sectioned(
        by key: @escaping @Sendable (Element) throws -> Character?
    ) -> SectionedResults<String?, Element> { sectioned(in: .ofAppearance) { try key($0).map { String($0) } } }

    private func key(_ keyPath: PartialKeyPath<Element>) -> QueryNodes {
        QueryNodes { () throws(ObjStoreError) in
            QueryNodes.value(of: QueriedProperty(keyPath), try space.binding(Element.self))
        }
    }
}

extension QueryNodes {
    /// Calls `body` with the nodes; an error has no position, which would be that of a node.
    func withoutPosition<T>(_ body: ([QueryNode]) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        do throws(ObjStoreError) { return try withNodes(body) } catch {
            throw ObjStoreError(error.code, error.message, class: error.className, property: error.propertyName)
        }
    }
}

extension String {
    mutating func withBytes<T>(
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try withUTF8 { bytes in
            Result { () throws(StoreError) in try body(UnsafeRawBufferPointer(bytes)) }
        }.get()
    }
}
