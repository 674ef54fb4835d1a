internal import ObjStoreCore

/// One property of many objects, for `insert`: `Column(\.name, ["Zürich", "Bern"])`.
public struct Column<Element: Object>: Sendable {
    fileprivate let property: Result<ClassInfo.Property, ObjStoreError>
    fileprivate let values: PackedColumn

    /// The values are copied.
    public init<Value: Persistable>(_ keyPath: KeyPath<Element, Value>, _ values: [Value]) {
        property = Result { () throws(ObjStoreError) in try KeyPaths.property(keyPath) }
        self.values = PackedColumn(values)
    }
}

/// How many rows `insert` created, changed or left as they were.
public struct InsertCounts: Sendable, Hashable {
    public let created: Int
    /// Existing objects in which something was written.
    public let changed: Int
    /// Existing objects that were like the row.
    public let unchanged: Int

    public init(created: Int, changed: Int, unchanged: Int) {
        self.created = created
        self.changed = changed
        self.unchanged = unchanged
    }
}

extension StoreWriting {
    /// Adds many objects from columns: as `create` for each row, all or none, and some times faster.
    ///
    /// ```swift
    /// try tx.insert(City.self, [Column(\.geonameid, ids), Column(\.name, names)], update: .modified)
    /// ```
    /// All columns have one length. Properties without a column get their default or null.
    /// Errors: those of `create`, with the row in `position`; `.invalidArgument` (lengths differ, a property twice, no
    /// column), `.invalidQuery` (a key path is none of a `@Persisted` property).
    @discardableResult
    public func insert<T: Object>(
        _ type: T.Type, _ columns: [Column<T>], update: UpdatePolicy = .error
    ) throws(ObjStoreError) -> InsertCounts {
        let (space, view) = try writing("insert")
        let binding = try space.binding(type)
        var given: [(property: ClassInfo.Property, values: PackedColumn)] = []
        for column in columns { given.append((try column.property.get(), column.values)) }
        guard let rows = given.first?.values.count else {
            throw ObjStoreError(.invalidArgument, "there are no columns to insert", class: binding.info.name)
        }
        if let other = given.first(where: { $0.values.count != rows }) {
            throw ObjStoreError(
                .invalidArgument,
                """
                \(binding.info.name).\(other.property.name) has \(other.values.count) values, and the first column \
                has \(rows)
                """,
                class: binding.info.name, property: other.property.name)
        }
        for property in binding.info.properties
        where property.hasChangingDefault && !given.contains(where: { $0.property.index == property.index }) {
            guard !property.isPrimaryKey || update == .error else { continue }
            guard update == .error else {
                throw ObjStoreError(
                    .missingValue,
                    """
                    \(binding.info.name).\(property.name) has another default each time, and an update cannot know \
                    for which rows: give a column
                    """,
                    class: binding.info.name, property: property.name)
            }
            given.append((property, PackedColumn(defaultsOf: property, of: type, count: rows)))
        }
        for column in given { try column.values.check(binding, column.property) }
        let inputs = given.map { $0.values.input(binding.properties[Int($0.property.index)]) }
        let outcome = withExtendedLifetime(given) {
            inputs.withUnsafeBufferPointer { inputs in
                Result { () throws(StoreError) in
                    try view.insert(binding.classID, update.core, inputs, rows: rows, keys: nil)
                }
            }
        }
        let counts = try core { () throws(StoreError) in try outcome.get() }
        return InsertCounts(created: counts.created, changed: counts.changed, unchanged: counts.unchanged)
    }
}

/// Values of one property as the core takes them: numbers side by side, or bytes with offsets, and a bit for each that
/// is not null.
private final class PackedColumn: @unchecked Sendable {
    // Filled by `init`, never written again.
    let count: Int
    private let kind: ValueKind
    private let numbers: UnsafeMutableRawPointer
    private var text = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private let offsets: UnsafeMutablePointer<Int64>
    private let validity: UnsafeMutablePointer<UInt8>
    private var hasNulls = false
    /// Of links: the class and store of the first (`Value.high`), and of another one that differs.
    private var link: Int64?, otherLink: Int64?
    /// The stores of objects in mixed values.
    private var linkedStores: Set<UInt32> = []
    private var refusal: ObjStoreError?
    private let cells = DocumentBuilder()

    private var isText: Bool { kind.hasOffsets }
    /// Bytes of a value at `numbers`.
    private var stride: Int { isText ? 0 : ValueCell.size(kind) }

