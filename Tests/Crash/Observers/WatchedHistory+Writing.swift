import ObjStoreCore
import ObjStoreSimulation

extension WatchedHistory {
    // MARK: Transactions

    func write(_ actor: Actor, silencing silenced: [WatchedReader]) throws(StoreError) {
        try perform(actor) { [self] () throws(StoreError) in try writeInside(actor, silencing: silenced) }
    }

    /// Of the process that runs.
    func writeInside(_ actor: Actor, silencing silenced: [WatchedReader]) throws(StoreError) {
        let view = try actor.store.begin(.atMost(5000))
        try settle(view, isLast: true)
        let old = past.newest
        let editor = try Editor(view, old, random)
        for _ in 0...random.below(random.chance(0.1) ? 30 : 6) { try editor.change() }
        turn += 1
        try editor.write(turn: turn)
        let newest = past.newestVersion
        let able = silenced.filter { $0.canApply(from: old, to: editor.content, newest: newest) }
        try view.withoutNotifying(able.compactMap(\.observer))
        try commit(view, editor, actor, silenced: Set(able.map(\.number)))
        for reader in able { reader.apply(from: old, to: editor.content, told: past.content(at: reader.known)) }
        if !able.isEmpty {
            counts.silent += able.count
            counts.silentBehind += able.filter { $0.known < past.newestVersion - 1 }.count
        }
    }

    private func commit(
        _ view: View, _ editor: Editor, _ actor: Actor, silenced: Set<Int> = [], isRough: Bool = false
    ) throws(StoreError) {
        var commit = WatchedPast.Commit(
            version: try view.version() + 1, content: editor.content, actor: actor.number, writes: editor.writes)
        commit.silenced = silenced
        commit.isRough = isRough
        inFlight = Pending(turn: editor.content.turn, commit: commit)
        let version = try view.commit()
        if version != commit.version { fail("history: version \(version), not \(commit.version)") }
        inFlight = nil
        append(commit)
        counts.commits += 1
    }

    private func append(_ commit: WatchedPast.Commit) {
        say(
            """
            version \(commit.version) by P\(commit.actor), schema \(commit.content.schema.version), silent for \
            \(commit.silenced.sorted()): \
            \(commit.writes.map { "\($0.place.kind)#\($0.place.key).\($0.property)" }.sorted())
            """)
        past.append(commit)
    }

    /// Whether the transaction is there over which a process died.
    ///
    /// - Parameter isLast: the view is a transaction: what is not there will never be.
    func settle(_ view: View, isLast: Bool = false) throws(StoreError) {
        guard let pending else { return }
        if try Editor.turn(in: view) == pending.turn {
            counts.outlived += 1
            append(pending.commit)
            self.pending = nil
        } else if isLast {
            self.pending = nil
        }
    }

    /// Anywhere in a transaction, or in a checkpoint.
    func dieWriting(_ actor: Actor) throws(StoreError) {
        let most = 1 + random.below(random.chance(0.5) ? 400 : 60)
        let isCheckpoint = random.chance(0.2)
        inFlight = nil
        try perform(actor, steps: most) { [self] () throws(StoreError) in
            if isCheckpoint { return try actor.store.checkpoint() }
            try writeInside(actor, silencing: [])
        }
    }

    /// So much that who lags behind has to compare versions.
    func lapTheLog(_ actor: Actor) throws(StoreError) {
        counts.laps += 1
        for _ in 0..<12 {
            try perform(actor) { [self] () throws(StoreError) in
                let view = try actor.store.begin(.atMost(5000))
                try settle(view, isLast: true)
                let editor = try Editor(view, past.newest, random)
                try editor.change()
                try editor.fill(bytes: 100_000)
                turn += 1
                try editor.write(turn: turn)
                try commit(view, editor, actor, isRough: true)
            }
        }
    }

    // MARK: Schema

