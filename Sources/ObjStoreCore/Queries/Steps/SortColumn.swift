internal import CSystem

/// One sort key of all objects of a list: of each eight bytes whose order is that of the values, where they differ. So
/// most objects are compared without looking at them again.
///
/// ```
///  null                         0
///  float, double, int           1 NaN, then the number
///  string, binary               the first eight bytes
///  timestamp, object id, uuid   the first word
///  link                         the key of the object
///  mixed                        the family
/// ```
final class SortColumn {
    let key: SortKey
    private let reader: ClusterReader
    private let positions: [Int]
    private let cls: ClassSchema
    private let run: PathRun?
    private let functions: FunctionRun?
    /// Of a key that calls functions, the values in the order of the list: they are called once.
    private var known: FunctionValues?
    /// In the order of the list that they were read from; upside down where the key is descending. Whoever sorts may
    /// put others there that have the same order.
    let prefixes: UnsafeMutablePointer<UInt64>
    private var ownsPrefixes = true
    /// Equal prefixes are equal values.
    private(set) var isExact = true
    /// Of a text: what lies behind the prefix decides next.
    let isText: Bool
    /// Of a property of texts, where they lie.
    private let places: UnsafeMutablePointer<TextPlace>?

    /// - Parameter isAscending: the list is in the order of creation.
    init(
        _ key: SortKey, _ list: KeyBuffer, isAscending: Bool, _ reader: ClusterReader, _ trees: TreeAccess,
        _ cls: ClassSchema
    ) throws(StoreError) {
        self.key = key
        self.cls = cls
        run = try key.path.map { (path) throws(StoreError) in try PathRun(trees, path.properties, levels: path.levels) }
        self.reader = reader
        positions = try cls.positions(key.properties)
        functions = key.calls.isEmpty ? nil : FunctionRun(trees)
        isText = key.value.kind.isText && key.modifiers.isEmpty && !key.isFirstLetter
        let isProperty = BlockPrefixes.has(key.value.kind) && run == nil && functions == nil && !key.isFirstLetter
        let isPlain = isProperty && key.value.steps.count == 1 && key.modifiers.isEmpty
        prefixes = try Memory.allocate(UInt64.self, max(1, list.count))
        do throws(StoreError) {
            places = isPlain && isText ? try Memory.allocate(TextPlace.self, max(1, list.count)) : nil
        } catch {
            prefixes.deallocate()
            throw error
        }
        if isPlain {
            try read(list, isAscending: isAscending)
            return
        }
        if let functions { try computeAll(list, functions) }
        try fill(list)
    }

    /// Of values that are known, in the order of the list.
    init(
        _ key: SortKey, of values: FunctionValues, _ list: KeyBuffer, _ reader: ClusterReader, _ cls: ClassSchema
    ) throws(StoreError) {
        self.key = key
        self.cls = cls
        self.reader = reader
        (run, functions, positions, places, known) = (nil, nil, [], nil, values)
        isText = key.value.kind.isText && key.modifiers.isEmpty
        prefixes = try Memory.allocate(UInt64.self, max(1, list.count))
        try fill(list)
    }

    deinit {
        if ownsPrefixes { prefixes.deallocate() }
        places?.deallocate()
    }

    /// The memory of the prefixes, for whoever has sorted and deallocates it; nil: it was taken.
    func takePrefixes() -> UnsafeMutablePointer<UInt64>? {
        defer { ownsPrefixes = false }
        return ownsPrefixes ? prefixes : nil
    }

    /// Of a property: a block at a time.
    private func read(_ list: KeyBuffer, isAscending: Bool) throws(StoreError) {
        let blocks = try RowBlocks(reader, list, isAscending: isAscending)
        let block = try BlockPrefixes(
            reader, positions[0], key.value.kind, isDescending: key.isDescending, wantsPlaces: isText)
        while try blocks.advance() {
            (prefixes + blocks.start).update(from: try block.read(blocks), count: blocks.count)
            if let places, let read = block.places {
                (places + blocks.start).update(from: read, count: blocks.count)
            }
        }
        isExact = !isText && !(block.hasNull && block.hasLeast)
    }

