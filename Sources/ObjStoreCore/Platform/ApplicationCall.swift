internal import CSystem

/// Calls of the application's functions from inside of the library's.
package enum ApplicationCall {
    /// Runs one: `pthread_cancel` does not act in it, what it asks and allocates is none of the query's that calls it,
    /// and its caller ends if it returned in a forked child, in which
    /// nothing of the parent may continue.
    ///
    /// Errors: `.forked`.
    @discardableResult
    package static func run<T>(_ body: () -> T) throws(StoreError) -> T {
        let generation = cs_fork_generation(), state = cs_cancel_off(), query = cs_leave_query()
        let result = body()
        cs_enter_query(query)
        cs_cancel_restore(state)
        if cs_fork_generation() != generation {
            throw StoreError(
                .forked,
                """
                the callback called fork: in the child, the call that it belongs to ends here; it goes on in the \
                parent process
                """
            )
        }
        return result
    }

    /// The same where nothing follows that matters.
    package static func runLast(_ body: () -> Void) {
        let state = cs_cancel_off()
        body()
        cs_cancel_restore(state)
    }
}

/// What can be called with the stack that the thread has left.
package enum Stack {
    /// What any call needs that is not nested, and what is needed to come back from one that is.
    package static let least = 96 << 10

    /// For what goes deeper for each level of the data: whether another level fits.
    ///
    /// Errors: `.outOfRange`.
    package static func check() throws(StoreError) {
        if cs_stack_left() < least { throw tooSmall }
    }

    private static var tooSmall: StoreError {
        StoreError(
            .outOfRange,
            """
            nested too deep for the stack of this thread: give the thread more, 1 MiB is enough for all that can be \
            nested
            """
        )
    }
}
