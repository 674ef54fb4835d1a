/// The order of values of any kind.
///
/// ```
/// null < bool < numbers < strings, binaries < timestamps < object ids < uuids < links < lists < maps
/// ```
/// Numbers of all kinds are compared exactly: the int 1, the float 1, the double 1 and the decimals 1 and 1.0 are
/// equal, a bool is equal to none of them; -0 is 0; NaN is equal to NaN and greater than every other number. Strings
/// and binaries are compared bytewise, so that equal bytes are equal. Lists go by their elements, maps by their entries
/// (key, then value, in the order of the keys); what begins another one is less. Links go by class,
/// then by object key.
package enum MixedOrder {
    /// Negative, 0 or positive. Throws where a document is damaged.
    package static func compare(_ a: Value, _ b: Value) throws(StoreError) -> Int {
        try compare(a, b, left: MixedNode.maximumDepth)
    }

    /// The same for values of an application, whose documents are checked first.
    package static func compareGiven(_ a: Value, _ b: Value) throws(StoreError) -> Int {
        for value in [a, b] where value.kind == .document { try MixedCell.admit(value, limit: .max) }
        return try compare(a, b)
    }

    /// Whether a comparison with the cell of a mixed property holds. Like everywhere null equals only null and NaN
    /// nothing; the ordering operators are false for values of different families.
    static func holds(_ comparison: Comparison, _ cell: Value, _ constant: Value) throws(StoreError) -> Bool {
        let value = cell.isNull ? Value.null : try MixedNode(cell.pointer, cell.count).value()
        if value.isNaN || constant.isNaN { return comparison == .notEqual }
        guard try family(value) == family(constant) else { return comparison == .notEqual }
        let order = try compare(value, constant)
        if value.isNull, comparison != .equal, comparison != .notEqual { return false }
        return comparison.holds(order)
    }

    /// The order of the elements of a set, given as cells: a total one. Values that are equal, but of different kinds,
    /// are different elements. Damaged values sort after everything else, by their bytes: readers get an error.
    static func compareCells(_ a: Value, _ b: Value) -> Int {
        switch (sound(a), sound(b)) {
        case (let x?, let y?): return compareElements(x, y)
        case (_?, nil): return -1
        case (nil, _?): return 1
        case (nil, nil): return compareBytes(a, b)
        }
    }

    /// The same of values.
    package static func compareElements(_ a: Value, _ b: Value) -> Int {
        if let order = try? compare(a, b), order != 0 { return order }
        if a.kind != b.kind { return Int(a.kind.rawValue) - Int(b.kind.rawValue) }
        return a.kind == .document ? compareBytes(a, b) : 0
    }

    private static func sound(_ cell: Value) -> Value? { try? MixedNode(cell.pointer, cell.count).value() }

    private static func compareBytes(_ a: Value, _ b: Value) -> Int {
        MixedContainer.compare(
            UnsafeRawBufferPointer(start: a.pointer, count: a.count),
            UnsafeRawBufferPointer(start: b.pointer, count: b.count))
    }

    private static func compare(_ a: Value, _ b: Value, left: Int) throws(StoreError) -> Int {
        let family = try self.family(a), other = try self.family(b)
        if family != other { return family - other }
        switch a.kind {
        case .null: return 0
        case .int, .float, .double, .decimal128: return ExactNumber.compare(a, b)
        case .string, .binary:
            return MixedContainer.compare(
                UnsafeRawBufferPointer(start: a.pointer, count: a.count),
                UnsafeRawBufferPointer(start: b.pointer, count: b.count))
        case .document:
            if left == 0 { throw MixedEdit.tooDeep }
            return try compare(
                try MixedContainer(MixedNode(a.pointer, a.count)), try MixedContainer(MixedNode(b.pointer, b.count)),
                left: left - 1)
        case .link:
            let target = MixedTarget(a), other = MixedTarget(b)
            return target == other ? 0 : target < other ? -1 : 1
        default: return a.low != b.low ? (a.low < b.low ? -1 : 1) : a.high == b.high ? 0 : a.high < b.high ? -1 : 1
        }
    }

    private static func compare(_ a: MixedContainer, _ b: MixedContainer, left: Int) throws(StoreError) -> Int {
        for index in 0..<min(a.count, b.count) {
            if a.kind == .map {
                let order = MixedContainer.compare(try a.key(index), try b.key(index))
                if order != 0 { return order }
            }
            let order = try compare(try a.node(index).value(), try b.node(index).value(), left: left)
            if order != 0 { return order }
        }
        return a.count - b.count
    }

    static let numbers = 2

    /// Values of different families are ordered by it.
    package static func family(_ value: Value) throws(StoreError) -> Int {
        switch value.kind {
        case .null: 0
        case .bool: 1
        case .int, .float, .double, .decimal128: numbers
        case .string, .binary: 3
        case .timestamp: 4
        case .objectID: 5
        case .uuid: 6
        case .link: 7
        case .document: try MixedNode(value.pointer, value.count).kind == .list ? 8 : 9
        default: throw StoreError(.wrongType, "\(value.kind.indefinite) is not compared with other values")
        }
    }
}