    private func fill(_ list: KeyBuffer) throws(StoreError) {
        var finder = RowFinder(reader), hasNull = false, hasLeast = false, hasOther = false
        for index in 0..<list.count {
            let value = try value(index, list, &finder)
            var prefix: UInt64
            if value.isNull {
                hasNull = true
                prefix = 0
            } else {
                prefix = try self.prefix(value, &hasOther)
                if prefix == 0 { hasLeast = true }
            }
            prefixes[index] = key.isDescending ? ~prefix : prefix
        }
        if hasNull && hasLeast { isExact = false }
        // Folding may change what follows another character: nothing is known from the first bytes alone.
        if hasOther { for index in 0..<list.count { prefixes[index] = 0 } }
    }

    private func prefix(_ value: Value, _ hasOther: inout Bool) throws(StoreError) -> UInt64 {
        switch value.kind {
        case .bool, .int:
            if key.value.kind == .mixed { break }
            return UInt64(bitPattern: value.low) ^ 1 &<< 63
        case .float, .double:
            if key.value.kind == .mixed { break }
            return SortColumn.prefix(value.kind == .float ? Double(value.asFloat) : value.asDouble)
        case .timestamp, .objectID, .uuid:
            if key.value.kind == .mixed { break }
            isExact = false
            return UInt64(bitPattern: value.low) ^ 1 &<< 63
        // Of one class all.
        case .link where key.value.kind == .link: return UInt64(bitPattern: value.low) ^ 1 &<< 63
        case .string, .binary:
            if key.value.kind == .mixed { break }
            if key.isFirstLetter { return FirstLetter.number(value) }
            isExact = false
            return value.kind == .string && !key.modifiers.isEmpty
                ? folded(value, &hasOther) : SortColumn.bytes(value, from: 0)
        default: break
        }
        isExact = false
        return UInt64(try MixedOrder.family(value))
    }

    /// Of a number what is in the order of numbers of its kind; of null 0, of everything else 1: what is equal has to
    /// be compared.
    static func prefix(ofNumber value: Value) -> UInt64 {
        switch value.kind {
        case .null: 0
        case .bool, .int: max(1, UInt64(bitPattern: value.low) ^ 1 &<< 63)
        case .float: prefix(Double(value.asFloat))
        case .double: prefix(value.asDouble)
        default: 1
        }
    }

    static func prefix(_ value: Double) -> UInt64 {
        if value.isNaN { return 1 }
        let bits = (value == 0 ? 0 : value).bitPattern
        return bits >> 63 == 1 ? ~bits : bits | 1 &<< 63
    }

    /// Eight bytes of a text, as the number whose order is theirs.
    static func bytes(_ value: Value, from start: Int) -> UInt64 {
        let count = min(8, value.count - start)
        if count <= 0 { return 0 }
        let pointer = value.pointer.unsafelyUnwrapped + start
        if count == 8 { return UInt64(bigEndian: pointer.loadUnaligned(as: UInt64.self)) }
        var word: UInt64 = 0
        for index in 0..<count {
            word |= UInt64(pointer.load(fromByteOffset: index, as: UInt8.self)) &<< UInt64(56 - 8 * index)
        }
        return word
    }

