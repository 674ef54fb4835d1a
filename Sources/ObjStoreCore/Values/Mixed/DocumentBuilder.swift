/// Writes the node of one value piece by piece: a list or map is begun, filled and ended. Everything is copied at once.
///
/// ```
/// try builder.begin(.map)
/// try builder.key(…); try builder.append(.int(1))
/// try builder.end()
/// ```
package final class DocumentBuilder {
    /// A list or map that has not ended.
    private struct Frame {
        let kind: ValueKind
        /// Where its items begin in `bytes`; those of maps in the order in which they came.
        let start: Int
        /// Of lists, from `start`.
        var ends: [Int] = []
        var entries: [(key: Range<Int>, value: Range<Int>)] = []
        /// Of the value that comes next.
        var key: Range<Int>?
    }

    private let bytes = ByteBuffer(), sorted = ByteBuffer()
    private var frames: [Frame] = []
    private let limit: Int

    /// - Parameter limit: bytes of the whole.
    package init(limit: Int = Value.maximumBytes) { self.limit = limit }

    package func removeAll() {
        bytes.removeAll()
        frames.removeAll(keepingCapacity: true)
    }

    /// The node, when everything has ended. Valid until the next change.
    package var node: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: bytes.base, count: bytes.count) }

    package func append(_ value: Value) throws(StoreError) {
        guard try MixedCell.admit(value, limit: limit) + frames.count <= MixedNode.maximumDepth else {
            throw MixedEdit.tooDeep
        }
        let start = bytes.count
        try MixedNode.append(value, to: bytes)
        try didAppend(from: start)
    }

    package func begin(_ kind: ValueKind) throws(StoreError) {
        guard frames.count < MixedNode.maximumDepth else { throw MixedEdit.tooDeep }
        frames.append(Frame(kind: kind, start: bytes.count))
    }

    /// Of the value of a map that comes next.
    package func key(_ key: UnsafeRawBufferPointer) throws(StoreError) {
        try MixedCell.admit(.string(key.baseAddress, key.count), limit: limit)
        let start = bytes.count
        try bytes.append(bytes: key.baseAddress, count: key.count)
        frames[frames.count - 1].key = start..<bytes.count
    }

    /// `.invalidArgument` where a key of a map came twice.
    package func end() throws(StoreError) {
        guard var frame = frames.popLast() else { return }
        let count = frame.kind == .map ? frame.entries.count : frame.ends.count
        sorted.removeAll()
        if frame.kind == .map {
            try sort(&frame)
        } else {
            try sorted.append(bytes: UnsafeRawPointer(bytes.base + frame.start), count: bytes.count - frame.start)
        }
        bytes.truncate(frame.start)
        try MixedContainer.appendHeader(frame.kind, count: count, ends: frame.ends, to: bytes)
        try bytes.append(bytes: UnsafeRawPointer(sorted.base), count: sorted.count)
        try didAppend(from: frame.start)
    }

    /// Brings the entries of a map into the order of their keys, in `sorted`.
    private func sort(_ frame: inout Frame) throws(StoreError) {
        let base = UnsafeRawPointer(bytes.base)
        func piece(_ range: Range<Int>) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count)
        }
        // Sorting takes half of it once more.
        try Memory.check(for: frame.entries.count, each: MemoryLayout<(Range<Int>, Range<Int>)>.stride)
        frame.entries.sort { MixedContainer.compare(piece($0.key), piece($1.key)) < 0 }
        var last: UnsafeRawBufferPointer?
        for entry in frame.entries {
            let key = piece(entry.key)
            if let last, MixedContainer.compare(last, key) == 0 {
                throw StoreError(
                    .invalidArgument, "a map has the key \(Value.string(key.baseAddress, key.count).text) twice")
            }
            last = key
            try sorted.append(bytes: key.baseAddress, count: key.count)
            try frame.ends.tryAppend(sorted.count)
            try sorted.append(bytes: piece(entry.value).baseAddress, count: entry.value.count)
            try frame.ends.tryAppend(sorted.count)
        }
    }

    private func didAppend(from start: Int) throws(StoreError) {
        if bytes.count > limit { throw MixedCell.tooLarge(bytes.count, limit) }
        guard let top = frames.indices.last else { return }
        if frames[top].kind == .list {
            try frames[top].ends.tryAppend(bytes.count - frames[top].start)
        } else if let key = frames[top].key {
            try frames[top].entries.tryAppend((key, start..<bytes.count))
            frames[top].key = nil
        }
    }
}
