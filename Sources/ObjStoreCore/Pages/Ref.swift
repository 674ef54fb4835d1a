/// Where an extent of the file lies, and which content it must have.
///
/// ```
///  63  62                                   9 8         0
/// +---+--------------------------------------+-----------+
/// | 0 | byte offset in the file / 512        | tag       |   in the file
/// +---+--------------------------------------+-----------+
/// | 1 | index in the transaction's arena                 |   dirty: not written yet
/// +---+--------------------------------------------------+
/// ```
/// The tag is nine bits of the content hash (which covers the birth version): a stale or lost write is
/// seen on first touch. The full hash is in the node's header or, for parts of a leaf, in the
/// parent's entry. Raw value 0 is the null ref: offset 0 is a meta page, never a node.
package struct Ref: Equatable, Sendable {
    package var raw: UInt64

    package init(raw: UInt64) { self.raw = raw }
    package init(offset: Int, hash: UInt64, born: UInt64) { raw = UInt64(offset) | Ref.tag(ofHash: hash, born: born) }
    package init(arenaIndex: Int) { raw = Ref.dirtyBit | UInt64(arenaIndex) }

    package static let null = Ref(raw: 0)
    package static let dirtyBit: UInt64 = 1 << 63
    static let tagMask: UInt64 = 0x1ff

    /// The hash covers the birth, so its bits represent both.
    static func tag(ofHash hash: UInt64, born: UInt64) -> UInt64 {
        (InjectedBug.active(.birthTagOnly) ? born : hash) & tagMask
    }

    package var isNull: Bool { raw == 0 }
    /// In the arena of the transaction that is looking; never stored in the file.
    package var isDirty: Bool { raw & Ref.dirtyBit != 0 }
    package var arenaIndex: Int { Int(raw & 0xffff_ffff) }
    package var offset: Int { Int(raw & ~(Ref.tagMask | Ref.dirtyBit)) }
    package var unit: Int { Int((raw & ~Ref.dirtyBit) >> 9) }
    package var tag: UInt64 { raw & Ref.tagMask }
}

/// Sizes that the whole file is made of.
package enum PageSize {
    /// Space is reused, and written, in whole pages of this many bytes.
    package static let page = 4096
    /// Extents are placed in units of this many bytes within the pages of their transaction.
    package static let unit = 512
    package static let unitsPerPage = page / unit

    @inline(__always) package static func units(_ bytes: Int) -> Int { (bytes &+ (unit &- 1)) >> 9 }
    @inline(__always) package static func roundedToUnit(_ bytes: Int) -> Int { (bytes &+ (unit &- 1)) & ~(unit &- 1) }
    @inline(__always) package static func pages(_ bytes: Int) -> Int { (bytes &+ (page &- 1)) >> 12 }
}

/// Consecutive pages of the file.
package struct PageRun: Equatable, Sendable {
    package var page = 0
    package var count = 0

    package init(page: Int = 0, count: Int = 0) { self.page = page; self.count = count }

    /// In one word: 40 bits of page, 24 bits of count.
    init(word: UInt64) { self.init(page: Int(word >> 24), count: Int(word & 0xff_ffff)) }
    var word: UInt64 { UInt64(page) << 24 | UInt64(count) }

    var range: Range<Int> { page..<(page + count) }
    /// As an extent of a version, all of whose units live.
    func extent(born: UInt64) -> FreedExtent {
        FreedExtent(unit: page * PageSize.unitsPerPage, units: count * PageSize.unitsPerPage, born: born)
    }
}
