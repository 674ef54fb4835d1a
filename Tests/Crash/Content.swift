import ObjStoreCore

/// What the store should contain: its objects by class and primary key.
typealias Content = [Name: Item]

/// Class and primary key of an object.
struct Name: Hashable, Comparable, CustomStringConvertible {
    var cls = 0
    var id: Int64
    static func < (a: Name, b: Name) -> Bool { (a.cls, a.id) < (b.cls, b.id) }
    var description: String { cls == 0 ? "\(id)" : "\(cls):\(id)" }
}

/// The properties of an object that are not its key; both classes have the same, and three more that follow from the
/// number (`Derived`). `friend` is the id of an object of the first class, to which a link leads: null once that is
/// deleted. `pals` are more of them, some twice: a list of an `Item`, the values of a map of a `Note`, whose keys are
/// 0, 1, 2 and so on.
struct Item: Equatable, CustomStringConvertible {
    var number: Int64
    var text: String?
    var friend: Int64?
    var pals: [Int64?] = []
    var description: String {
        """
        \(number)/\((text ?? "-").prefix(40))\(friend.map { "→\($0)" } ?? "")\
        \(pals.isEmpty ? "" : "⇉\(pals.map { $0.map(String.init) ?? "-" })")
        """
    }
}

/// Values of the kinds that need two words, floats, and elements of a list or map: a row that lost one half of a change
/// shows it.
enum Derived {
    /// Another one for each object: `id`.
    static func mark(_ kind: ValueKind, _ number: Int64, _ id: Int64) -> Value {
        kind == .uuid
            ? Value(kind: kind, low: number &* 0x1234_5678_9abc_def1, high: ~id)
            : Value(kind: kind, low: ~number, high: id & 0xffff_ffff)
    }
    static func price(_ kind: ValueKind, _ number: Int64) -> Value {
        if number % 5 == 3 { return .null }
        return kind == .float
            ? .float(Float(number) / 4) : Value(kind: kind, low: number & 0xffff, high: 0x303c_0000_0000_0000)
    }

    /// The elements of the list of an `Item`, or of the map of a `Note` (where they are the keys, too): none, few that
    /// stay in the row, or so many that they lie in the tree.
    static func trail(_ number: Int64) -> [Int64] {
        switch number % 5 {
        case 2: [number, -number, 100]
        case 4: (0..<12).map { number << 40 + $0 }
        default: []
        }
    }

    /// The text in the property of an `Item` that comes and goes (`Edit.exchange`), which has that column: no object
    /// has that of another one. Null in objects that were not written since. Where the property is a list, it is empty
    /// or the trail.
    static func extra(_ column: UInt32, _ number: Int64) -> String { "x\(column):\(number)" }

    /// Whether a row's values, but the first and the text, follow from its number.
    static func fit(_ snapshot: Snapshot, _ cls: Int, _ key: Int64, _ values: [Value]) throws(StoreError) -> Bool {
        guard fit(values) else { return false }
        if values.count == 5 { return true }
        let number = values[1].low, wanted = cls == 0 ? trail(number) : trail(number).sorted()
        guard try elements(snapshot, cls, 5, key, values) == wanted else { return false }
        if cls == 1 {
            return values.count == 9
                && document(number).elementsEqual(
                    UnsafeRawBufferPointer(start: values[8].pointer, count: values[8].count))
        }
        let extra = snapshot.schema.classes[0].properties[8]
        if extra.kind == .list {
            let found = try elements(snapshot, cls, 8, key, values)
            return found == [] || found == wanted
        }
        return values[8].isNull
            || UnsafeRawBufferPointer(start: values[8].pointer, count: values[8].count).elementsEqual(
                Derived.extra(extra.columnID, number).utf8)
    }

    /// A document {"l": [number, …], "n": number} of a `Note`, which is changed from within.
    static func document(_ number: Int64) -> [UInt8] {
        let builder = DocumentBuilder()
        try! builder.begin(.map)
        try! withKey("n") { (key) throws(StoreError) in try builder.key(key) }
        try! builder.append(.int(number))
        try! withKey("l") { (key) throws(StoreError) in try builder.key(key) }
        try! builder.begin(.list)
        for index in 0..<documentCount(number) { try! builder.append(.int(number &+ index)) }
        try! builder.end()
        try! builder.end()
        return Array(builder.node)
    }
    static let emptyList = Value(
        kind: .document, pointer: UnsafeRawPointer(("\u{c}\u{1}\u{0}" as StaticString).utf8Start), count: 3)
    static func documentCount(_ number: Int64) -> Int64 { [0, 2, 9, 1][Int(number & 3)] }

