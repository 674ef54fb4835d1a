internal import CSystem

/// Memory of an application that texts are copied into; the layout of `objstore_buffer`.
package struct OutputBuffer {
    package var bytes: UnsafeMutableRawPointer?
    package var length: Int
    package var capacity: Int
    /// 0: the application's memory, or none; 1: allocated here.
    package var owner: UInt64

    /// None yet: allocated when it is needed.
    package init() {
        bytes = nil
        length = 0
        capacity = 0
        owner = 0
    }

    package static func isWellFormed(_ buffer: UnsafePointer<OutputBuffer>) -> Bool {
        let buffer = buffer.pointee
        return buffer.owner <= 1 && buffer.length >= 0 && buffer.capacity >= 0 && buffer.length <= buffer.capacity
            && (buffer.bytes != nil || buffer.capacity == 0)
    }

    /// Room for `count` bytes; what was there may be gone.
    package static func start(
        _ buffer: UnsafeMutablePointer<OutputBuffer>, _ count: Int
    ) throws(StoreError) -> UnsafeMutableRawPointer {
        buffer.pointee.length = 0
        return try extend(buffer, by: count)
    }

    /// Room for `count` more bytes behind those that are there, which stay; returns where the new ones begin.
    static func extend(
        _ buffer: UnsafeMutablePointer<OutputBuffer>, by count: Int
    ) throws(StoreError) -> UnsafeMutableRawPointer {
        let length = buffer.pointee.length
        let needed = length + count
        if needed > buffer.pointee.capacity || buffer.pointee.bytes == nil {
            let capacity = max(needed, buffer.pointee.capacity * 2, 64)
            guard let memory = cs_try_malloc(capacity) else {
                throw StoreError(.outOfMemory, "no memory for a buffer of \(capacity) bytes")
            }
            if let old = buffer.pointee.bytes {
                memcpy(memory, old, length)
                if buffer.pointee.owner == 1 { CSystem.free(old) }
            }
            buffer.pointee.bytes = memory
            buffer.pointee.capacity = capacity
            buffer.pointee.owner = 1
        }
        buffer.pointee.length = needed
        return buffer.pointee.bytes.unsafelyUnwrapped + length
    }

    /// The same for several arrays of `count` values.
    static func copy(
        _ arrays: [UnsafeMutablePointer<Value>], _ count: Int, into buffer: UnsafeMutablePointer<OutputBuffer>
    ) throws(StoreError) {
        var total = 0
        for values in arrays {
            for index in 0..<count where values[index].kind.hasBytes { total += values[index].count + 1 }
        }
        var next = try start(buffer, total)
        for values in arrays { copyTexts(values, count, to: &next) }
    }

    /// Copies the texts of `values`, each followed by a NUL, and lets the values point there.
    package static func copy(
        _ values: UnsafeMutablePointer<Value>, _ count: Int, into buffer: UnsafeMutablePointer<OutputBuffer>
    ) throws(StoreError) {
        var total = 0
        for index in 0..<count where values[index].kind.hasBytes { total += values[index].count + 1 }
        var next = try start(buffer, total)
        copyTexts(values, count, to: &next)
    }

    @inline(__always)
    private static func copyTexts(
        _ values: UnsafeMutablePointer<Value>, _ count: Int, to next: inout UnsafeMutableRawPointer
    ) {
        for index in 0..<count where values[index].kind.hasBytes {
            let length = values[index].count
            if length > 0 { memcpy(next, values[index].pointer.unsafelyUnwrapped, length) }
            next.storeBytes(of: 0, toByteOffset: length, as: UInt8.self)
            values[index].pointer = UnsafeRawPointer(next)
            next += length + 1
        }
    }

    package static func free(_ buffer: UnsafeMutablePointer<OutputBuffer>) {
        if buffer.pointee.owner == 1 { CSystem.free(buffer.pointee.bytes) }
        buffer.pointee = OutputBuffer()
    }
}
