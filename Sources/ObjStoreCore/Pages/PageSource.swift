internal import CSystem

/// The source through which one version of the store is read: the mapped file, what of it was checked already and,
/// inside a write transaction, the arena. A value of a few words: copy it into a local before a loop.
///
/// `node` and `part` are the only ways from a ref to memory. The first touch of an extent in a process
/// checks bounds, hash, tag and structure; afterwards an access costs one compare.
package struct PageSource: @unchecked Sendable {
    /// The mapping; `limit` bytes of it belong to this version's file.
    package let base: UnsafeRawPointer
    let limit: Int
    /// One word per 512-byte unit: 0x8000 | kind << 9 | tag of the content that was checked there.
    /// Stale words differ in tag or kind (511 of 512) and only cost another check.
    let checked: UnsafeMutablePointer<UInt16>
    /// The file's hash seed.
    package let seed: UInt64
    /// The dirty extents; null for readers.
    let arena: Arena.Table?

    @inline(__always)
    package init(
        base: UnsafeRawPointer, limit: Int, checked: UnsafeMutablePointer<UInt16>, seed: UInt64, arena: Arena.Table?
    ) {
        self.base = base
        self.limit = limit
        self.checked = checked
        self.seed = seed
        self.arena = arena
    }

    @inline(__always)
    package func node(_ ref: Ref, _ kind: NodeKind) throws(StoreError) -> UnsafeRawPointer {
        if _fastPath(ref.raw & Ref.dirtyBit == 0) {
            let unit = Int(ref.raw >> 9)
            let want = 0x8000 | kind.rawValue &<< 9 | UInt16(truncatingIfNeeded: ref.raw & Ref.tagMask)
            if _fastPath(ref.raw < UInt64(limit) && cs_load16_relaxed(checked + unit) == want) {
                return base + (unit &<< 9)
            }
            return try checkNode(ref, kind)
        }
        guard let arena else { throw damaged(ref, "a ref into a transaction") }
        return UnsafeRawPointer(arena.pointer(ref))
    }

    @inline(__always)
    func part(
        _ ref: Ref, _ kind: PartKind, bytes: Int, hash32: UInt32, born: UInt64
    ) throws(StoreError) -> UnsafeRawPointer {
        if _fastPath(ref.raw & Ref.dirtyBit == 0) {
            let unit = Int(ref.raw >> 9)
            let want = 0x8000 | kind.rawValue &<< 9 | UInt16(truncatingIfNeeded: ref.raw & Ref.tagMask)
            if _fastPath(ref.raw < UInt64(limit) && cs_load16_relaxed(checked + unit) == want) {
                return base + (unit &<< 9)
            }
            return try checkPart(ref, kind, bytes: bytes, hash32: hash32, born: born)
        }
        guard let arena else { throw damaged(ref, "a ref into a transaction") }
        return UnsafeRawPointer(arena.pointer(ref))
    }

    /// What `checked` holds for an extent of that kind.
    @inline(__always)
    static func mark(_ kind: UInt16, _ ref: Ref) -> UInt16 { 0x8000 | kind &<< 9 | UInt16(truncatingIfNeeded: ref.tag) }

    /// Prefetches the beginning of an extent that will be needed soon.
    @inline(__always)
    func prefetch(_ ref: Ref) {
        if ref.raw < UInt64(limit) { cs_prefetch(base + Int(ref.raw & ~Ref.tagMask)) }
    }

    // MARK: First touch

    @inline(never)
    private func checkNode(_ ref: Ref, _ kind: NodeKind) throws(StoreError) -> UnsafeRawPointer {
        let offset = ref.offset
        guard offset >= 3 * PageSize.page, offset <= limit - NodeHeader.size else {
            throw damaged(ref, "\(kind) lies outside the file")
        }
        let node = base + offset
        let bytes = NodeHeader.bytes(node)
        guard NodeHeader.kind(node) == kind.rawValue else {
            throw damaged(ref, "expected \(kind), found kind \(NodeHeader.kind(node))")
        }
        guard bytes >= NodeHeader.size, bytes <= limit - offset else {
            throw damaged(ref, "\(kind) has \(bytes) bytes")
        }
        let hash = NodeHeader.computeHash(node, bytes: bytes, seed: seed)
        guard hash == NodeHeader.hash(node) || InjectedBug.active(.hashUnchecked) else {
            throw damaged(ref, "hash of \(kind) is wrong")
        }
        guard Ref.tag(ofHash: hash, born: NodeHeader.born(node)) == ref.tag || PageSource.ignoresTags else {
            throw damaged(ref, "\(kind) is of another version")
        }
        guard kind.isWellFormed(node, bytes: bytes) else { throw damaged(ref, "\(kind) is not well formed") }
        cs_store16_relaxed(checked + ref.unit, PageSource.mark(kind.rawValue, ref))
        return node
    }

    @inline(never)
    private func checkPart(
        _ ref: Ref, _ kind: PartKind, bytes: Int, hash32: UInt32, born: UInt64
    ) throws(StoreError) -> UnsafeRawPointer {
        let offset = ref.offset
        guard offset >= 3 * PageSize.page, bytes > 0, bytes <= limit, offset <= limit - bytes else {
            throw damaged(ref, "a part of \(bytes) bytes lies outside the file")
        }
        let part = base + offset
        let hash = PageHash.hash(part, count: bytes, seed: PageHash.mix(seed, born))
        guard UInt32(truncatingIfNeeded: hash >> 32) == hash32 || InjectedBug.active(.hashUnchecked),
            Ref.tag(ofHash: hash, born: born) == ref.tag || PageSource.ignoresTags
        else {
            throw damaged(ref, "hash of a part of \(bytes) bytes is wrong")
        }
        guard kind.isWellFormed(part, bytes: bytes) else { throw damaged(ref, "\(kind) segment is not well formed") }
        cs_store16_relaxed(checked + ref.unit, PageSource.mark(kind.rawValue, ref))
        return part
    }

    private static var ignoresTags: Bool { InjectedBug.active(.noRefTags) || InjectedBug.active(.hashUnchecked) }

    private func damaged(_ ref: Ref, _ what: String) -> StoreError {
        StoreError(.corrupt, "damaged page at byte \(ref.offset) of the file: \(what)")
    }
}