    static func withKey<R>(
        _ key: StaticString, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try body(UnsafeRawBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
    }

    /// The elements of a list, or of a map of which keys and values are the same.
    private static func elements(
        _ snapshot: Snapshot, _ cls: Int, _ property: Int, _ key: Int64, _ values: [Value]
    ) throws(StoreError) -> [Int64]? {
        var found: [Int64]? = []
        try snapshot.elements(cls, property, of: key, values[property]).forEach { name, value in
            if cls == 1, name.low != value.low { found = nil }
            found?.append(value.low)
            return found != nil
        }
        return found
    }

    /// Whether two of a row's values follow from its number.
    private static func fit(_ values: [Value]) -> Bool {
        let number = values[1].low
        let kinds: [ValueKind] = values[3].kind == .uuid ? [.uuid, .decimal128] : [.objectID, .float]
        return values[3].isSame(as: mark(kinds[0], number, values[0].low))
            && values[4].isSame(as: price(kinds[1], number))
    }
}

/// One thing that a transaction does.
enum Edit {
    case put(Name, Item)
    /// Created where it is missing, so that there is something to commit.
    case delete(Name)
    /// The second class, for stores that have only the first one; comes first in its transaction.
    case addClass
    /// A property of the first class is dropped, another one added, and a third gets another name; comes first in its
    /// transaction.
    case exchange
    /// New objects of the first class from columns: ids from `first` on.
    case columns(first: Int64, count: Int)
    /// Objects that lie alone in their leaves, so that to change them all frees as many extents; the first time
    /// it creates them, later it changes each one's number.
    case scattered(first: Int64, count: Int)
    /// A change of those of several objects that are there, in one step.
    case together(Together, cls: Int, ids: [Int64])
    /// All objects of all classes are deleted.
    case clear
    /// A savepoint around other edits, released or rolled back.
    indirect case scope([Edit], undone: Bool)
}

enum Schemas {
    /// Classes of few columns and indexes, for courses that depend on how many pages a commit takes.
    nonisolated(unsafe) static var arePlain = false
    static var first: Schema { arePlain ? plainFirst : fullFirst }
    static var second: Schema { arePlain ? plainSecond : fullSecond }

    private static let fullFirst = Schema(classes: [item], version: 1)
    private static let fullSecond = Schema(classes: [item, note], version: 2)
    private static let plainFirst = Schema(
        classes: [plain("Item", 0, .uuid, .decimal128, indexed: [1, 3])], version: 1)
    private static let plainSecond = Schema(
        classes: [plainFirst.classes[0], plain("Note", 1, .objectID, .float, indexed: [2, 4])], version: 2)

    private static func plain(
        _ name: String, _ id: UInt32, _ mark: ValueKind, _ price: ValueKind, indexed: Set<Int>
    ) -> ClassSchema {
        let properties =
            [
                ("id", .int, false), ("number", .int, false), ("text", .string, true), ("mark", mark, false),
                ("price", price, true),
            ] as [(String, ValueKind, Bool)]
        return ClassSchema(
            name: name, id: id,
            properties: properties.enumerated().map { index, property in
                PropertySchema(
                    name: property.0, kind: property.1, columnID: UInt32(index), isNullable: property.2,
                    isPrimaryKey: index == 0,
                    isIndexed: indexed.contains(index))
            }, nextColumnID: 5)
    }

    private static let item = ClassSchema(
        name: "Item", id: 0,
        properties: [
            PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
            PropertySchema(name: "number", kind: .int, columnID: 1, isIndexed: true),
            PropertySchema(name: "text", kind: .string, columnID: 2, isNullable: true),
            PropertySchema(name: "mark", kind: .uuid, columnID: 3, isUnique: true),
            PropertySchema(name: "price", kind: .decimal128, columnID: 4, isNullable: true),
            PropertySchema(name: "trail", kind: .list, columnID: 5, elements: ElementSchema(kind: .int)),
            PropertySchema(name: "friend", kind: .link, columnID: 6, isNullable: true, target: 0),
            PropertySchema(name: "pals", kind: .list, columnID: 7, target: 0, elements: ElementSchema(kind: .link)),
            extra(8),
        ], nextColumnID: 9, compounds: itemIndexes, nextIndexID: 1 << 16 + 2)