    private func folded(_ value: Value, _ hasOther: inout Bool) -> UInt64 {
        var word = SortColumn.bytes(value, from: 0)
        if word & 0x8080_8080_8080_8080 != 0 {
            hasOther = true
            return 0
        }
        if !key.foldsCase { return word }
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            let byte = word &>> shift & 0xff
            if byte >= 0x41 && byte <= 0x5a { word |= 0x20 &<< shift }
        }
        return word
    }

    /// Of the object at an index of the list.
    func value(_ index: Int, _ list: KeyBuffer, _ finder: inout RowFinder) throws(StoreError) -> Value {
        if let known { return known[index] }
        return try value(try finder.row(list.keys[index]))
    }

    private func value(_ row: RowPosition) throws(StoreError) -> Value {
        if let run, let path = key.path {
            run.begin(row, cls)
            return try run.value(path.source)
        }
        return try key.value.value(functions) { (number) throws(StoreError) in
            try reader.plainValue(row, positions[number])
        }
    }

    private func computeAll(_ list: KeyBuffer, _ functions: FunctionRun) throws(StoreError) {
        let values = try FunctionValues(list.count)
        var finder = RowFinder(reader)
        if key.path == nil, key.calls.contains(where: \.isBatch) {
            let batch = try FunctionBatch([key.value], positions, reader, functions)
            var start = 0
            while start < list.count {
                let end = min(start + FunctionBatch.rows, list.count)
                var rows: [RowPosition] = []
                rows.reserveCapacity(end - start)
                for index in start..<end { rows.append(try finder.row(list.keys[index])) }
                try batch.forEach(rows) { (value) throws(StoreError) in try values.append(value) }
                start = end
            }
        } else {
            for index in 0..<list.count {
                functions.begin()
                try values.append(try value(try finder.row(list.keys[index])))
            }
        }
        known = values
    }

    /// The order of the objects at two indexes of the list, as the key has it: null first, then NaN. A descending one
    /// turns it round.
    func compare(_ a: Int, _ b: Int, _ list: KeyBuffer, _ finder: inout RowFinder) throws(StoreError) -> Int {
        let order: Int
        if let places, !places[a].isLong, !places[b].isLong {
            order = SortColumn.order(places[a], places[b])
        } else {
            order = try SortColumn.compare(try value(a, list, &finder), try value(b, list, &finder), key.modifiers)
        }
        return key.isDescending ? -order : order
    }

    /// Eight bytes of a text from a place on, and whether there are more than these; of `isText`.
    func word(
        _ index: Int, from start: Int, _ list: KeyBuffer, _ finder: inout RowFinder
    ) throws(StoreError) -> (word: UInt64, isLonger: Bool) {
        let text: Value
        if let places, !places[index].isLong {
            text = .string(places[index].pointer, places[index].count)
        } else {
            text = try value(index, list, &finder)
        }
        let word = SortColumn.bytes(text, from: start)
        return (key.isDescending ? ~word : word, text.count > start)
    }

    /// Bytewise; null first.
    private static func order(_ a: TextPlace, _ b: TextPlace) -> Int {
        if a.isNull || b.isNull { return a.isNull ? (b.isNull ? 0 : -1) : 1 }
        let common = min(a.count, b.count)
        if common > 0, let one = a.pointer, let other = b.pointer {
            let order = Int(memcmp(one, other, common))
            if order != 0 { return order }
        }
        return a.count - b.count
    }

    /// With what `[c]` and `[d]` leave of texts.
    static func compare(_ a: Value, _ b: Value, _ modifiers: QueryNode.Modifiers) throws(StoreError) -> Int {
        if !modifiers.isEmpty, a.kind == .string, b.kind == .string {
            return TextPattern.compareFolded(
                a.pointer, a.count, b.pointer, b.count, foldsCase: modifiers.contains(.ignoresCase),
                foldsAccents: modifiers.contains(.ignoresAccents))
        }
        return try SortColumn.order(a, b)
    }

    /// The order of two values, ascending: null first, then by their families, of numbers NaN first.
    static func order(_ a: Value, _ b: Value) throws(StoreError) -> Int {
        if a.isNull || b.isNull { return a.isNull ? (b.isNull ? 0 : -1) : 1 }
        let family = try MixedOrder.family(a), other = try MixedOrder.family(b)
        if family != other { return family - other }
        if a.isNaN || b.isNaN { return a.isNaN ? (b.isNaN ? 0 : -1) : 1 }
        return try MixedOrder.compare(a, b)
    }
}
