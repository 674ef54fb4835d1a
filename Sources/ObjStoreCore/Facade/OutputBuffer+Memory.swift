extension OutputBuffer {
    /// Over memory of the caller, which is used as long as it is large enough; `free` gives back what came instead.
    package init(over memory: UnsafeMutableRawBufferPointer) {
        self.init(bytes: memory.baseAddress, length: 0, capacity: memory.count, owner: 0)
    }
}
