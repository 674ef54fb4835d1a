/// Shared in turn by the write transactions of one process, under WRITER: their memory, and the writers of trees and
/// pages. They are made once: recreating them would cost more than a small commit.
final class WriterMemory {
    let arena: Arena
    let ops = OpLog()
    let space: WriteSpace
    let extents: ExtentWriter
    /// Runs of pages that the open transaction, or its group, has taken.
    var takenRuns: [(page: Int, count: Int)] = []
    /// Extents were to be written ahead of the commit, and some are neither in memory nor in the file.
    var spillFailed = false { didSet { if spillFailed { space.mayBeBroken = true } } }

    /// By class index; those of `opened` belong to the open transaction, the others wait for their next one.
    private var states: [ClassState?] = []
    private var opened: [Int] = []
    /// Whose classes they are of.
    private var schema: Schema?

    /// Errors: `.outOfMemory`.
    init(_ database: Database, _ mapping: Mapping) throws(StoreError) {
        arena = try Arena()
        space = WriteSpace(arena: arena, source: mapping.source(filePages: 0, seed: database.seed, arena: arena))
        extents = ExtentWriter(
            version: 0, seed: database.seed, arena: arena, estimate: 0,
            takeRun: { [unowned database] (minimum, wanted) throws(StoreError) in
                let run = try database.takePages(minimum: minimum, wanted: wanted)
                database.memory!.takenRuns.append(run)
                return run
            },
            release: { [unowned database] page, count in
                database.allocator!.space.release(page: page, count: count)
                let last = database.memory!.takenRuns.count - 1
                database.memory!.takenRuns[last].count -= count
            })
    }

    /// For the next transaction.
    func begin(_ source: PageSource, _ schema: Schema, version: UInt64, opsLimit: Int, spillLimit: Int) {
        end()  // a member of a group that was sealed
        ops.removeAll()
        ops.limit = opsLimit
        space.begin(source, version: version, spillLimit: spillLimit)
        spillFailed = false
        use(schema)
    }

    /// While no class is open. The states of another schema are forgotten.
    func use(_ schema: Schema) {
        if self.schema === schema { return }
        self.schema = schema
        states = Array(repeating: nil, count: schema.classes.count)
    }

    /// The transaction is over: what took much memory is freed, the rest waits for the next one.
    func end() {
        arena.reset()
        for index in opened where states[index]?.close() == false { states[index] = nil }
        opened.removeAll(keepingCapacity: true)
    }

    /// The state of a class that the transaction has looked at or changed.
    func openState(_ index: Int) -> ClassState? {
        guard let state = states[index], state.isOpen else { return nil }
        return state
    }

    /// The state of a class, for `ClassState.open`.
    func makeState(_ index: Int, _ cls: ClassSchema, nextKey: UnsafeMutablePointer<Int64>) -> ClassState {
        opened.append(index)
        if let state = states[index] { return state }
        let state = ClassState(
            cls, incoming: schema!.incoming[index], owning: schema!.owning[index], space: space, nextKey: nextKey,
            ops: ops)
        states[index] = state
        return state
    }

    // MARK: Savepoints

    /// The open classes as they are.
    func markStates() throws(StoreError) -> [(index: Int, mark: ClassState.Mark)] {
        var marks: [(index: Int, mark: ClassState.Mark)] = []
        for index in opened {
            if let state = openState(index) { marks.append((index, try state.settle())) }
        }
        return marks
    }

    /// Goes back to `marks`; classes that were opened since are closed.
    func restoreStates(_ marks: [(index: Int, mark: ClassState.Mark)]) {
        for index in opened where !marks.contains(where: { $0.index == index }) {
            if states[index]?.close() == false { states[index] = nil }
        }
        opened = marks.map(\.index)
        for (index, mark) in marks { states[index]!.restore(mark) }
    }

    var hasOpenStates: Bool { opened.contains { openState($0) != nil } }
    /// Those that are open.
    var openStates: [ClassState] { opened.compactMap { openState($0) } }
    /// A failure left a tree half changed.
    var isBroken: Bool { spillFailed || opened.contains { openState($0)?.isBroken == true } }
}
