/// Names one version of one store, in 40 bytes that a program writes down: what it has seen.
///
/// ```
///  0 uuid of the store, 16 bytes   16 u64 version   24 u64 hash64 of its root   32 u64 hash of the bytes before
/// ```
/// The hash of the root says that it is that version: a power cut takes relaxed commits back, and a backup may be put
/// in the place of the store, and what is committed then has the same numbers. A checkpoint is a version with the root
/// of the one before: nothing has happened between them.
package struct Bookmark: Equatable, Sendable {
    package static let size = 40

    private let store: UInt64
    private let storeRest: UInt64
    package let version: UInt64
    let root: UInt64

    init(uuid: (UInt64, UInt64), version: UInt64, root: UInt64) {
        (store, storeRest) = uuid
        self.version = version
        self.root = root
    }

    func isOf(uuid: (UInt64, UInt64)) -> Bool { store == uuid.0 && storeRest == uuid.1 }

    /// Of the same store, and with the same content.
    package func isSameState(as other: Bookmark) -> Bool {
        root == other.root && store == other.store && storeRest == other.storeRest
    }

    // MARK: Bytes

    private var check: UInt64 {
        PageHash.mix(PageHash.mix(store, storeRest), PageHash.mix(version ^ 0x626f_6f6b, root))
    }

    /// Writes `size` bytes.
    package func write(to bytes: UnsafeMutableRawPointer) {
        for (index, word) in [store, storeRest, version, root, check].enumerated() {
            bytes.storeBytes(of: word.littleEndian, toByteOffset: index * 8, as: UInt64.self)
        }
    }

    /// Errors: `.invalidArgument`: these bytes are no bookmark, or one that was changed or cut off.
    package init(reading bytes: UnsafeRawBufferPointer) throws(StoreError) {
        guard bytes.count == Bookmark.size, let base = bytes.baseAddress else {
            throw StoreError(.invalidArgument, "a bookmark has \(Bookmark.size) bytes, and not \(bytes.count)")
        }
        func word(_ index: Int) -> UInt64 {
            UInt64(littleEndian: base.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self))
        }
        self.init(uuid: (word(0), word(1)), version: word(2), root: word(3))
        guard check == word(4) else { throw StoreError(.invalidArgument, "these 40 bytes are not a bookmark") }
    }
}
