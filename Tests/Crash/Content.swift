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

/// The properties of an object that are not its key; both classes have the same.
struct Item: Equatable, CustomStringConvertible {
    var number: Int64
    var text: String?
    var description: String { "\(number)/\((text ?? "-").prefix(40))" }
}

/// One thing that a transaction does.
enum Edit {
    case put(Name, Item)
    /// Created where it is missing, so that there is something to commit.
    case delete(Name)
    /// The second class, for stores that have only the first one; comes first in its transaction.
    case addClass
    /// New objects of the first class from columns: ids from `first` on.
    case columns(first: Int64, count: Int)
    /// Objects that lie alone in their leaves, so that to change them all frees as many extents; the first time
    /// it creates them, later it changes each one's number.
    case scattered(first: Int64, count: Int)
    /// A savepoint around other edits, released or rolled back.
    indirect case scope([Edit], undone: Bool)
}

enum Schemas {
    static let first = Schema(classes: [item], version: 1)
    static let second = Schema(classes: [item, note], version: 2)

    private static let item = ClassSchema(
        name: "Item", id: 0,
        properties: [
            PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
            PropertySchema(name: "number", kind: .int, columnID: 1, isIndexed: true),
            PropertySchema(name: "text", kind: .string, columnID: 2, isNullable: true),
        ], nextColumnID: 3)

    /// Its index is one of texts.
    private static let note = ClassSchema(
        name: "Note", id: 1,
        properties: [
            PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
            PropertySchema(name: "number", kind: .int, columnID: 1),
            PropertySchema(name: "text", kind: .string, columnID: 2, isNullable: true, isIndexed: true),
        ], nextColumnID: 3)
}

/// Carries edits out in a transaction, and in what the oracle expects.
struct Editor {
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
        if transaction.schema.classes.count < wanted.classes.count { try transaction.setSchema(wanted) }
        for edit in edits where mismatch == nil { try apply(edit) }
    }

    private mutating func apply(_ edit: Edit) throws(StoreError) {
        switch edit {
        case .addClass: break
        case .put(let name, let item):
            let name = known(name)
            if let key = try find(name) {
                try update(name, key, item)
            } else if mismatch == nil {
                _ = try withValues(name.id, item) { (values) throws(StoreError) in try transaction.state(name.cls).create(values) }
            }
            content[name] = item
        case .delete(let name):
            let name = known(name)
            guard let key = try find(name) else { return try apply(.put(name, Item(number: 0, text: nil))) }
            try transaction.state(name.cls).delete(key)
            content[name] = nil
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

    private mutating func find(_ name: Name) throws(StoreError) -> Int64? {
        let key = try transaction.state(name.cls).find(primaryKey: .int(name.id))
        if (key != nil) != (content[name] != nil) {
            mismatch = "object \(name) is \(key == nil ? "missing" : "there") in a transaction, expected \(String(describing: content[name]))"
            return nil
        }
        return key
    }

    private func update(_ name: Name, _ key: Int64, _ item: Item) throws(StoreError) {
        let state = try transaction.state(name.cls)
        try withValues(name.id, item) { (values) throws(StoreError) in
            try state.update(key, 1, values[1])
            try state.update(key, 2, values[2])
        }
    }

    private func withValues<R>(_ id: Int64, _ item: Item, _ body: (UnsafePointer<Value>) throws(StoreError) -> R) throws(StoreError) -> R {
        var text = item.text ?? ""
        // Tasks that are killed leak what they hold.
        let bytes = text.withUTF8 { utf8 in
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, utf8.count), alignment: 1)
            copy.copyMemory(from: UnsafeRawBufferPointer(utf8))
            return copy
        }
        let values = UnsafeMutablePointer<Value>.allocate(capacity: 3)
        defer {
            values.deallocate()
            bytes.deallocate()
        }
        values.initialize(to: .int(id))
        (values + 1).initialize(to: .int(item.number))
        (values + 2).initialize(to: item.text == nil ? .null : .string(UnsafeRawPointer(bytes.baseAddress!), text.utf8.count))
        return try body(values)
    }

    private mutating func createColumns(_ first: Int64, _ count: Int) throws(StoreError) {
        let numbers = UnsafeMutablePointer<Int64>.allocate(capacity: 3 * count + 1)
        let letters = UnsafeMutablePointer<UInt8>.allocate(capacity: 2 * count)
        defer {
            numbers.deallocate()
            letters.deallocate()
        }
        let offsets = numbers + 2 * count
        for row in 0..<count {
            numbers[row] = first + Int64(row)
            numbers[count + row] = Int64(row % 5)
            offsets[row] = Int64(2 * row)
            letters[2 * row] = UInt8(97 + row % 26)
            letters[2 * row + 1] = UInt8(97 + row / 26 % 26)
        }
        offsets[count] = Int64(2 * count)
        let vectors = [
            ColumnVector(layout: .words, numbers: UnsafeRawPointer(numbers)), ColumnVector(layout: .words, numbers: UnsafeRawPointer(numbers + count)),
            ColumnVector(layout: .text, offsets: UnsafePointer(offsets), bytes: UnsafeRawPointer(letters)),
        ]
        let pointer = UnsafeMutablePointer<ColumnVector>.allocate(capacity: vectors.count)
        defer { pointer.deallocate() }
        for (index, vector) in vectors.enumerated() { (pointer + index).initialize(to: vector) }
        _ = try transaction.state(0).createColumns(pointer, count: count) { (row, values) throws(StoreError) in
            values[0] = .int(numbers[row])
            values[1] = .int(numbers[count + row])
            values[2] = .string(UnsafeRawPointer(letters + 2 * row), 2)
        }
        for row in 0..<count {
            content[Name(id: first + Int64(row))] = Item(
                number: Int64(row % 5), text: String(decoding: UnsafeBufferPointer(start: letters + 2 * row, count: 2), as: UTF8.self))
        }
    }
}
