/// What does not change while a store is open, except for the schema's version.
package struct StoreInfo: Sendable {
    package let uuid: [UInt8]
    /// From 1.
    package let schemaVersion: UInt64
    package let format: UInt32
    package let pageBytes: UInt32
}

extension Store {
    package func info() throws(StoreError) -> StoreInfo {
        try checkOpen()
        let uuid = shared.database.uuid
        return StoreInfo(
            uuid: withUnsafeBytes(of: uuid.0) { Array($0) } + withUnsafeBytes(of: uuid.1) { Array($0) },
            schemaVersion: max(1, try shared.database.snapshot().schema.version), format: Meta.formatVersion, pageBytes: UInt32(PageSize.page))
    }
}
