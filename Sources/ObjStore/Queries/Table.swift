internal import ObjStoreCore

/// How texts stand in what is exported to Arrow; see ``Results/exportArrow(to:texts:)``.
public enum ArrowTexts: Sendable {
    /// One behind the other: every library reads that.
    case plain
    /// Strings as numbers of the texts of a dictionary: the least, where many have the same.
    case dictionaries
    /// Strings and data as views: those of up to twelve bytes are in them.
    case views

    var form: TextForm {
        switch self {
        case .plain: .plain
        case .dictionaries: .dictionary
        case .views: .views
        }
    }
}

/// Columns of values of objects, or of groups of them: what ``Results/table(_:_:)`` gives. It lies in memory of its
/// own, and nothing changes it any more; links in it lead to the objects that the store has.
public struct Table: Sendable {
    let table: ObjStoreCore.Table
    let space: ObjectSpace

    /// How many rows there are.
    public var count: Int { table.rows }
    /// What the columns are called, in their order.
    public var columns: [String] { table.columns.map(\.name) }

    /// A value. Errors: `.outOfRange`: there is no such row; `.noSuchProperty`: there is no such column.
    public func value(_ row: Int, _ column: String) throws(ObjStoreError) -> AnyValue {
        guard row >= 0, row < count else { throw ObjStoreError(.outOfRange, "row \(row) of \(count.counted("row"))") }
        return try any(row, try index(column))
    }

    /// All values of a column.
    public func column(_ name: String) throws(ObjStoreError) -> [AnyValue] {
        let index = try index(name)
        return try (0..<count).map { (row) throws(ObjStoreError) in try any(row, index) }
    }

    /// The same as a type that has them all: `table.column("n", as: Int.self)`, `as: String?.self`.
    ///
    /// Errors: `.wrongType`; `.nullValue`: there is a null, and the type is no optional.
    public func column<Value: CollectionElement>(
        _ name: String, as type: Value.Type
    ) throws(ObjStoreError) -> [Value] {
        let index = try index(name)
        return try (0..<count).map { (row) throws(ObjStoreError) in try value(row, index) }
    }

    /// For other libraries: fills in a `struct ArrowArrayStream`, which is the caller's to release. No values are
    /// copied.
    public func exportArrow(to stream: UnsafeMutableRawPointer, texts: ArrowTexts = .plain) {
        ArrowStream(table, texts: texts.form).export(to: stream)
    }

    private func index(_ name: String) throws(ObjStoreError) -> Int {
        guard let index = table.columns.firstIndex(where: { $0.name == name }) else {
            throw ObjStoreError(
                .noSuchProperty, "there is no column \(name): there are \(columns.joined(separator: ", "))")
        }
        return index
    }

    /// A value for people: of an object that is of none of the models its key. Nil: there is no such column.
    package func plain(_ row: Int, _ column: String) -> AnyValue? {
        guard let index = try? index(column) else { return nil }
        let value = table.columns[index].value(row)
        if value.kind == .link { return .int(Int(value.low)) }
        return try? AnyValue(copying: value, space)
    }

    private func any(_ row: Int, _ index: Int) throws(ObjStoreError) -> AnyValue {
        try core { () throws(StoreError) in
            try AnyValue(copying: try table.value(UInt64(row), in: table.columns[index]), space)
        }
    }

    func value<Value: CollectionElement>(_ row: Int, _ index: Int) throws(ObjStoreError) -> Value {
        let column = table.columns[index], value = column.value(row)
        if column.kind == .mixed || Value._isMixed {
            guard let found = Value._convertElement(try any(row, index)) else { throw wrong(row, index, Value.self) }
            return found
        }
        if let found = Value._element(_StoredValue(value: value, target: target(value))), fits(value, Value.self) {
            return found
        }
        throw wrong(row, index, Value.self)
    }

    private func target(_ value: ObjStoreCore.Value) -> ClassBinding? {
        guard value.kind == .link else { return nil }
        return space.bindings.first { $0.classID == UInt32(truncatingIfNeeded: value.high) }
    }

    /// Numbers are taken as they are: what reads the words of another kind would get something else.
    private func fits<Value: CollectionElement>(_ value: ObjStoreCore.Value, _: Value.Type) -> Bool {
        let wanted = Value._elementType.valueKind
        return value.isNull || value.kind == wanted || wanted == .null
    }

    private func wrong<Value>(_ row: Int, _ index: Int, _: Value.Type) -> ObjStoreError {
        let column = table.columns[index], value = column.value(row)
        return value.isNull
            ? ObjStoreError(
                .nullValue,
                "column \(column.name) is null in row \(row), and \(Value.self) has no null: ask for an optional")
            : ObjStoreError(
                .wrongType, "column \(column.name) is \(value.kind.indefinite), which \(Value.self) is not")
    }
}
