internal import CSystem

/// An object that a mixed value links to: mixed values may link to any class.
struct MixedTarget: Hashable, Comparable {
    let classID: UInt32
    let key: Int64

    init(classID: UInt32, key: Int64) {
        self.classID = classID
        self.key = key
    }

    init(_ link: Value) {
        classID = UInt32(truncatingIfNeeded: link.high)
        key = link.low
    }

    static func < (a: MixedTarget, b: MixedTarget) -> Bool {
        a.classID != b.classID ? a.classID < b.classID : a.key < b.key
    }

    /// What the inverse has for it: an object id of 12 bytes, class before key.
    var indexed: Value {
        let key = UInt64(bitPattern: key), first = UInt64(classID) << 32 | key >> 32
        return Value(kind: .objectID, low: Int64(bitPattern: first ^ 1 << 63), high: Int64(key & 0xffff_ffff))
    }

    /// Of such an entry.
    init(indexed: Value) {
        let first = UInt64(bitPattern: indexed.low) ^ 1 << 63
        self.init(
            classID: UInt32(first >> 32), key: Int64(bitPattern: first << 32 | UInt64(indexed.high) & 0xffff_ffff))
    }
}

/// The links inside the values of mixed properties: which there are, and a value without some of them.
enum MixedLinks {
    /// Calls `body` with each link of a value, which may be a cell, a link, a document or anything else, until it
    /// returns false.
    static func forEach(_ value: Value, _ body: (Value) throws(StoreError) -> Bool) throws(StoreError) {
        switch value.kind {
        case .link: _ = try body(value)
        case .mixed, .document:
            guard let start = value.pointer, value.count > 0 else { return }
            let kind = start.load(as: UInt8.self)
            if kind == ValueKind.link.rawValue {
                _ = try body(try MixedNode(start, value.count).value())
                return
            }
            // Most have none: no byte is the kind of one.
            guard kind == ValueKind.list.rawValue || kind == ValueKind.map.rawValue,
                memchr(start, Int32(ValueKind.link.rawValue), value.count) != nil
            else { return }
            _ = try visit(try MixedNode(value.pointer, value.count), left: MixedNode.maximumDepth, body)
        default: break
        }
    }

    static func has(_ value: Value) throws(StoreError) -> Bool {
        if value.kind == .null { return false }
        var found = false
        try forEach(value) { _ in
            found = true
            return false
        }
        return found
    }

    /// The objects that a value links to, ascending, each once.
    static func targets(_ value: Value) throws(StoreError) -> [MixedTarget] {
        var all: [MixedTarget] = []
        try forEach(value) { link in
            all.append(MixedTarget(link))
            return true
        }
        if all.count < 2 { return all }
        all.sort()
        var distinct = [all[0]]
        for target in all where target != distinct[distinct.count - 1] { distinct.append(target) }
        return distinct
    }

    private static func visit(
        _ node: MixedNode, left: Int, _ body: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        switch try node.kind {
        case .link: return try body(try node.value())
        case .list, .map:
            if left == 0 { throw MixedEdit.tooDeep }
            let container = try MixedContainer(node)
            for index in 0..<container.count where try !visit(try container.node(index), left: left - 1, body) {
                return false
            }
            return true
        default: return true
        }
    }

    /// A cell where the links that are gone are null; `builder` has its bytes.
    static func without(
        _ cell: Value, _ builder: DocumentBuilder, where isGone: (MixedTarget) throws(StoreError) -> Bool
    ) throws(StoreError) -> Value {
        builder.removeAll()
        let node = try MixedNode(cell.pointer, cell.count)
        try copy(node, to: builder, isGone)
        let made = try MixedNode(builder.node.baseAddress, builder.node.count)
        if try made.kind == .null { return .null }
        return Value(kind: .mixed, pointer: made.start, count: made.count)
    }

    /// The same of an element of a collection, in memory of `kept`; nil: it leaves its set.
    static func element(
        _ cell: Value, of kind: ValueKind, _ kept: KeptTexts, where isGone: (MixedTarget) throws(StoreError) -> Bool
    ) throws(StoreError) -> Value? {
        let builder = DocumentBuilder(), value = try without(cell, builder, where: isGone)
        if value.isNull, kind == .set { return nil }
        return try kept.keep(value)
    }

    private static func copy(
        _ node: MixedNode, to builder: DocumentBuilder, _ isGone: (MixedTarget) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let kind = try node.kind
        guard kind == .list || kind == .map else {
            let value = try node.value()
            if kind == .link, try isGone(MixedTarget(value)) { return try builder.append(.null) }
            return try builder.append(value)
        }
        try builder.begin(kind)
        let container = try MixedContainer(node)
        for index in 0..<container.count {
            if kind == .map { try builder.key(try container.key(index)) }
            try copy(try container.node(index), to: builder, isGone)
        }
        try builder.end()
    }

    /// Takes the store out of the links of nodes that begin at `start`: inside a store all lead to it.
    static func forgetStore(_ start: UnsafeMutableRawPointer, _ count: Int) throws(StoreError) {
        try visitPlaces(try MixedNode(UnsafeRawPointer(start), count), left: MixedNode.maximumDepth) { place in
            UnsafeMutableRawPointer(mutating: place).storeBytes(
                of: 0, toByteOffset: MixedNode.storeOffset, as: UInt32.self)
        }
    }

    static func visitPlaces(_ node: MixedNode, left: Int, _ body: (UnsafeRawPointer) -> Void) throws(StoreError) {
        switch try node.kind {
        case .link: body(node.start)
        case .list, .map:
            if left == 0 { throw MixedEdit.tooDeep }
            let container = try MixedContainer(node)
            for index in 0..<container.count { try visitPlaces(try container.node(index), left: left - 1, body) }
        default: break
        }
    }
}

extension Value {
    /// Whether a value that an application gave for a mixed element is what is stored: its links may say their store.
    package func isSameMixed(as given: Value) throws(StoreError) -> Bool {
        guard kind == given.kind else { return false }
        if kind == .link { return MixedTarget(self) == MixedTarget(given) }
        guard kind == .document, count == given.count else { return isSame(as: given) }
        let copy = ByteBuffer(capacity: given.count)
        try copy.append(bytes: given.pointer, count: given.count)
        try MixedLinks.forgetStore(copy.base, copy.count)
        return isSame(as: Value(kind: .document, pointer: UnsafeRawPointer(copy.base), count: copy.count))
    }
}
