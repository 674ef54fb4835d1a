/// Decodes the operations of one record, one after another: for replay, for salvage and for observers.
///
/// ```
///  while try cursor.next() {
///      switch cursor.code {
///      case .update: while let change = try cursor.nextChange() { … }
///      …
///      }
///  }
/// ```
/// Parts of an operation that are not taken are skipped. Values point into the record's bytes.
struct OpCursor {
    private var reader: ByteReader
    /// The one in force: it says how many values a created object has. Set when an operation that changes it is read; a
    /// caller that does not follow it restores its own.
    var schema: Schema
    /// The operation that `next` has come to. Of a schema, class and key mean nothing.
    private(set) var code = OpLog.Code.schema
    private(set) var classID: UInt32 = 0
    private(set) var key: Int64 = 0
    /// Values of a created object, or changes of an updated one, that were not taken yet.
    private var left = 0
    /// There is a splice or an edit that was not taken.
    private var hasPart = false

    init(_ reader: ByteReader, schema: Schema) {
        self.reader = reader
        self.schema = schema
    }

    /// Bytes of the record that were not read yet.
    var remaining: Int { reader.remaining }

    /// Advances to the next operation; false if there is none. `.corrupt`.
    mutating func next() throws(StoreError) -> Bool {
        try passOver()
        if reader.isAtEnd { return false }
        guard let code = OpLog.Code(rawValue: try reader.read()) else {
            throw StoreError(.corrupt, "unknown operation in the log")
        }
        self.code = code
        if code == .schema {
            schema = try SchemaCodec.read(&reader)
            return true
        }
        let classID = try reader.readVarint()
        guard classID < UInt64(schema.classes.count) else {
            throw StoreError(.corrupt, "the log names a class that does not exist")
        }
        self.classID = UInt32(classID)
        key = try reader.readSigned()
        switch code {
        case .create: left = schema.classes[Int(classID)].columns.count
        case .update: left = try reader.readCount()
        case .splice, .edit: hasPart = true
        case .delete, .schema: break
        }
        return true
    }

    /// Of a created object: the value of its next property, in the order of the class.
    mutating func nextValue() throws(StoreError) -> Value? {
        if left == 0 { return nil }
        left &-= 1
        return try ValueCodec.read(&reader)
    }

    /// Of an updated object: its next new value. The class may not have the column any more.
    mutating func nextChange() throws(StoreError) -> (columnID: UInt32, value: Value)? {
        if left == 0 { return nil }
        left &-= 1
        let column = UInt32(truncatingIfNeeded: try reader.readVarint())
        return (column, try ValueCodec.read(&reader))
    }

    /// Which elements of a collection gave way to which.
    mutating func splice() throws(StoreError) -> (columnID: UInt32, Op.Splice) {
        let column = try column { $0.isCollection }
        return (column.id, try Op.Splice.read(&reader, hasKeys: column.kind == .map))
    }

    /// What happened to one value inside a mixed one.
    mutating func edit() throws(StoreError) -> (columnID: UInt32, Op.Edit) {
        (try column { $0 == .mixed }.id, try Op.Edit.read(&reader))
    }

    private mutating func column(_ isRight: (ValueKind) -> Bool) throws(StoreError) -> ColumnSpec {
        hasPart = false
        let id = try reader.readVarint()
        guard let found = schema.classes[Int(classID)].columns.first(where: { UInt64($0.id) == id }),
            isRight(found.kind)
        else { throw OpCursor.unknownColumn }
        return found
    }

    private mutating func passOver() throws(StoreError) {
        switch code {
        case .create: while try nextValue() != nil {}
        case .update: while try nextChange() != nil {}
        case .splice: if hasPart { _ = try splice() }
        case .edit: if hasPart { _ = try edit() }
        case .delete, .schema: break
        }
    }

    static var unknownColumn: StoreError { StoreError(.corrupt, "the log changes elements of a column that has none") }
}