    private static let itemIndexes = [compound(0, [1, 2], false), compound(1, [4, 3, 2], true)]

    private static func extra(_ column: UInt32) -> PropertySchema {
        column % 2 == 0
            ? PropertySchema(name: "extra\(column)", kind: .list, columnID: column, elements: ElementSchema(kind: .int))
            : PropertySchema(name: "extra\(column)", kind: .string, columnID: column, isNullable: true, isIndexed: true)
    }

    /// The same with another last property of the first class, and another name of one.
    static func exchanged(_ schema: Schema) -> Schema {
        let old = schema.classes[0], column = old.nextColumnID
        var properties = Array(old.properties.dropLast())
        properties[4].name = "price\(column)"
        properties.append(extra(column))
        let new = ClassSchema(
            name: old.name, id: 0, properties: properties, nextColumnID: column + 1, compounds: itemIndexes,
            nextIndexID: old.nextIndexID)
        return Schema(classes: [new] + schema.classes.dropFirst(), version: schema.version + 1)
    }

    private static func compound(_ number: UInt32, _ properties: [Int], _ isUnique: Bool) -> IndexSchema {
        IndexSchema(id: 1 << 16 + number, properties: properties, isUnique: isUnique)
    }

    /// Its index is one of texts.
    private static let note = ClassSchema(
        name: "Note", id: 1,
        properties: [
            PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
            PropertySchema(name: "number", kind: .int, columnID: 1),
            PropertySchema(name: "text", kind: .string, columnID: 2, isNullable: true, isIndexed: true),
            PropertySchema(name: "mark", kind: .objectID, columnID: 3),
            PropertySchema(name: "price", kind: .float, columnID: 4, isNullable: true, isIndexed: true),
            PropertySchema(name: "trail", kind: .map, columnID: 5, elements: ElementSchema(kind: .int, keyKind: .int)),
            PropertySchema(name: "friend", kind: .link, columnID: 6, isNullable: true, target: 0),
            PropertySchema(
                name: "pals", kind: .map, columnID: 7, target: 0,
                elements: ElementSchema(kind: .link, isNullable: true, keyKind: .int)),
            PropertySchema(name: "document", kind: .mixed, columnID: 8, isNullable: true, isIndexed: true),
        ], nextColumnID: 9)
}

/// Carries edits out in a transaction, and in what the oracle expects.
struct Editor {
    static let fromColumns: Range<Int64> = 10_000..<1_000_000_000
    let transaction: WriteTransaction
    var content: Content
    /// What the transaction found is not what the content says.
    var mismatch: String?

    init(_ transaction: WriteTransaction, _ content: Content) {
        self.transaction = transaction
        self.content = content
    }

    mutating func apply(_ edits: [Edit]) throws(StoreError) {
        // The class must be there before anything is looked at.
        let wantsSecond = edits.contains { if case .addClass = $0 { true } else { false } }
        let wanted = wantsSecond ? Schemas.second : Schemas.first
        if transaction.schema.classes.count < wanted.classes.count {
            // The first class may have other properties by now.
            let classes = transaction.schema.classes + wanted.classes.dropFirst(transaction.schema.classes.count)
            try transaction.setSchema(
                Schema(classes: classes, version: max(transaction.schema.version, wanted.version)))
        }
        let exchanges = edits.contains { if case .exchange = $0 { true } else { false } }
        if exchanges, !Schemas.arePlain { try transaction.change(to: Schemas.exchanged(transaction.schema)) }
        for edit in edits where mismatch == nil { try apply(edit) }
    }

    private mutating func apply(_ edit: Edit) throws(StoreError) {
        try carryOut(edit)
        try transaction.spillIfLarge()
    }

