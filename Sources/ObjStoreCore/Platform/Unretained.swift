extension Unmanaged {
    /// Runs `body` with the object, which the holder of the reference keeps alive: nothing is counted.
    @inline(__always)
    func unretained<T>(_ body: (Instance) throws(StoreError) -> T) throws(StoreError) -> T {
        // The standard library's way throws untyped errors only.
        let result = _withUnsafeGuaranteedRef { (object) -> Result<T, StoreError> in
            do throws(StoreError) { return .success(try body(object)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
