import Testing

import ObjStoreCore

/// A mixed value as a model has it.
indirect enum MixedTree: Hashable {
    struct Target: Hashable {
        let cls: Int
        let key: Int64
    }

    case null
    case int(Int64)
    case link(Target)
    case list([MixedTree])
    case map([MixedTree])

    func without(_ isGone: (Target) -> Bool) -> MixedTree {
        switch self {
        case .link(let target): isGone(target) ? .null : self
        case .list(let items): .list(items.map { $0.without(isGone) })
        case .map(let items): .map(items.map { $0.without(isGone) })
        default: self
        }
    }

    func forEach(_ body: (Target) -> Void) {
        switch self {
        case .link(let target): body(target)
        case .list(let items), .map(let items): for item in items { item.forEach(body) }
        default: break
        }
    }

    var isContainer: Bool {
        switch self {
        case .list, .map: true
        default: false
        }
    }
}

/// Turns them into values of a store and back; targets are numbers of classes.
struct MixedTrees {
    let classes: [UInt32]
    let storeTag: UInt32

    func object(_ target: MixedTree.Target, storeTag: UInt32) -> ObjectID {
        ObjectID(classID: classes[target.cls], storeTag: storeTag, key: target.key)
    }

    private func append(_ tree: MixedTree, to builder: DocumentBuilder, saysStore: Bool) throws {
        switch tree {
        case .null: try builder.append(.null)
        case .int(let number): try builder.append(.int(number))
        case .link(let target): try builder.append(.link(object(target, storeTag: saysStore ? storeTag : 0)))
        case .list(let items):
            try builder.begin(.list)
            for item in items { try append(item, to: builder, saysStore: saysStore) }
            try builder.end()
        case .map(let items):
            try builder.begin(.map)
            for (index, item) in items.enumerated() {
                try Array("k\(index)".utf8).withUnsafeBytes { try builder.key($0) }
                try append(item, to: builder, saysStore: saysStore)
            }
            try builder.end()
        }
    }

    /// - Parameter saysStore: links inside lists and maps name their store, as those of applications may.
    func withValue<T>(_ tree: MixedTree, saysStore: Bool, _ body: (Value) throws -> T) throws -> T {
        switch tree {
        case .null: return try body(.null)
        case .int(let number): return try body(.int(number))
        case .link(let target): return try body(.link(object(target, storeTag: storeTag)))
        default:
            let builder = DocumentBuilder()
            try append(tree, to: builder, saysStore: saysStore)
            return try withExtendedLifetime(builder) {
                try body(Value(kind: .document, pointer: builder.node.baseAddress, count: builder.node.count))
            }
        }
    }

    func tree(_ value: Value) throws -> MixedTree {
        switch value.kind {
        case .null: return .null
        case .int: return .int(value.low)
        case .link:
            return .link(
                MixedTree.Target(cls: classes.firstIndex(of: UInt32(truncatingIfNeeded: value.high))!, key: value.low))
        default: return try read(try MixedNode(value.pointer, value.count))
        }
    }

    private func read(_ node: MixedNode) throws -> MixedTree {
        let value = try node.value()
        guard value.kind == .document else {
            if value.kind == .link { #expect(value.high >> 32 == 0) }
            return try tree(value)
        }
        let container = try MixedContainer(node),
            items = try (0..<container.count).map { try read(try container.node($0)) }
        return container.kind == .list ? .list(items) : .map(items)
    }
}
