/// Functions of the application that queries call: see `QueryFunction`.
extension Store {
    /// Defines a function that queries call; one of the same name is replaced.
    ///
    /// Errors: `.invalidArgument`: it cannot have that name; `.invalidSignature`, with the byte.
    package func define(
        _ name: String, signature text: UnsafeRawBufferPointer, function: @escaping NativeFunction.Function,
        userdata: UnsafeMutableRawPointer?, around: CallAround?, failure: @escaping @Sendable (Int32) -> StoreError
    ) throws(StoreError) {
        try QueryFunction.check(name)
        let native = try NativeSignature(parsing: text)
        let call = try NativeFunction(
            native, function: function, userdata: userdata, around: around, failure: failure)
        try define(try QueryFunction(name, native.signature, call.body))
    }

    /// Errors: `.closedHandle`.
    package func define(_ function: QueryFunction) throws(StoreError) {
        try checkOpen()
        functions.define(function)
    }

    /// Who is told how far queries that are asked from now on have come; nil: nobody. It is not called by two threads
    /// for one query, but by several for several.
    ///
    /// Errors: `.closedHandle`.
    package func watchQueries(_ watch: QueryWatch?) throws(StoreError) {
        try checkOpen()
        watcher.current = watch
    }

    /// Queries that were made with it keep it. Errors: `.notFound`, `.closedHandle`.
    package func undefine(_ name: String) throws(StoreError) {
        try checkOpen()
        try functions.remove(name)
    }
}
