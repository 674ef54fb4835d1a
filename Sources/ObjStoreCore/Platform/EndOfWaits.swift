internal import CSystem

/// Says to who waits for a lock that there is nothing to wait for any more. Set once, and looked at by sleeping threads now and then.
package final class EndOfWaits: @unchecked Sendable {
    private let word: UnsafeMutablePointer<UInt32>

    package init() {
        word = .allocate(capacity: 1)
        word.initialize(to: 0)
    }

    deinit { word.deallocate() }

    package var isHere: Bool { cs_load32(word) != 0 }
    package func come() { cs_store32(word, 1) }
}