    private mutating func carryOut(_ edit: Edit) throws(StoreError) {
        switch edit {
        case .addClass, .exchange: break
        case .put(let name, var item):
            let name = known(name)
            // Those that come from columns are only changed: their columns may be still to come.
            if Editor.fromColumns.contains(name.id), content[name] == nil { return }
            item.friend = friend(item.number &+ name.id)
            item.pals = pals(name.cls, item.number &+ name.id)
            if let key = try find(name) {
                try update(name, key, item)
            } else if mismatch == nil {
                let key = try withValues(name, item) { (values) throws(StoreError) in
                    try transaction.state(name.cls).create(values)
                }
                try setTrail(name.cls, key, item.number)
                try setPals(name.cls, key, item.pals)
            }
            content[name] = item
        case .delete(let name):
            let name = known(name)
            guard let key = try find(name) else { return try apply(.put(name, Item(number: 0, text: nil))) }
            try transaction.delete(name.cls, key)
            content[name] = nil
            if name.cls == 0 { forget([name.id]) }
        case .together(let change, let cls, let ids): try carryOut(change, cls, ids)
        case .clear:
            let transaction = transaction
            let count = try transaction.whole { () throws(StoreError) in try transaction.deleteEverything() }
            if count != content.count { mismatch = "\(count) objects were deleted, expected \(content.count)" }
            content.removeAll()
        case .scope(let edits, let undone):
            let before = content
            let savepoint = try transaction.beginSavepoint()
            for edit in edits where mismatch == nil { try apply(edit) }
            if undone {
                try transaction.rollBack(toSavepoint: savepoint)
                content = before
            } else {
                try transaction.releaseSavepoint(savepoint)
            }
        case .columns(let first, let count):
            try createColumns(first, count)
        case .scattered(let first, let count):
            for id in first..<(first + Int64(count)) {
                let name = Name(id: id)
                if let item = content[name] {
                    try apply(.put(name, Item(number: item.number + 1, text: nil)))
                } else {
                    let state = try transaction.state(0)
                    try apply(.put(name, Item(number: 0, text: nil)))
                    if let key = try find(name) { state.raiseNextKey(to: (key / 8192 + 1) * 8192) }
                }
            }
        }
    }

    /// Of the first class while there is no second one.
    private func known(_ name: Name) -> Name { name.cls < transaction.schema.classes.count ? name : Name(id: name.id) }

    /// One of the few objects that come and go, if it is there.
    func friend(_ seed: Int64) -> Int64? {
        if Schemas.arePlain { return nil }
        let id = seed % 6
        return seed % 4 != 0 && content[Name(id: id)] != nil ? id : nil
    }

    /// None, few that stay in the row, or so many that they lie in the tree.
    private func pals(_ cls: Int, _ seed: Int64) -> [Int64?] {
        if Schemas.arePlain { return [] }
        let count = [0, 3, 1, 45][Int(seed & 3)]
        let all: [Int64?] = (0..<Int64(count)).map { index in
            let id = (seed &+ index * 5) % 6
            return content[Name(id: id)] != nil ? id : nil
        }
        return cls == 0 ? all.filter { $0 != nil } : all
    }

    /// In two steps.
    private func setPals(_ cls: Int, _ key: Int64, _ pals: [Int64?]) throws(StoreError) {
        if Schemas.arePlain { return }
        let state = try transaction.state(cls), count = try state.elements(key, 7).count()
        var wanted: [(key: Value, value: Value)] = []
        for (index, pal) in pals.enumerated() { wanted.append((cls == 0 ? .null : .int(Int64(index)), try link(pal))) }
        if count > 1 { try state.splice(key, 7, count / 2..<count, []) }
        let left = count > 1 ? count / 2 : count
        if left == 0 && wanted.isEmpty { return }
        try state.splice(key, 7, 0..<left, wanted[...])
    }

    func link(_ friend: Int64?) throws(StoreError) -> Value {
        guard let friend, let key = try transaction.state(0).find(primaryKey: .int(friend)) else { return .null }
        return Value(kind: .link, low: key)
    }

    mutating func find(_ name: Name) throws(StoreError) -> Int64? {
        let key = try transaction.state(name.cls).find(primaryKey: .int(name.id))
        if (key != nil) != (content[name] != nil) {
            mismatch =
                """
                object \(name) is \(key == nil ? "missing" : "there") in a transaction, expected \
                \(String(describing: content[name]))
                """
            return nil
        }
        return key
    }

    private func update(_ name: Name, _ key: Int64, _ item: Item) throws(StoreError) {
        let state = try transaction.state(name.cls)
        try withValues(name, item) { (values) throws(StoreError) in
            // Together, or one after the other.
            if Schemas.arePlain {
                for property in 1...4 { try state.update(key, property, values[property]) }
                return
            }
            let written = hasText(name.cls) ? [1, 2, 3, 4, 6, 8] : [1, 2, 3, 4, 6]
            if name.cls == 0, item.number % 2 == 0 {
                return try state.update(try state.row(key), written, written.map { values[$0] }, written.count)
            }
            for property in written { try state.update(key, property, values[property]) }
        }
        try setTrail(name.cls, key, item.number)
        try setPals(name.cls, key, item.pals)
        if name.cls == 1, !Schemas.arePlain { try editDocument(state, key, item.number) }
    }