    private init(_ kind: ValueKind, count: Int, _ encode: (_ row: Int, _RowEncoder) -> Void) {
        self.kind = kind
        self.count = count
        // Of every kind some: most of it is never touched.
        numbers = .allocate(byteCount: 16 * count + 8, alignment: 8)
        offsets = .allocate(capacity: count + 1)
        validity = .allocate(capacity: count / 8 + 1)
        validity.initialize(repeating: 0, count: count / 8 + 1)
        offsets[0] = 0
        let encoder = _RowEncoder()
        if kind == .mixed { encoder.linkedStores = [] }
        for first in Swift.stride(from: 0, to: count, by: 1024) {
            let end = min(first + 1024, count)
            for row in first..<end { encode(row, encoder) }
            refusal = refusal ?? encoder.refusal
            encoder.drain { _, values in for row in first..<end { pack(values[row - first], row) } }
        }
        linkedStores = encoder.linkedStores ?? []
    }

    convenience init<Value: Persistable>(_ values: [Value]) {
        self.init(Value._type.valueKind, count: values.count) { row, encoder in Value._encode(values[row], encoder) }
    }

    /// Of a property whose default is evaluated again for each object.
    convenience init(defaultsOf property: ClassInfo.Property, of type: Object.Type, count: Int) {
        self.init(property.type.valueKind, count: count) { _, encoder in
            property.accessor._encode(type.init(), property.offset, encoder)
        }
    }

    deinit {
        numbers.deallocate()
        text.deallocate()
        offsets.deallocate()
        validity.deallocate()
    }

    /// - Parameter given: what the property was given; a column of mixed values has their cells.
    private func pack(_ given: Value, _ row: Int) {
        var value = given
        if kind == .mixed, !given.isNull {
            cells.removeAll()
            do throws(StoreError) { try cells.append(given) } catch { refusal = refusal ?? ObjStoreError(error) }
            value = Value(kind: .mixed, pointer: cells.node.baseAddress, count: cells.node.count)
        }

        if value.isNull { hasNulls = true } else { validity[row / 8] |= 1 << UInt8(row % 8) }
        let place = numbers + row * stride
        switch kind {
        case .string, .binary, .mixed:
            let start = Int(offsets[row]), end = start + value.count
            if end > text.count { grow(start, end) }
            if let bytes = value.pointer {
                (text.baseAddress.unsafelyUnwrapped + start).copyMemory(from: bytes, byteCount: value.count)
            }
            offsets[row + 1] = Int64(end)
        default:
            if value.isNull { return }
            ValueCell.store(value, place)
            guard kind == .link else { return }
            if link == nil { link = value.high } else if value.high != link { otherLink = value.high }
        }
    }

    private func grow(_ used: Int, _ needed: Int) {
        let bigger = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(needed, 2 * text.count, 16 * count), alignment: 1)
        bigger.copyMemory(from: UnsafeRawBufferPointer(rebasing: text[..<used]))
        text.deallocate()
        text = bigger
    }

    /// A column has the keys of objects only: that they are of the right class and store is seen to here; and that
    /// every value could be packed.
    func check(_ binding: ClassBinding, _ property: ClassInfo.Property) throws(ObjStoreError) {
        let path = "\(binding.info.name).\(property.name)"
        if let refusal {
            throw ObjStoreError(
                refusal.code, "\(path): \(refusal.message)", class: binding.info.name, property: property.name)
        }
        if kind == .mixed, linkedStores.contains(where: { $0 != binding.id(0).storeTag }) {
            throw ObjStoreError(
                .wrongStore, "\(path): an object of another store cannot be linked to", class: binding.info.name,
                property: property.name)
        }
        if kind != .link { return }
        let wanted = Value.link(binding.target(property.index).id(0)).high
        for given in [link, otherLink] where given != nil && given != wanted {
            let isOtherStore = given! >> 32 != wanted >> 32
            throw ObjStoreError(
                isOtherStore ? .wrongStore : .wrongType,
                "\(path): an object of \(isOtherStore ? "another store" : "another class") cannot be linked to",
                class: binding.info.name, property: property.name)
        }
    }

    /// Valid as long as this.
    func input(_ propertyID: UInt32) -> InputColumn {
        InputColumn(
            propertyID: propertyID, kind: kind, values: UnsafeRawPointer(isText ? text.baseAddress : numbers),
            offsets: isText ? UnsafePointer(offsets) : nil, validity: hasNulls ? UnsafePointer(validity) : nil,
            valuesBytes: UInt64(text.count))
    }
}
