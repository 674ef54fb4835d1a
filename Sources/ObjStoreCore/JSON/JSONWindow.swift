internal import CSystem

/// The bytes of a JSON text, as far as they are in memory: all of them, in memory of the caller, or a window that
/// slides over what a function reads piece by piece.
///
/// Bytes are counted from the window's start. They stay where they are until `slide`, which the reader calls between
/// elements only: so the text of the element at hand is always there, to say where in it something is wrong.
final class JSONWindow {
    /// Fills memory with the next bytes of the text, and returns how many: 0 is its end.
    typealias Read = (UnsafeMutableRawBufferPointer) throws(StoreError) -> Int

    private(set) var base: UnsafePointer<UInt8>
    /// How many bytes there are.
    private(set) var count: Int
    /// Texts may be borrowed: the memory does not move.
    var canLend: Bool { read == nil }

    /// What came before the window.
    private var bytesBefore = 0, linesBefore = 0
    /// Where the line began in which the window begins, in bytes of the text.
    private var lineStart = 0

    private let read: Read?
    private var owned: UnsafeMutablePointer<UInt8>?
    private var capacity = 0
    private var isAtEnd: Bool

    private static let piece = 1 << 16

    init(_ text: UnsafeRawBufferPointer) {
        base = text.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? UnsafePointer(bitPattern: 1)!
        count = text.count
        read = nil
        isAtEnd = true
    }

    init(_ read: @escaping Read) {
        base = UnsafePointer(bitPattern: 1)!
        count = 0
        self.read = read
        isAtEnd = false
    }

    deinit { owned?.deallocate() }

    /// Reads behind what there is; false at the end of the text. The memory may move. Errors: `.outOfMemory`.
    @inline(never)
    func more() throws(StoreError) -> Bool {
        guard !isAtEnd, let read else { return false }
        if capacity - count < JSONWindow.piece {
            let more = max(capacity * 2, JSONWindow.piece * 2), larger = try Memory.allocate(UInt8.self, more)
            if let owned {
                larger.update(from: owned, count: count)
                owned.deallocate()
            }
            self.owned = larger
            base = UnsafePointer(larger)
            capacity = more
        }
        let room = UnsafeMutableRawBufferPointer(start: self.owned.unsafelyUnwrapped + count, count: JSONWindow.piece)
        let got = try read(room)
        guard got >= 0, got <= room.count else {
            throw StoreError(
                .invalidArgument, "the function that reads JSON returned \(got) of at most \(room.count) bytes")
        }
        if got == 0 { isAtEnd = true }
        count += got
        return got > 0
    }

    /// Forgets the first bytes, once not many are left behind them; returns the number of those that it forgot.
    func slide(_ done: Int) -> Int {
        guard let owned, !isAtEnd, count - done < JSONWindow.piece / 4 else { return 0 }
        var index = 0
        while index < done, let found = memchr(base + index, 0x0a, done - index) {
            index = UnsafeRawPointer(found) - UnsafeRawPointer(base) + 1
            linesBefore += 1
            lineStart = bytesBefore + index
        }
        memmove(owned, owned + done, count - done)
        count -= done
        bytesBefore += done
        // What one long element needed is not kept, if there is memory for less.
        if capacity > JSONWindow.piece * 4, let smaller = try? Memory.allocate(UInt8.self, JSONWindow.piece * 2) {
            smaller.update(from: owned, count: count)
            owned.deallocate()
            self.owned = smaller
            base = UnsafePointer(smaller)
            capacity = JSONWindow.piece * 2
        }
        return done
    }

    /// Of a byte of the window, in the whole text: from 0.
    @inline(__always) func offset(_ index: Int) -> Int { bytesBefore &+ index }

    /// Where a byte is, both from 1; columns are counted in bytes.
    func place(offset: Int) -> (line: Int, column: Int) {
        var line = linesBefore + 1, start = lineStart, index = 0
        let end = min(max(offset - bytesBefore, 0), count)
        while index < end, let found = memchr(base + index, 0x0a, end - index) {
            index = UnsafeRawPointer(found) - UnsafeRawPointer(base) + 1
            line += 1
            start = bytesBefore + index
        }
        return (line, offset - start + 1)
    }
}
