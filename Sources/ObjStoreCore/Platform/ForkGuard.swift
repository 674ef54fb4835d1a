internal import CSystem

/// Tells an object whether it was inherited through `fork()`: made with the object, checked in every call.
///
/// A child shares its parent's pins and locks but must not touch them. What it opens itself is its own
/// and works. See `Sources/CSystem/fork.c`.
package struct ForkGuard: Sendable {
    private let birth: UInt64

    package init() {
        let code = cs_fork_start()
        precondition(code == 0, "pthread_atfork failed with error \(code)")
        birth = cs_fork_generation()
    }

    /// One load and one comparison.
    package var isChild: Bool { cs_fork_generation() != birth }

    /// In a child that has nothing but a thread of the library's, on which a callback has returned: nothing else would
    /// end it.
    static func endChild() -> Never { _exit(0) }

    func check(_ operation: String, _ path: String) throws(StoreError) {
        if isChild {
            throw StoreError(
                .forked,
                """
                cannot \(operation) \(path) after fork: the store belongs to the parent process; open it again in the \
                child
                """
            )
        }
    }
}
