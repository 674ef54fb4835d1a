internal import CSystem

/// One 64-bit word in memory that threads and processes share; every access is sequentially consistent.
///
/// The simulated machine gets control before each access, so that a history may be cut between any two.
public struct SharedWord: @unchecked Sendable {
    public let address: UnsafeMutableRawPointer

    public init(_ address: UnsafeMutableRawPointer) { self.address = address }

    public func load() -> UInt64 {
        cs_yield()
        return cs_load64(address)
    }

    public func store(_ value: UInt64) {
        cs_yield()
        cs_store64(address, value)
    }

    public func compareExchange(_ expected: UInt64, _ desired: UInt64) -> Bool {
        cs_yield()
        return cs_cas64(address, expected, desired)
    }

    /// Adds and returns the value before.
    @discardableResult
    public func add(_ value: UInt64) -> UInt64 {
        cs_yield()
        return cs_add64(address, value)
    }

    /// For statistics and tests: no scheduling point.
    public var current: UInt64 { cs_load64(address) }
}