    /// By a process that has the store open, or by one that comes, and goes again, or dies over it.
    func changeSchema(by user: Actor?) throws(StoreError) {
        let actor = user ?? startActor(), dies = user == nil && random.chance(0.3)
        let most = dies ? 200 + random.below(3000) : Int.max
        var schema = past.newest.schema, convertsMarks = false, dropped: String?
        schema.version += 1
        switch random.below(7) {
        case 0: schema.numberName = schema.numberName == "number" ? "amount" : "number"
        case 1:
            schema.areMarksTexts.toggle()
            schema.lives["mark"]! += 2
            convertsMarks = true
        case 2: schema.isMarkIndexed.toggle()
        case 3...4: schema.lives["extra"]! += 1
        case 5:
            let name = random.chance(0.5) ? "crew" : "notes"
            schema.lives[name]! += 1
            dropped = schema.has(name) ? nil : name
        default: schema.hasSpareClass.toggle()
        }
        let number = actor.number
        inFlight = nil
        if pending != nil {
            // Whether its schema is this one's is to be known.
            try write(actors[0], silencing: [])
            schema.version = past.newest.schema.version + 1
            if schema.lives != past.newest.schema.lives || schema != past.newest.schema { return }
        }
        let isDone = try perform(actor, steps: most) { [self] () throws(StoreError) in
            var configuration = try configuration()
            configuration.schema = try schema.draft()
            configuration.schemaVersion = schema.version
            nonisolated(unsafe) let history = self
            configuration.steps.migration = { [schema, convertsMarks, dropped] (new, _, _, _) throws(StoreError) in
                try history.migrate(new, to: schema, converting: convertsMarks, dropping: dropped, number)
            }
            let store = try Store.open(configuration, machine: actor.process.machine)
            if let inFlight {
                append(inFlight.commit)
                self.inFlight = nil
                counts.schemas += 1
            } else {
                fail("history: no migration")
            }
            try store.close()
        }
        if isDone && user == nil { world.kill(actor.process) }
    }

    private func migrate(
        _ view: View, to schema: WatchedSchema, converting: Bool, dropping: String?, _ number: Int
    ) throws(StoreError) {
        var content = past.newest
        content.schema = schema
        for place in content.things.keys where place.kind == .tag {
            if dropping == "crew" { content.things[place]!.crew = [] }
            if dropping == "notes" { content.things[place]!.notes = nil }
        }
        let editor = try Editor(view, content, random)
        if converting { try editor.convertMarks() }
        turn += 1
        try editor.write(turn: turn)
        inFlight = Pending(
            turn: turn,
            commit: WatchedPast.Commit(
                version: try view.version() + 1, content: editor.content, actor: number, writes: editor.writes,
                isRough: true))
    }
}

/// What histories have come by.
struct WatchedCounts {
    var told = 0, moves = 0, modifications = 0, compared = 0, ended = 0, lost = 0, ofOthers = 0
    var commits = 0, silent = 0, silentBehind = 0, deliveries = 0, deaths = 0, outlived = 0, laps = 0, schemas = 0
    var toldOfSchemas = 0, toldBesideSilence = 0, ofSections = 0, insideOfMixed = 0, rested = 0, bells = 0
    var kept = 0, returns = 0, returned = 0, reopened = 0, ofRows = 0

    mutating func note(_ changes: ChangeSet) {
        told += 1
        if changes.sections != nil { ofSections += 1 }
        if changes.isOfRows { ofRows += 1 }
        moves += changes.moved.count
        modifications += changes.modified.count
        if changes.isCompared { compared += 1 }
        if changes.isOwnerDeleted { ended += 1 }
        if changes.isLost { lost += 1 }
        if changes.isFromOtherProcess { ofOthers += 1 }
    }

    mutating func note(_ step: WatchedStep, _ kind: WatchedKind) {
        if case .nested = kind.way { insideOfMixed += 1 }
        if step.hasOtherSchema { toldOfSchemas += 1 }
        if step.isPartlySilent { toldBesideSilence += 1 }
    }

    /// In the order in which they are sent from one process to another.
    static var fields: [WritableKeyPath<WatchedCounts, Int>] {
        [
            \.told, \.moves, \.modifications, \.compared, \.ended, \.lost, \.ofOthers, \.commits, \.silent,
            \.silentBehind,
            \.deliveries, \.deaths, \.outlived, \.laps, \.schemas, \.toldOfSchemas, \.toldBesideSilence, \.ofSections,
            \.insideOfMixed, \.rested, \.bells, \.kept, \.returns, \.returned, \.reopened,
            \.ofRows,
        ]
    }

    mutating func add(_ numbers: [Int]) {
        for (field, number) in zip(WatchedCounts.fields, numbers) { self[keyPath: field] += number }
    }

    var text: String {
        """
        \(told) change sets (\(ofOthers) of other processes, \(compared) by comparing, \(toldOfSchemas) over a change \
        of the schema, \(toldBesideSilence) beside a silent write, \(ofSections) of sections, \(ofRows) of tables and \
        plain values, \(insideOfMixed) inside of mixed values, \(rested) at intervals, for which the bell rang \
        \(bells) times, \(returned) of what was done since a bookmark, of \(returns) that were come back to, \
        \(ended) ends, \(lost) lost) with \(modifications) modifications and \(moves) moves, of \(commits) commits \
        (\(silent) silent ones, \(silentBehind) by readers behind; \(schemas) schemas) in \(deliveries) deliveries; \
        \(deaths) deaths, \(outlived) commits outlived them, the log came round \(laps) times, \(kept) versions were \
        kept, the store was opened anew \(reopened) times
        """
    }
}
