internal import CSystem

/// The value of a mixed property as a part of an index key, in the order of `MixedOrder`.
///
/// ```
/// null                0
/// anything else       1 · family · content
///
/// 1  bool             0 or 1
/// 2  number           8 bytes: the greatest double that is not greater (like a double of a compound key)
///                     · 0, if it is the number
///                     · 1 · Decimal128.orderKey, 16 bytes, if it is not: an int or a decimal between two doubles
/// 3  string, binary   the bytes, 0 as 0 255 · 0 0
/// 4  timestamp        5 object id        6 uuid        as in every compound key
/// 7  link             u32 class id, big-endian · its key, like an int
/// 8  list             elements, each 1 · family · content · then 0
/// 9  map              entries, each 1 · key, like a string · family · content · then 0
/// ```
/// Inside a list or map, null is family 0 without content.
extension IndexKey {
    /// `value`: the cell of a mixed property, or a value that was given for one and is allowed there.
    package func append(mixed value: Value) throws(StoreError) {
        if value.isNull { return try append(value) }
        let value = value.kind == .mixed ? try MixedNode(value.pointer, value.count).value() : value
        try buffer.append(UInt8(1))
        try append(any: value, left: MixedNode.maximumDepth)
        try checkLength()
    }

    /// What sorts before all values of a value's family.
    func append(familyOf value: Value) throws(StoreError) {
        try append(family: try MixedOrder.family(value))
    }

    /// What sorts after all values of a value's family that are in an order: no NaN is.
    func append(endOfFamilyOf value: Value) throws(StoreError) {
        let family = try MixedOrder.family(value)
        if family != MixedOrder.numbers { return try append(family: family + 1) }
        try append(family: family)
        try buffer.append(IndexBits.double(.nan).bigEndian)
    }

    private func append(family: Int) throws(StoreError) {
        try buffer.append(UInt8(1))
        try buffer.append(UInt8(truncatingIfNeeded: family))
    }

    private func append(any value: Value, left: Int) throws(StoreError) {
        try buffer.append(UInt8(truncatingIfNeeded: try MixedOrder.family(value)))
        switch value.kind {
        case .null: break
        case .int, .float, .double, .decimal128:
            let (floor, isExact) = ExactNumber.floor(value)
            try buffer.append(IndexBits.double(floor).bigEndian)
            try buffer.append(UInt8(isExact ? 0 : 1))
            if !isExact {
                try append(content: .decimal128(value.kind == .int ? ExactNumber.decimal(value.low) : value.asDecimal))
            }
        case .document:
            if left == 0 { throw MixedEdit.tooDeep }
            let container = try MixedContainer(MixedNode(value.pointer, value.count))
            for index in 0..<container.count {
                try buffer.append(UInt8(1))
                if container.kind == .map {
                    let key = try container.key(index)
                    try append(text: .string(key.baseAddress, key.count))
                }
                try append(any: try container.node(index).value(), left: left - 1)
                try checkLength()
            }
            try buffer.append(UInt8(0))
        case .link:
            try buffer.append(UInt32(truncatingIfNeeded: value.high).bigEndian)
            try append(content: value)
        default: try append(content: value)
        }
    }
}
