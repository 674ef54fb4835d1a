/// Mixed values of a property, which errors name.
extension MixedCell {
    /// What the column of a property takes for a value: of a mixed one its cell, which lies in `buffer()`; else the
    /// value itself.
    @inline(__always)
    static func column(
        _ value: Value, _ property: Int, _ cls: ClassSchema, limit: Int, into buffer: @autoclosure () -> ByteBuffer
    ) throws(StoreError) -> Value {
        if _fastPath(cls.columns[property].kind != .mixed) { return value }
        do throws(StoreError) { return try encode(value, limit: limit, into: buffer()) } catch {
            throw cls.naming(error, property)
        }
    }

    /// The same for a value that is compared with a property, which errors name.
    static func admit(_ value: Value, _ property: Int, _ cls: ClassSchema, limit: Int) throws(StoreError) {
        do throws(StoreError) { try admit(value, limit: limit) } catch { throw cls.naming(error, property) }
    }
}
