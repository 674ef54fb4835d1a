internal import CSystem

/// Views of Arrow: 16 bytes for each text, and the bytes of those that are longer than twelve.
///
/// ```
///  0 i32 length | 4 the text, then zeros                                        up to 12 bytes
///  0 i32 length | 4 its first four bytes | 8 i32 buffer | 12 i32 where it begins in the buffer
/// ```
/// Bytes do not move: a buffer that is full is followed by another one.
final class TextViews: TextCells {
    typealias Cell = SIMD4<UInt32>
    static let nothing = Cell(repeating: 0)
    static let mostInside = 12

    /// Those that are full.
    private var full: [(pointer: UnsafeMutableRawPointer, count: Int)] = []
    /// The one that is being filled.
    private var bytes: UnsafeMutableRawPointer?
    private var used = 0, capacity = 0
    private static let least = 1 << 14, most = 8 << 20

    deinit { for buffer in buffers { buffer.pointer.deallocate() } }

    /// What views refer to by a number.
    var buffers: [(pointer: UnsafeMutableRawPointer, count: Int)] {
        if let bytes { full + [(bytes, used)] } else { [] }
    }

    @inline(__always)
    func cell(_ pointer: UnsafeRawPointer, _ length: Int) throws(StoreError) -> Cell {
        if length <= TextViews.mostInside { return TextViews.inside(pointer, length) }
        if _slowPath(length > capacity &- used) { try begin(length) }
        let start = used
        ColumnBuffer.copy(pointer, to: bytes.unsafelyUnwrapped + start, length)
        used = start &+ length
        return TextViews.outside(pointer, length, buffer: full.count, start)
    }

    /// A buffer for a text and more.
    @inline(never)
    private func begin(_ length: Int) throws(StoreError) {
        guard length <= Int(Int32.max) else { throw TextViews.tooLong(length) }
        let size = max(length, min(max(TextViews.least, capacity * 2), TextViews.most))
        let next = try Memory.allocate(size)
        if let bytes { full.append((bytes, used)) }
        (bytes, used, capacity) = (next, 0, size)
    }

    /// Of a text of this object.
    func text(_ cell: UnsafeRawPointer) -> (pointer: UnsafeRawPointer, count: Int) {
        let words = cell.load(as: Cell.self), length = Int(words[0])
        if length <= TextViews.mostInside { return (cell + 4, length) }
        return (UnsafeRawPointer(buffers[Int(words[2])].pointer + Int(words[3])), length)
    }

    static func tooLong(_ length: Int) -> StoreError {
        StoreError(.outOfRange, "a text has \(length) bytes, and a view of Arrow at most \(Int32.max)")
    }

    // MARK: Cells

    @inline(__always)
    static func inside(_ pointer: UnsafeRawPointer, _ length: Int) -> Cell {
        var cell = Cell(UInt32(truncatingIfNeeded: length), 0, 0, 0)
        withUnsafeMutableBytes(of: &cell) {
            ColumnBuffer.copy(pointer, to: $0.baseAddress.unsafelyUnwrapped + 4, length)
        }
        return cell
    }

    @inline(__always)
    static func outside(_ pointer: UnsafeRawPointer, _ length: Int, buffer: Int, _ start: Int) -> Cell {
        Cell(
            UInt32(truncatingIfNeeded: length), pointer.loadUnaligned(as: UInt32.self),
            UInt32(truncatingIfNeeded: buffer), UInt32(truncatingIfNeeded: start))
    }
}