    /// From within: the log has each step.
    private func editDocument(_ state: ClassState, _ key: Int64, _ number: Int64) throws(StoreError) {
        try Derived.withKey("n") { (n) throws(StoreError) in try state.edit(key, 8, [.key(n)], .set, .int(number)) }
        try Derived.withKey("l") { (l) throws(StoreError) in
            try state.edit(key, 8, [.key(l)], .set, Derived.emptyList)
            for index in 0..<Derived.documentCount(number) {
                try state.edit(key, 8, [.key(l), .index(-1)], .insert, .int(number &+ index))
            }
            if number & 7 == 1 {
                try state.edit(key, 8, [.key(l), .index(0)], .insert, .bool(true))
                try state.edit(key, 8, [.key(l), .index(0)], .remove, .null)
            }
        }
    }

    /// The property of the first class that comes and goes, where it is a text, not a list.
    private var extra: PropertySchema { transaction.schema.classes[0].properties[8] }
    private func hasText(_ cls: Int) -> Bool { !Schemas.arePlain && cls == 0 && extra.kind == .string }

    /// In two steps, so that elements are removed and inserted.
    private func setTrail(_ cls: Int, _ key: Int64, _ number: Int64) throws(StoreError) {
        if Schemas.arePlain { return }
        try setTrail(cls, key, number, 5)
        if cls == 0, extra.kind == .list { try setTrail(cls, key, number, 8) }
    }

    private func setTrail(_ cls: Int, _ key: Int64, _ number: Int64, _ property: Int) throws(StoreError) {
        let state = try transaction.state(cls), count = try state.elements(key, property).count()
        let wanted = cls == 0 ? Derived.trail(number) : Derived.trail(number).sorted()
        if count > 1 { try state.splice(key, property, count / 2..<count, []) }
        let left = count > 1 ? count / 2 : count
        if left == 0 && wanted.isEmpty { return }
        try state.splice(
            key, property, 0..<left, wanted.map { (key: cls == 0 ? .null : .int($0), value: .int($0)) }[...])
    }

