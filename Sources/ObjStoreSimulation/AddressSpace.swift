internal import CFibers

/// Bytes at an address that never changes while they grow; what lies beyond their end faults when touched.
final class AddressSpace {
    let base: UnsafeMutableRawPointer
    let reserved: Int
    private var committed = 0

    init(reserved: Int) {
        guard let base = fiber_reserve(reserved) else { fatalError("no address space for a simulated file") }
        self.base = base
        self.reserved = reserved
    }

    deinit { release() }

    /// Releases everything now: objects of killed processes may keep this one alive for ever.
    func release() {
        if isReleased { return }
        isReleased = true
        fiber_unreserve(base, reserved)
    }
    private var isReleased = false

    /// Makes [0, bytes) usable, rounded up to whole pages; new bytes are zero. False: beyond the reservation.
    func resize(_ bytes: Int) -> Bool {
        let wanted = (bytes + 4095) & ~4095
        if wanted > reserved { return false }
        if wanted > committed, !fiber_commit(base, committed, wanted) { return false }
        if wanted < committed { fiber_decommit(base, wanted, committed) }
        committed = wanted
        return true
    }
}
