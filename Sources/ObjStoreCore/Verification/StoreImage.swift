internal import CSystem

/// The files of a store that is not open anywhere, as they are: read without opening the store, and never written.
///
/// For what cannot be opened: it looks at both metas, also damaged ones, and at the last resort for root and schema by
/// their hashes. While it is open the store cannot be opened, if the file may be written to.
package final class StoreImage {
    let path: String
    let machine: Machine
    let file: StorageFile
    private let mapping: Mapping
    private let opening: ExclusiveLock?
    /// Of the file.
    let bytes: Int
    /// With what there is of a last one.
    private let pages: Int
    package let slots: [Slot]
    let log: LogImage

    /// One of the two metas.
    package struct Slot {
        /// Nil where it is damaged.
        package var meta: Meta?
        /// Why.
        var problem = ""
        var hasMagic = false
        /// What a damaged one seems to say.
        var guess: Meta?
    }

    /// A version that can be read, and how it was found.
    struct Version {
        var image: VersionImage
        /// Where the log continues; nil if unknown.
        var meta: Meta?
        /// The meta is whole.
        var isVouched: Bool
        /// It may not be the newest one.
        var isUncertain = false
        /// False: the image has an empty one in its place.
        var hasSchema: Bool
        /// Records of the log that lead on from it.
        var chain = LogChain()
    }

    /// Errors: `.notFound`, `.notAStore`, `.busy`, `.versionMismatch`, `.io`.
    package static func open(_ path: String, machine: Machine) throws(StoreError) -> StoreImage {
        let path = try machine.resolveStore(path)
        guard machine.exists(path) else { throw StoreError(.notFound, "there is no file at \(path)") }
        let (file, isWritable) = try openFile(path, machine)
        do throws(StoreError) {
            return try StoreImage(file, path: path, machine: machine, isWritable: isWritable)
        } catch {
            file.close()
            throw error
        }
    }

    /// A lock needs a file that is open for writing, also where nothing is written.
    private static func openFile(
        _ path: String, _ machine: Machine
    ) throws(StoreError) -> (StorageFile, isWritable: Bool) {
        do throws(StoreError) { return (try machine.open(path, .existing), true) } catch {
            switch error.systemError {
            case EACCES, EPERM, EROFS, ETXTBSY: return (try machine.open(path, .readOnly), false)
            // No system call failed: it is there, but no regular file.
            case 0 where error.code == .io, EISDIR: throw StoreError(.notAStore, "\(path) is not an objstore file")
            default: throw error
            }
        }
    }

    private init(_ file: StorageFile, path: String, machine: Machine, isWritable: Bool) throws(StoreError) {
        self.file = file
        self.path = path
        self.machine = machine
        var lock: ExclusiveLock?
        if isWritable {
            let opening = machine.makeLock(file, byte: Database.Locks.first)
            guard try opening.acquire(timeout: 0) else { throw StoreError(.busy, "\(path) is being opened or closed") }
            lock = opening
        }
        opening = lock
        do throws(StoreError) {
            guard try !machine.isLocked(file, bytes: Database.Locks.allLive) else {
                throw StoreError(
                    .busy, "\(path) is open: it can be checked through a view of it, or when everybody has closed it")
            }
            bytes = try file.size()
            pages = PageSize.pages(bytes)
            slots = try StoreImage.readSlots(file, path)
            mapping = try Mapping(file, bytes: max(pages, 1) * PageSize.page)
            log = try LogImage(path + "-log", machine: machine)
        } catch {
            lock?.release()
            throw error
        }
    }

    package func close() {
        log.close()
        opening?.release()
        file.close()
    }

    private static func readSlots(_ file: StorageFile, _ path: String) throws(StoreError) -> [Slot] {
        // Says so where a library that knows more wrote one.
        do throws(StoreError) { _ = try Database.readMetas(file) } catch {
            throw error.code == .versionMismatch ? StoreError(.versionMismatch, "\(path): \(error.message)") : error
        }
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: PageSize.page + Meta.size, alignment: 64)
        defer { buffer.deallocate() }
        try file.read(into: buffer, count: PageSize.page + Meta.size, at: 0)
        var slots: [Slot] = []
        for index in 0..<2 {
            let page = UnsafeRawPointer(buffer + index * PageSize.page)
            var slot = Slot(hasMagic: page.load(as: UInt64.self) == Meta.magic)
            do throws(Meta.Problem) { slot.meta = try Meta.decodeChecked(page) } catch {
                slot.problem = error == .notAStore ? "it does not begin like one" : "its hash is wrong"
                slot.guess = Meta.unchecked(page)
            }
            slots.append(slot)
        }
        return slots
    }

    /// That a file was not closed cleanly may not be so where the other meta is damaged: in words that follow it, or
    /// empty.
    func doubt() throws(StoreError) -> String {
        if let whole = slots.first(where: { $0.meta != nil })?.meta, try mayBeTorn(beside: whole) { return "" }
        return Database.doubt(slots.map(\.meta))
    }

    // MARK: Sources

    /// What a version is read through. Nothing behind the end of the file is ever touched.
    func source(_ seed: UInt64, filePages: Int) -> PageSource {
        mapping.source(filePages: min(filePages, pages), seed: seed)
    }

    package func source(_ meta: Meta) -> PageSource { source(meta.hashSeed, filePages: meta.filePages) }

    /// The whole file, whatever a meta says about its length.
    private func whole(_ seed: UInt64) -> PageSource { source(seed, filePages: Int.max) }

    // MARK: The version to read

    /// Findings about both metas and the length of the file.
    func describe(_ say: ReportSink) throws(StoreError) {
        for (index, slot) in slots.enumerated() where slot.meta == nil {
            let text = "meta \(index): it is damaged: \(slot.problem)"
            guard let other = slots[index ^ 1].meta, try mayBeTorn(beside: other) else {
                try say(.finding(text))
                continue
            }
            try say(
                .note(
                    text
                        + """
                        ; a power cut may have torn it while it was written, and the other one says all that is needed
                        """
                ))
        }
        if let problem = Database.lengthProblem(slots.map(\.meta), bytes) { try say(.finding("file: \(problem)")) }
    }

    /// Whether the meta beside a whole one was perhaps being written when the power went, which costs nothing: nothing
    /// relies on a meta before it is durable.
    ///
    /// ```
    ///  the whole one is       the other one is being written by         so there is
    ///  clean                  the first writer of a new life            a log without a record of that life
    ///  not clean              a checkpoint, a close or a recovery       a log
    /// ```
    /// (Disks write 512 bytes as a whole, and a meta lies in as many; this is for those that do not.)
    private func mayBeTorn(beside whole: Meta) throws(StoreError) -> Bool {
        guard try log.matches(whole), try rootNode(whole.root, source(whole)) != nil else { return false }
        if !whole.isClean { return true }
        guard machine.exists(path + "-lock") else { return false }
        return try log.strayRecords(whole.hashSeed, epoch: whole.log.epoch + 1, after: whole.version) == 0
    }

    /// The newest version that a whole meta vouches for and whose root can be read; else the newest that can be found
    /// in any way. Nil where there is none. `.notAStore` where nothing of the file looks like a store.
    ///
    /// - Parameter prefersNewest: a damaged meta whose root proves itself counts where it leads further than a whole
    ///   one.
    func newestVersion(prefersNewest: Bool, _ say: ReportSink) throws(StoreError) -> Version? {
        var found: [Version] = []
        var metas: [(slot: Int, meta: Meta)] = []
        for (index, slot) in slots.enumerated() { if let meta = slot.meta { metas.append((index, meta)) } }
        metas.sort { $0.meta.generation > $1.meta.generation }
        let newest = metas.first?.meta
        var isNewestRead = false, isOtherKnown = true
        for (index, meta) in metas {
            guard let root = try rootNode(meta.root, source(meta)) else {
                // Once a newer meta is durable its pages are used again: it says nothing of what there was between
                // them.
                let text = "root: that of meta \(index), version \(meta.version), "
                try say(
                    isNewestRead
                        ? .note(text + "is not there any more, and meta \(index ^ 1) leads to a newer one")
                        : .finding(text + "is damaged"))
                continue
            }
            if meta.generation == newest?.generation { isNewestRead = true }
            // What a newer clean meta says is the end, whatever the log holds behind it.
            let limit = newest.map { $0.isClean && $0.generation > meta.generation ? $0.version : .max } ?? .max
            let chain = meta.isClean ? LogChain(version: meta.version) : try log.follow(meta, limit: limit)
            found.append(try version(meta.root, meta.version, source(meta), meta, isVouched: true, chain, root))
        }
        for (index, slot) in slots.enumerated() where slot.meta == nil {
            guard let guess = slot.guess, let root = try rootNode(guess.root, whole(guess.hashSeed)) else {
                if let other = slots[index ^ 1].meta {
                    isOtherKnown = try mayBeTorn(beside: other)
                } else {
                    isOtherKnown = false
                }
                continue
            }
            // Its other fields prove nothing, but for the place in the log: a record there has the hash of the one
            // before.
            let version = NodeHeader.word(root), chain = try log.follow(guess),
                leadsOn = chain.count > 0 && guess.version >= version
            found.append(
                try self.version(
                    guess.root, version, whole(guess.hashSeed), leadsOn ? guess : nil, isVouched: false,
                    leadsOn ? chain : LogChain(version: version), root))
            if prefersNewest {
                try say(.note("meta \(index): damaged as it is, its root of version \(version) is whole"))
            }
        }
        if found.isEmpty {
            guard slots.contains(where: \.hasMagic) else {
                throw StoreError(.notAStore, "\(path) is not an objstore file")
            }
            return try search(say)
        }
        // The first one stays where another one leads no further: whole metas come first, the newest before all.
        var best = found[0]
        for other in found.dropFirst()
        where other.chain.version > best.chain.version && (prefersNewest || !best.isVouched) { best = other }
        let isOlder = newest != nil && !isNewestRead && best.chain.version < newest!.version
        if isOlder {
            try say(.finding("root: version \(newest!.version) is lost; version \(best.image.version) is read instead"))
        }
        if !isOtherKnown, prefersNewest {
            try say(
                .finding(
                    "meta: nobody knows what the damaged one said: version \(best.chain.version) may not be the newest")
            )
        }
        best.isUncertain = best.isUncertain || isOlder || !isOtherKnown
        return best
    }

    private func rootNode(_ ref: Ref, _ source: PageSource) throws(StoreError) -> UnsafeRawPointer? {
        if ref.isNull || ref.isDirty { return nil }
        do throws(StoreError) { return try source.node(ref, .root) } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    private func version(
        _ root: Ref, _ version: UInt64, _ source: PageSource, _ meta: Meta?, isVouched: Bool, _ chain: LogChain,
        _ node: UnsafeRawPointer
    ) throws(StoreError) -> Version {
        let schema = try readSchema(RootNode.schema(node), source)
        let image = VersionImage(
            source: source, root: root, version: version, schema: schema ?? Schema(classes: [], version: 0))
        return Version(image: image, meta: meta, isVouched: isVouched, hasSchema: schema != nil, chain: chain)
    }

    private func readSchema(_ ref: Ref, _ source: PageSource) throws(StoreError) -> Schema? {
        do throws(StoreError) {
            let node = try source.node(ref, .schema)
            var reader = ByteReader(node + NodeHeader.size, count: NodeHeader.bytes(node) - NodeHeader.size)
            return try SchemaCodec.read(&reader)
        } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    // MARK: The last resort

    /// Nodes are found by kind and hash: large ones than these are none of theirs.
    private static let largestRoot = 1 << 20, largestSchema = 16 << 20

    /// The root with the greatest version among all in the file whose schema can be read.
    private func search(_ say: ReportSink) throws(StoreError) -> Version? {
        var best: (ref: Ref, version: UInt64, source: PageSource, hasSchema: Bool, node: UnsafeRawPointer)?
        for seed in Set(slots.compactMap { $0.meta?.hashSeed ?? $0.guess?.hashSeed }) {
            let source = whole(seed)
            try forEachNode(.root, largest: StoreImage.largestRoot, source) { (ref, node) throws(StoreError) in
                let version = NodeHeader.word(node)
                guard version == NodeHeader.born(node) else { return }
                if let best, best.version > version || best.hasSchema && best.version == version { return }
                best = (ref, version, source, try readSchema(RootNode.schema(node), source) != nil, node)
            }
        }
        guard let best else {
            try say(.finding("root: no meta leads to one, and none was found in the whole file"))
            return nil
        }
        try say(
            .finding(
                """
                root: no meta leads to one; that of version \(best.version) was found by a search and may not be the \
                newest
                """
            ))
        var found = try version(
            best.ref, best.version, best.source, nil, isVouched: false, LogChain(version: best.version), best.node)
        found.isUncertain = true
        return found
    }

    /// The youngest schema in the file that is not younger than the version and has a class; nil where there is none.
    func searchSchema(_ image: VersionImage) throws(StoreError) -> (schema: Schema, version: UInt64)? {
        var best: (schema: Schema, version: UInt64)?
        try forEachNode(.schema, largest: StoreImage.largestSchema, image.source) { (ref, node) throws(StoreError) in
            let born = NodeHeader.born(node)
            guard born <= image.version, best == nil || born > best!.version else { return }
            if let schema = try readSchema(ref, image.source), !schema.classes.isEmpty { best = (schema, born) }
        }
        return best
    }

    private func forEachNode(
        _ kind: NodeKind, largest: Int, _ source: PageSource, _ body: (Ref, UnsafeRawPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        var offset = 3 * PageSize.page
        while offset + NodeHeader.size <= source.limit {
            defer { offset += PageSize.unit }
            let node = source.base + offset
            guard NodeHeader.kind(node) == kind.rawValue, (NodeHeader.size...largest).contains(NodeHeader.bytes(node))
            else { continue }
            let ref = Ref(offset: offset, hash: NodeHeader.hash(node), born: NodeHeader.born(node))
            do throws(StoreError) { _ = try source.node(ref, kind) } catch {
                guard error.isDamage else { throw error }
                continue
            }
            try body(ref, node)
        }
    }
}
