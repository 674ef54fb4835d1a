/// The structures of the Arrow C data and C stream interface, word for word: `struct ArrowSchema`, `ArrowArray` and
/// `ArrowArrayStream`. Their functions get pointers to them.
///
/// https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html
package struct ArrowSchemaRecord {
    package typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void
    package var format: UnsafePointer<UInt8>?
    package var name: UnsafePointer<UInt8>?
    package var metadata: UnsafePointer<UInt8>?
    package var flags: Int64 = 0
    package var childCount: Int64 = 0
    package var children: UnsafeMutablePointer<UnsafeMutablePointer<ArrowSchemaRecord>>?
    package var dictionary: UnsafeMutablePointer<ArrowSchemaRecord>?
    package var release: Release?
    package var owner: UnsafeMutableRawPointer?

    static let nullable: Int64 = 2
}

package struct ArrowArrayRecord {
    package var length: Int64 = 0
    package var nullCount: Int64 = 0
    package var offset: Int64 = 0
    package var bufferCount: Int64 = 0
    package var childCount: Int64 = 0
    package var buffers: UnsafeMutablePointer<UnsafeRawPointer?>?
    package var children: UnsafeMutablePointer<UnsafeMutablePointer<ArrowArrayRecord>>?
    package var dictionary: UnsafeMutablePointer<ArrowArrayRecord>?
    package var release: ArrowSchemaRecord.Release?
    package var owner: UnsafeMutableRawPointer?
}

package struct ArrowStreamRecord {
    package typealias Get = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
    package typealias LastError = @convention(c) (UnsafeMutableRawPointer?) -> UnsafePointer<UInt8>?
    package var getSchema: Get?
    package var getNext: Get?
    package var getLastError: LastError?
    package var release: ArrowSchemaRecord.Release?
    package var owner: UnsafeMutableRawPointer?
}

/// What a schema or an array that was given away needs until it is released: memory, and objects whose memory it shows.
final class ArrowOwner {
    private var memory: [UnsafeMutableRawPointer] = []
    private let other: AnyObject?

    init(_ other: AnyObject? = nil) { self.other = other }
    deinit { for part in memory { part.deallocate() } }

    /// Of at least one byte.
    func allocate(_ bytes: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        // As long as Arrow would have it: vectors may be read over the end.
        let part = try Memory.allocateAligned(max(64, (bytes + 63) & ~63))
        memory.append(part)
        return part
    }

    func allocate<T>(_ type: T.Type, _ count: Int) throws(StoreError) -> UnsafeMutablePointer<T> {
        try allocate(count * MemoryLayout<T>.stride).bindMemory(to: type, capacity: count)
    }

    /// With a NUL behind it.
    func text(_ text: String) throws(StoreError) -> UnsafePointer<UInt8> {
        let utf8 = Array(text.utf8), copy = try allocate(UInt8.self, utf8.count + 1)
        for (index, byte) in utf8.enumerated() { copy[index] = byte }
        copy[utf8.count] = 0
        return UnsafePointer(copy)
    }

    /// For `owner` of a record; given back by its `release`.
    var retained: UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    static func release(_ owner: UnsafeMutableRawPointer?) {
        if let owner { Unmanaged<ArrowOwner>.fromOpaque(owner).release() }
    }
}

extension ArrowSchemaRecord {
    /// Releases the children that nobody has taken out, and the dictionary, then itself.
    static let releasing: Release = { (pointer) in
        guard let record = pointer?.assumingMemoryBound(to: ArrowSchemaRecord.self) else { return }
        for index in 0..<Int(record.pointee.childCount) {
            if let child = record.pointee.children?[index] { child.pointee.release?(child) }
        }
        if let dictionary = record.pointee.dictionary { dictionary.pointee.release?(dictionary) }
        record.pointee.release = nil
        ArrowOwner.release(record.pointee.owner)
    }
}

extension ArrowArrayRecord {
    static let releasing: ArrowSchemaRecord.Release = { (pointer) in
        guard let record = pointer?.assumingMemoryBound(to: ArrowArrayRecord.self) else { return }
        for index in 0..<Int(record.pointee.childCount) {
            if let child = record.pointee.children?[index] { child.pointee.release?(child) }
        }
        if let dictionary = record.pointee.dictionary { dictionary.pointee.release?(dictionary) }
        record.pointee.release = nil
        ArrowOwner.release(record.pointee.owner)
    }
}