    private func withValues<R>(
        _ name: Name, _ item: Item, _ body: (UnsafePointer<Value>) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var text = item.text ?? ""
        // Tasks that are killed leak what they hold.
        let bytes = text.withUTF8 { utf8 in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, utf8.count), alignment: 1)
            copy.copyMemory(from: UnsafeRawBufferPointer(utf8))
            return copy
        }
        let values = UnsafeMutablePointer<Value>.allocate(capacity: 9)
        let extra = Array((hasText(name.cls) ? Derived.extra(extra.columnID, item.number) : "").utf8)
        let document = name.cls == 1 ? Derived.document(item.number) : []
        let extraBytes = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(1, extra.count, document.count), alignment: 1)
        extraBytes.copyBytes(from: name.cls == 1 ? document : extra)
        defer {
            values.deallocate()
            bytes.deallocate()
            extraBytes.deallocate()
        }
        values.initialize(to: .int(name.id))
        (values + 1).initialize(to: .int(item.number))
        (values + 2).initialize(
            to: item.text == nil ? .null : .string(UnsafeRawPointer(bytes.baseAddress!), text.utf8.count))
        (values + 3).initialize(to: Derived.mark(name.cls == 0 ? .uuid : .objectID, item.number, name.id))
        (values + 4).initialize(to: Derived.price(name.cls == 0 ? .decimal128 : .float, item.number))
        (values + 5).initialize(to: .zero(of: name.cls == 0 ? .list : .map))
        (values + 6).initialize(to: try link(item.friend))
        (values + 7).initialize(to: .zero(of: name.cls == 0 ? .list : .map))
        (values + 8).initialize(
            to: name.cls == 1
                ? Value(kind: .mixed, pointer: UnsafeRawPointer(extraBytes.baseAddress!), count: document.count)
                : hasText(name.cls) ? .string(UnsafeRawPointer(extraBytes.baseAddress!), extra.count) : .zero(of: .list)
        )
        return try body(values)
    }

    /// One of four texts.
    static func few(_ row: Int) -> [UInt8] { [UInt8](repeating: UInt8(97 + row % 4), count: 120) }

    private mutating func createColumns(_ first: Int64, _ count: Int) throws(StoreError) {
        let friend = friend(first + 1), target = try link(friend)
        let numbers = UnsafeMutablePointer<Int64>.allocate(capacity: 8 * count + 1)
        // Two letters, nearly all different; or few texts that are so long that a dictionary takes 128 rows.
        let isFew = first / 1000 % 2 == 1 && !Schemas.arePlain, length = isFew ? 120 : 2
        func text(_ row: Int) -> [UInt8] {
            isFew ? Editor.few(row) : [UInt8(97 + row % 26), UInt8(97 + row / 26 % 26)]
        }
        let letters = UnsafeMutablePointer<UInt8>.allocate(capacity: length * count)
        defer {
            numbers.deallocate()
            letters.deallocate()
        }
        let words = numbers + 3 * count + 1
        let validity = UnsafeMutablePointer<UInt8>.allocate(capacity: 2 * (count / 8 + 1))
        defer { validity.deallocate() }
        validity.initialize(repeating: 0, count: 2 * (count / 8 + 1))
        let linked = validity + count / 8 + 1
        let nothing = UnsafeMutablePointer<Int64>.allocate(capacity: count + 1)
        defer { nothing.deallocate() }
        nothing.initialize(repeating: 0, count: count + 1)
        let offsets = numbers + 2 * count
        for row in 0..<count {
            numbers[row] = first + Int64(row)
            numbers[count + row] = Int64(row % 5)
            offsets[row] = Int64(length * row)
            let mark = Derived.mark(.uuid, numbers[count + row], numbers[row]),
                price = Derived.price(.decimal128, numbers[count + row])
            (words[row], words[count + row], words[2 * count + row], words[3 * count + row]) = (
                mark.low, mark.high, price.low, price.high
            )
            if !price.isNull { validity[row / 8] |= 1 << UInt8(row % 8) }
            words[4 * count + row] = target.low
            if !target.isNull, row % 3 == 0 { linked[row / 8] |= 1 << UInt8(row % 8) }
            for (index, letter) in text(row).enumerated() { letters[length * row + index] = letter }
        }
        offsets[count] = Int64(length * count)
        let vectors = [
            ColumnVector(layout: .words, numbers: UnsafeRawPointer(numbers)),
            ColumnVector(layout: .words, numbers: UnsafeRawPointer(numbers + count)),
            ColumnVector(layout: .text, offsets: UnsafePointer(offsets), bytes: UnsafeRawPointer(letters)),
            ColumnVector(layout: .words, numbers: UnsafeRawPointer(words), secondWords: UnsafePointer(words + count)),
            ColumnVector(
                layout: .words, numbers: UnsafeRawPointer(words + 2 * count),
                secondWords: UnsafePointer(words + 3 * count),
                validity: UnsafePointer(validity)),
            ColumnVector(layout: .text, offsets: UnsafePointer(nothing)),
            ColumnVector(layout: .words, numbers: UnsafeRawPointer(words + 4 * count), validity: UnsafePointer(linked)),
            ColumnVector(layout: .text, offsets: UnsafePointer(nothing)),
            ColumnVector(layout: .text, offsets: UnsafePointer(nothing), allNull: hasText(0)),
        ]
        let pointer = UnsafeMutablePointer<ColumnVector>.allocate(capacity: vectors.count)
        defer { pointer.deallocate() }
        for (index, vector) in vectors.enumerated() { (pointer + index).initialize(to: vector) }
        func value(_ row: Int, _ property: Int) -> Value {
            switch property {
            case 0: .int(numbers[row])
            case 1: .int(numbers[count + row])
            case 2: .string(UnsafeRawPointer(letters + length * row), length)
            case 3: Derived.mark(.uuid, numbers[count + row], numbers[row])
            case 4: Derived.price(.decimal128, numbers[count + row])
            case 5, 7: .zero(of: .list)
            case 6: row % 3 == 0 ? target : .null
            default: hasText(0) ? .null : .zero(of: .list)
            }
        }
        let created = try transaction.state(0).createColumns(
            pointer, count: count,
            row: { (row, values) throws(StoreError) in
                for property in 0..<(Schemas.arePlain ? 5 : 9) { values[property] = value(row, property) }
            },
            value: { (row, property) throws(StoreError) in value(row, property) })
        for row in 0..<count {
            try setTrail(0, created + Int64(row), numbers[count + row])
            content[Name(id: first + Int64(row))] = Item(
                number: Int64(row % 5),
                text: String(
                    decoding: UnsafeBufferPointer(start: letters + length * row, count: length), as: UTF8.self),
                friend: row % 3 == 0 ? friend : nil)
        }
    }
}
