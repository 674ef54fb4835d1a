/// The way from a mixed property to a value inside its document: keys of maps and indexes of lists.
package enum MixedStep {
    /// -1 is the last element, -2 the one before.
    case index(Int)
    /// UTF-8, of the caller.
    case key(UnsafeRawBufferPointer)

    /// An int is an index, a string a key.
    package init(_ value: Value) throws(StoreError) {
        switch value.kind {
        case .int: self = .index(Int(value.low))
        case .string:
            guard UTF8Check.isValid(value.pointer, value.count) else {
                throw StoreError(.invalidUTF8, "a key of the path is not valid UTF-8")
            }
            self = .key(UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        default:
            throw StoreError(
                .wrongType, "a step of a path is an index (int) or a key (string), not \(value.kind.indefinite)")
        }
    }

    var text: String {
        switch self {
        case .index(let index): "[\(index)]"
        case .key(let key): "[" + Value.string(key.baseAddress, key.count).text + "]"
        }
    }

    /// Before which element of a list a value is inserted that is to be found by `index` then: -1 is the end, -2 before
    /// the last.
    static func insertion(_ index: Int, _ count: Int) -> Int { index < 0 ? count &+ 1 &+ index : index }

    static func text(_ steps: ArraySlice<MixedStep>) -> String { steps.map(\.text).joined() }
}

/// What happens to the value at the end of a path.
package enum MixedAction: UInt8 {
    /// It gets another value; in a map the key may be new.
    case set = 1
    /// A value is inserted into a list: the index finds it then.
    case insert = 2
    case remove = 3
}

extension MixedNode {
    /// The value that a path leads to; nil: a key or an index on the way is not there.
    ///
    /// `.wrongType` where a step leads into something that is no list or map, a list for a key, or a map for an index.
    package func node(at path: ArraySlice<MixedStep>) throws(StoreError) -> MixedNode? {
        var node = self
        for position in path.indices {
            let container = try node.container(at: path[..<position], for: path[position])
            guard let index = try container.find(path[position]) else { return nil }
            node = try container.node(index)
        }
        return node
    }

    func container(at path: ArraySlice<MixedStep>, for step: MixedStep) throws(StoreError) -> MixedContainer {
        let kind = try kind
        switch (kind, step) {
        case (.list, .index), (.map, .key): return try MixedContainer(self)
        case (.list, _), (.map, _):
            throw StoreError(
                .wrongType,
                """
                the value\(path.isEmpty ? "" : " at \(MixedStep.text(path))") is \(kind.indefinite): it has no \
                \(step.text)
                """
            )
        default:
            throw StoreError(
                .wrongType,
                """
                the value\(path.isEmpty ? "" : " at \(MixedStep.text(path))") is \(kind.indefinite), not a list or \
                map: it has no \(step.text)
                """
            )
        }
    }
}

extension MixedContainer {
    /// The element of a step, which fits the kind.
    func find(_ step: MixedStep) throws(StoreError) -> Int? {
        switch step {
        case .index(let index):
            let position = index < 0 ? index &+ count : index
            return position >= 0 && position < count ? position : nil
        case .key(let key):
            let (index, found) = try search(key)
            return found ? index : nil
        }
    }
}

/// A change of one value inside a document: worked out first, so that what is logged and what is written are one.
package struct MixedEdit {
    /// Without negative indexes.
    package private(set) var path: [MixedStep] = []
    package let action: MixedAction
    /// A node; empty where a value is removed.
    let value: UnsafeRawBufferPointer
    /// From the whole document inwards.
    private var levels: [MixedContainer.Replacement] = []
    /// Of the new document.
    package private(set) var bytes = 0

    /// - Parameters:
    ///   - node: the document; a path that is not empty leads into it.
    ///   - value: a node, which was checked; its `depth` too.
    /// `.notFound` where the path leads nowhere.
    package init(
        _ node: MixedNode, _ steps: [MixedStep], _ action: MixedAction, _ value: UnsafeRawBufferPointer, depth: Int
    ) throws(StoreError) {
        self.action = action
        self.value = value
        guard let last = steps.indices.last else { throw StoreError(.invalidArgument, "the path is empty") }
        if action != .remove, steps.count + depth > MixedNode.maximumDepth { throw MixedEdit.tooDeep }
        var node = node, places: [(container: MixedContainer, items: Range<Int>)] = [], addsKey = false
        for position in steps.indices {
            let step = steps[position], container = try node.container(at: steps[..<position], for: step)
            if position < last {
                guard let index = try container.find(step) else { throw MixedEdit.notFound(steps[...position]) }
                path.append(step.at(index))
                let item = container.valueItem(index)
                places.append((container, item..<item + 1))
                node = try container.node(index)
                continue
            }
            let items: Range<Int>
            switch (action, step) {
            case (.insert, .key):
                throw StoreError(
                    .wrongType, "a value is inserted into a list at an index; that of a key of a map is set")
            case (.insert, .index(let index)):
                let place = MixedStep.insertion(index, container.count)
                guard place >= 0, place <= container.count else { throw MixedEdit.notFound(steps[...]) }
                path.append(.index(place))
                items = place..<place
            case (.set, .key(let key)):
                let (index, found) = try container.search(key)
                path.append(step)
                addsKey = !found
                items = found ? index * 2 + 1..<index * 2 + 2 : index * 2..<index * 2
            default:
                guard let index = try container.find(step) else { throw MixedEdit.notFound(steps[...]) }
                path.append(step.at(index))
                if action == .remove, container.kind == .map {
                    items = index * 2..<index * 2 + 2
                } else {
                    let item = container.valueItem(index)
                    items = item..<item + 1
                }
            }
            places.append((container, items))
        }
        var lengths = action == .remove ? [] : [value.count]
        if addsKey, case .key(let key) = steps[last] { lengths = [key.count, value.count] }
        for (container, items) in places.reversed() {
            let level = try MixedContainer.Replacement(container, items: items, by: lengths)
            levels.append(level)
            bytes = level.newBytes
            lengths = [bytes]
        }
        levels.reverse()
    }

    /// The change of a cell, checked; the new value lies in `buffer`, and in the cell what stays.
    static func prepare(
        _ cell: Value, _ path: [MixedStep], _ action: MixedAction, _ value: Value, limit: Int, _ buffer: ByteBuffer
    ) throws(StoreError) -> MixedEdit {
        buffer.removeAll()
        var depth = 0
        if action != .remove {
            depth = try MixedCell.admit(value, limit: limit)
            try MixedNode.append(value, to: buffer)
            if value.kind == .link || value.kind == .document { try MixedLinks.forgetStore(buffer.base, buffer.count) }
        }
        guard let first = path.first else { throw StoreError(.invalidArgument, "the path is empty") }
        if cell.isNull { throw MixedEdit.null(first) }
        let node = try MixedNode(cell.pointer, cell.count)
        let edit = try MixedEdit(
            node, path, action, UnsafeRawBufferPointer(start: buffer.base, count: buffer.count), depth: depth)
        if edit.bytes > limit { throw MixedCell.tooLarge(edit.bytes, limit) }
        return edit
    }

    static func null(_ step: MixedStep) -> StoreError {
        StoreError(.wrongType, "the value is null, not a list or map: it has no \(step.text)")
    }

    static var tooDeep: StoreError {
        StoreError(.outOfRange, "lists and maps would be nested more than \(MixedNode.maximumDepth) deep")
    }

    private static func notFound(_ steps: ArraySlice<MixedStep>) -> StoreError {
        StoreError(.notFound, "the document has no \(MixedStep.text(steps))")
    }

    /// Writes the new document. Cost: O(its bytes).
    package func append(to buffer: ByteBuffer) throws(StoreError) {
        for level in levels { try level.appendBefore(to: buffer) }
        if levels[levels.count - 1].lengths.count == 2, case .key(let key) = path[path.count - 1] {
            try buffer.append(bytes: key.baseAddress, count: key.count)
        }
        try buffer.append(bytes: value.baseAddress, count: value.count)
        for level in levels.reversed() { try level.appendBehind(to: buffer) }
    }
}

extension MixedStep {
    fileprivate func at(_ index: Int) -> MixedStep {
        if case .index = self { return .index(index) }
        return self
    }
}
