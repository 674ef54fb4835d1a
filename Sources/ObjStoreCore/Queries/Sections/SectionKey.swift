/// The value that the objects of a section have in common: what a query could sort by, or its first letter. Immutable;
/// any thread.
package final class SectionKey: Sendable {
    let sortKey: SortKey
    var callsFunctions: Bool { !sortKey.calls.isEmpty }
    /// With the bytes that constants point to.
    private let tree: QueryTree

    /// Of nodes that are one value.
    ///
    /// Errors: `.invalidQuery`: they are none, or one that all objects have; `.noSuchProperty`, `.wrongType`.
    init(
        _ given: QueryTree, isFirstLetter: Bool, _ trees: TreeAccess, _ cls: ClassSchema, _ names: StoredNames,
        _ functions: QueryFunctions
    ) throws(StoreError) {
        let tree = try InverseNaming.named(given, cls, trees.schema, names)
        let binder = try QueryBinder(tree.nodes, trees, cls, names, functions), root = tree.nodes.count - 1
        var key = try binder.sortKey(root, takesLinks: true)
        if isFirstLetter {
            guard key.value.kind == .string else {
                throw binder.error(
                    .wrongType, root,
                    "\(binder.described(root)) is \(key.value.kind.indefinite): a text has a first letter")
            }
            key.isFirstLetter = true
        }
        (sortKey, self.tree) = (key, tree)
    }
}

extension QueryTree {
    /// The nodes of a text that is one value: `owner.name`, `age / 10`. See `init(parsing:arguments:)`.
    convenience init(
        parsingValue text: UnsafeRawBufferPointer, arguments: [QueryArgument]
    ) throws(StoreError) {
        if text.count <= QueryLimits.text, !UTF8Check.isValid(text.baseAddress, text.count) {
            throw StoreError(.invalidUTF8, "the text is not valid UTF-8")
        }
        let (nodes, memory) = try QueryTree.parse(text, arguments) { (parser) throws(StoreError) in
            try parser.wholeValue()
        }
        self.init(nodes, owning: memory)
    }
}

extension QueryParser {
    /// One value, then the end.
    mutating func wholeValue() throws(StoreError) {
        try expression()
        guard token.kind == .end else { throw lexer.expected("an operator or the end", token) }
    }
}
