/// Makes the file smaller while others read and write: in steps, each a small transaction of its own.
///
/// ```
///  1. rows      leaves of which much was deleted are put together, dropped properties go   (ClusterTreeCompaction)
///  2. extents   from the end of the file to free pages before them           (TreeMoving)
///       [live][free][live][live][free][live] ─► [live][live][live][live][free][free]
///  3. the end   a checkpoint says how long the file is now, and cuts it      (Checkpoint)
/// ```
/// No step changes what an application sees: its version has no operations, observers are not notified, and a recovery
/// that misses it misses nothing. A page that was emptied is free when no reader can see it any more and both metas are
/// past it: so there is a checkpoint between the steps. What a pinned version needs stays where it is.
extension Database {
    /// How long to wait for it.
    private typealias Turn = (timeout: Int64, end: WaitCancellation?)

    private static let rowsPerStep = 1 << 17
    private static let bytesPerStep = 8 << 20

    /// - Parameters:
    ///   - timeout: nanoseconds to wait for each turn to write; negative: for ever.
    ///   - end: of such waits.
    package func compact(
        timeout: Int64, until end: WaitCancellation? = nil, _ progress: ProgressCallback
    ) throws(StoreError) {
        let turn: Turn = (timeout, end)
        var done: UInt64 = 0
        func report(_ bytes: Int) throws(StoreError) {
            done += UInt64(bytes)
            try progress(done, max(done, UInt64(try shared.headEntry().filePages * PageSize.page)))
        }
        try progress(0, UInt64(try shared.headEntry().filePages * PageSize.page))
        let classes = try snapshot().schema.classes.count
        for index in 0..<classes {
            for step in [ClusterWriter.dropColumns, ClusterWriter.compactRows] {
                var next: Int64? = 0
                while let key = next {
                    let moved: Int
                    (next, moved) = try compactRows(index, turn) { (cluster) throws(StoreError) in
                        try step(cluster)(key, Database.rowsPerStep)
                    }
                    try report(moved)
                }
            }
        }
        // Nothing younger than this is moved: each extent at most once.
        let newest = shared.head.load()
        var isDone = false
        while !isDone {
            // Emptied pages become free with the second checkpoint behind them.
            try settle(turn)
            let moved = try moveExtents(upTo: newest, turn)
            isDone = moved == 0
            try report(moved)
        }
        try settle(turn)
    }

    private func compactRows(
        _ index: Int, _ turn: Turn, _ step: (ClusterWriter) throws(StoreError) -> Int64?
    ) throws(StoreError) -> (next: Int64?, moved: Int) {
        let transaction = try WriteTransaction.begin(self, timeout: turn.timeout, until: turn.end)
        guard index < transaction.schema.classes.count else {
            transaction.abandon()
            return (nil, 0)
        }
        let state = try transaction.state(index)
        let next = try step(state.cluster)
        let bytes = transaction.space.arena.capacityInUse
        if bytes == 0 {
            transaction.abandon()
            return (next, 0)
        }
        state.hasChanges = true
        transaction.isMoving = true
        try transaction.commit(StoreOptions.Durability.none)
        return (next, bytes)
    }

    /// One step; returns the bytes that were moved, 0 where nothing is left to be won.
    private func moveExtents(upTo newest: UInt64, _ turn: Turn) throws(StoreError) -> Int {
        let transaction = try WriteTransaction.begin(self, timeout: turn.timeout, until: turn.end)
        try prepareAllocator(for: transaction.base)
        guard
            let pages = allocator!.space.pagesToEmpty(
                units: Database.bytesPerStep / PageSize.unit, slack: options.growthPages / 8)
        else {
            transaction.abandon()
            return 0
        }
        let moved = try transaction.move(MovedPages(bits: pages, newest: newest), budget: Database.bytesPerStep)
        if moved == 0 {
            transaction.abandon()
            return 0
        }
        transaction.isMoving = true
        allocator!.space.takeFromStart()
        try transaction.commit(StoreOptions.Durability.none)
        return moved
    }

    /// Two checkpoints with a version between them: both metas are past what was done before.
    private func settle(_ turn: Turn) throws(StoreError) {
        for _ in 0..<2 {
            let transaction = try WriteTransaction.begin(self, timeout: turn.timeout, until: turn.end)
            transaction.isMoving = true
            try transaction.commit(StoreOptions.Durability.none)
            try checkpoint(timeout: turn.timeout, cutsAll: true, until: turn.end)
        }
    }
}

extension WriteTransaction {
    /// Moves extents that are among `victims`; returns how many bytes.
    func move(_ victims: MovedPages, budget: Int) throws(StoreError) -> Int {
        var moved = 0
        let root = try space.source.node(base.root, .root)
        for index in 0..<schema.classes.count where index < NodeHeader.count(root) && moved < budget {
            let ref = RootNode.classNode(root, index)
            let node = try space.source.node(ref, .classRoot)
            let state = try state(index)
            var here =
                victims.contains(ref, bytes: NodeHeader.bytes(node), born: NodeHeader.born(node))
                ? NodeHeader.bytes(node) : 0
            here += try state.move(victims, budget: budget - moved - here)
            if here > 0 { state.hasChanges = true }
            moved += here
        }
        return moved + (try moveSchema(victims))
    }
}
