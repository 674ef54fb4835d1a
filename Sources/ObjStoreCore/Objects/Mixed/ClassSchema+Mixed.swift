/// Mixed properties of a class, which errors name.
extension ClassSchema {
    /// The position of a mixed property, or of a collection of mixed elements.
    func mixed(_ propertyID: UInt32, orElements: Bool = false) throws(StoreError) -> Int {
        let position = try position(propertyID)
        guard columns[position].kind == .mixed || orElements && elements(of: position).kind == .mixed else {
            throw named(
                StoreError(
                    .wrongType,
                    "\(name).\(properties[position].name) is \(columns[position].kind.indefinite), not mixed"), position
            )
        }
        return position
    }

    /// What a cell says.
    func mixedValue(_ cell: Value, _ position: Int) throws(StoreError) -> Value {
        do throws(StoreError) { return try MixedCell.value(cell) } catch { throw naming(error, position) }
    }
}
