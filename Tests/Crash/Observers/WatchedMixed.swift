import ObjStoreCore

/// What a mixed property has, as plain values.
enum WatchedMixed: Hashable, CustomStringConvertible {
    case int(Int64)
    case text(String)
    case list([WatchedMixed])
    case map([String: WatchedMixed])

    /// A key of a map, or an index of a list.
    enum Step: Hashable, Sendable, CustomStringConvertible {
        case key(String)
        case index(Int)

        var description: String {
            switch self {
            case .key(let key): key
            case .index(let index): "\(index)"
            }
        }
    }

    var isMap: Bool { if case .map = self { true } else { false } }
    var isContainer: Bool { if case .list = self { true } else { isMap } }

    /// Nil: nothing is there.
    func at(_ path: some Collection<Step>) -> WatchedMixed? {
        guard let first = path.first else { return self }
        let rest = path.dropFirst()
        switch (self, first) {
        case (.map(let map), .key(let key)): return map[key]?.at(rest)
        case (.list(let list), .index(let index)):
            let place = index < 0 ? list.count + index : index
            return list.indices.contains(place) ? list[place].at(rest) : nil
        default: return nil
        }
    }

    /// - Parameter change: of what is at the end of the path, which is there.
    mutating func change(_ path: some Collection<Step>, _ change: (inout WatchedMixed) -> Void) {
        guard let first = path.first else { return change(&self) }
        switch (self, first) {
        case (.map(var map), .key(let key)):
            map[key]!.change(path.dropFirst(), change)
            self = .map(map)
        case (.list(var list), .index(let index)):
            list[index].change(path.dropFirst(), change)
            self = .list(list)
        default: break
        }
    }

    /// The ways to all lists and maps in it, also to itself.
    var containers: [[Step]] {
        switch self {
        case .int, .text: []
        case .list(let list):
            [[]] + list.enumerated().flatMap { place, value in value.containers.map { [.index(place)] + $0 } }
        case .map(let map):
            [[]] + map.keys.sorted().flatMap { key in map[key]!.containers.map { [.key(key)] + $0 } }
        }
    }

    var description: String {
        switch self {
        case .int(let number): "\(number)"
        case .text(let text): "'\(text)'"
        case .list(let list): "\(list)"
        case .map(let map): "{" + map.keys.sorted().map { "\($0): \(map[$0]!)" }.joined(separator: ", ") + "}"
        }
    }
}

// MARK: As the library has it

extension WatchedMixed {
    /// They stay for ever: keys of maps are few.
    nonisolated(unsafe) private static var keys: [String: UnsafeRawBufferPointer] = [:]

    private static func bytes(_ key: String) -> UnsafeRawBufferPointer {
        if let known = keys[key] { return known }
        let text = Array(key.utf8), copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        copy.copyBytes(from: text)
        keys[key] = UnsafeRawBufferPointer(copy)
        return UnsafeRawBufferPointer(copy)
    }

    static func path(_ steps: [Step]) -> [MixedStep] {
        steps.map { step in
            switch step {
            case .key(let key): .key(bytes(key))
            case .index(let index): .index(index)
            }
        }
    }

    func with(_ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        let builder = DocumentBuilder()
        try write(to: builder)
        switch self {
        case .int(let number): try body(.int(number))
        case .text(let text):
            let key = WatchedMixed.bytes(text)
            try body(.string(key.baseAddress, key.count))
        case .list, .map:
            let node = builder.node
            try body(Value(kind: .document, pointer: node.baseAddress, count: node.count))
        }
        withExtendedLifetime(builder) {}
    }

    private func write(to builder: DocumentBuilder) throws(StoreError) {
        switch self {
        case .int(let number): try builder.append(.int(number))
        case .text(let text):
            let bytes = WatchedMixed.bytes(text)
            try builder.append(.string(bytes.baseAddress, bytes.count))
        case .list(let list):
            try builder.begin(.list)
            for value in list { try value.write(to: builder) }
            try builder.end()
        case .map(let map):
            try builder.begin(.map)
            for key in map.keys.sorted() {
                try builder.key(WatchedMixed.bytes(key))
                try map[key]!.write(to: builder)
            }
            try builder.end()
        }
    }

    /// What a frozen view, or a transaction, has there; nil: null, or nothing.
    static func read(
        _ view: View, _ object: ObjectID, _ propertyID: UInt32, _ steps: [Step] = []
    ) throws(StoreError) -> WatchedMixed? {
        let way = path(steps)
        guard let value = try view.mixed(object, propertyID, way, whole: false, nil) else { return nil }
        switch value.kind {
        case .int: return .int(value.low)
        case .string: return .text(String(value))
        case .list:
            var list: [WatchedMixed] = []
            for index in 0..<Int(value.low) {
                if let element = try read(view, object, propertyID, steps + [.index(index)]) { list.append(element) }
            }
            return .list(list)
        case .map:
            var keys: [String] = [], map: [String: WatchedMixed] = [:]
            _ = try view.mixedKeys(object, propertyID, way, from: 0, limit: .max, nil) { keys.append(String($1)) }
            for key in keys { map[key] = try read(view, object, propertyID, steps + [.key(key)]) }
            return .map(map)
        default: return nil
        }
    }
}

extension String {
    /// Of a text.
    init(_ value: Value) {
        self.init(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self)
    }
}
