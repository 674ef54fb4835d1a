/// Events of the engine for the oracles of the simulated machine; there is none in production.
package protocol EngineProbe: AnyObject {
    /// Under WRITER: the allocator is at this version.
    func didLoadAllocator(
        _ database: Database, version: UInt64, root: Ref, space: FreeSpace, freeMap: PageRun) throws(StoreError)
    /// Just before HEAD moves: what will be version `version`.
    func willMoveHead(
        _ database: Database, version: UInt64, root: Ref, freeMap: PageRun, isCheckpoint: Bool, chain: UInt64)
    /// A record is about to be written; `keepsContent`: of a version with the content of the one before.
    func willWriteRecord(
        _ database: Database, version: UInt64, chain: UInt64, previous: UInt64, continues: Bool, isSummary: Bool,
        keepsContent: Bool)
    /// Recovery has decided what the store contains: the chain hash of the last record (or meta) that counts.
    func didRecover(_ database: Database, chain: UInt64, newChain: UInt64, version: UInt64) throws(StoreError)
    /// The shared state was recreated: no other process has joined yet.
    func didStart(_ database: Database, version: UInt64, chain: UInt64, root: Ref)
    func didPoison(_ database: Database)
}
