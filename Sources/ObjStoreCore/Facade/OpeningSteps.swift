/// Steps that an application adds to the opening of a store.
///
/// ```
///  the file is missing ─ seed: a copy of another one
///  ────────────────────┬──────────────────────────────────────────────────────────────
///  one transaction     │ the schema becomes the program's; it had a lower version: migration
///                      │ it had none at all: initialData
///  ────────────────────┴──────────────────────────────────────────────────────────────
///  no one else has it open: compaction, if wanted
/// ```
package struct OpeningSteps: Sendable {
    /// A store whose content a new one begins with.
    package var seed: String?
    /// What the seed must be, byte for byte.
    package var seedDigest: SHA256?
    /// Fills a store that has no schema yet, in the transaction that gives it one. What it throws undoes both.
    package var initialData: (@Sendable (View) throws(StoreError) -> Void)?
    /// Puts right what the file's objects lack for a higher schema version, in the transaction that changes the schema:
    /// gets it, the version before, and the numbers of both schemas. What it throws undoes everything.
    package var migration:
        (@Sendable (_ new: View, _ old: View, _ from: UInt64, _ to: UInt64) throws(StoreError) -> Void)?
    /// Says whether a file of `total` bytes, of which `used` are in use, is to be made smaller.
    package var compaction: (@Sendable (_ total: UInt64, _ used: UInt64) throws(StoreError) -> Bool)?

    package init() {}
}

extension Store {
    /// Opens, creates or recovers; applies the configuration's schema.
    ///
    /// Errors: those of `objstore_open`. A file that was made for an opening that fails is removed again.
    package static func open(
        _ configuration: StoreConfiguration, machine: Machine = RealMachine.shared
    ) throws(StoreError) -> Store {
        do throws(NeedsOtherFile) {
            return try openOnce(configuration, deletes: configuration.deletesWhereItDiffers, machine: machine)
        } catch {
            switch error {
            case .failed(let error): throw error
            case .differs(let error):
                guard case .file(let path) = configuration.place else {
                    throw StoreError(
                        .busy,
                        "the store in memory would have to begin anew, but somebody has it open: \(error.message)")
                }
                return try deleteAndOpen(configuration, path, machine)
            }
        }
    }

    /// Deletes the file that differs, and makes another one. The process that has it open may be about to do the same:
    /// then this is checked again for a while.
    private static func deleteAndOpen(
        _ configuration: StoreConfiguration, _ path: String, _ machine: Machine
    ) throws(StoreError) -> Store {
        let end = machine.monotonic() + 500_000_000
        var configuration = configuration
        defer { configuration.accessModel?.close() }
        while true {
            var isBusy = false
            // Users of the one may use the other. Where another one was faster there is none by now.
            if configuration.accessModel == nil {
                configuration.accessModel = try? machine.open(try machine.resolve(path), .readOnly)
            }
            do throws(StoreError) { try StoreFiles.delete(path, machine: machine) } catch {
                // Another process was faster, or is about to be.
                isBusy = error.code == .busy && machine.monotonic() < end
                guard isBusy || error.code == .notFound else { throw error }
                if isBusy { ThreadIdentity.sleep(1_000_000) }
            }
            do throws(NeedsOtherFile) { return try openOnce(configuration, deletes: true, machine: machine) } catch {
                guard case .differs(let reason) = error else { throw error.reason }
                guard isBusy || machine.monotonic() < end else { throw reason }
            }
        }
    }

    /// Why an opening came to nothing.
    private enum NeedsOtherFile: Error {
        case failed(StoreError)
        /// The file has another schema, and is to be deleted for that.
        case differs(StoreError)

        var reason: StoreError {
            switch self {
            case .failed(let error), .differs(let error): error
            }
        }
    }

    private static func openOnce(
        _ configuration: StoreConfiguration, deletes: Bool, machine: Machine
    ) throws(NeedsOtherFile) -> Store {
        let store: Store
        do throws(StoreError) {
            // Before there is a file.
            if configuration.steps.seedDigest != nil, configuration.steps.seed == nil {
                throw StoreError(.invalidArgument, "the SHA-256 of a seed is given, but no seed")
            }
            let names = try configuration.schema?.storedNames() ?? StoredNames()
            let draft = try configuration.schema?.stored() ?? SchemaDraft()
            let shared = try SharedStore.open(configuration, machine: machine)
            do throws(StoreError) { store = try Store(shared, configuration, names, draft) } catch {
                try? shared.leave()
                throw error
            }
        } catch {
            throw .failed(error)
        }
        do throws(NeedsOtherFile) {
            if deletes { try store.checkSame(configuration) }
            do throws(StoreError) { try store.finishOpening(configuration) } catch { throw .failed(error) }
        } catch {
            let shared = store.shared, root = store.ownRoot
            let isInPlace = shared.isInMemory || (try? machine.leads(shared.path, to: shared.database.file)) != false
            // It leaves once: other handles may have the store open.
            try? store.close()
            if store.wasCreated, !shared.isInherited, let identity = shared.identity {
                StoreFiles.deleteUnused(shared.path, identity, root: root, machine: machine)
            }
            // What it has read of a file that was deleted meanwhile may not survive, which is no news.
            if case .failed(let reason) = error, reason.code == .outcomeUnknown, !isInPlace {
                throw .failed(Database.replaced(shared.path))
            }
            throw error
        }
        let shared = store.shared
        shared.log?.write(
            .info,
            "opened \(shared.path)\(store.wasCreated ? ", created" : "")\(store.wasRecovered ? ", recovered" : "")")
        return store
    }

    /// Of the newest version, where this opening has made it. A checkpoint leaves the root as it is.
    private var ownRoot: Ref? {
        guard let ownVersion, let head = try? shared.database.shared.headEntry() else { return nil }
        return head.version == ownVersion || (head.isCheckpoint && head.version == ownVersion + 1) ? head.root : nil
    }

    private func finishOpening(_ configuration: StoreConfiguration) throws(StoreError) {
        if let schema = try apply(configuration), let draft = try configuration.schema?.stored() {
            inUse = SchemaInUse(schema, names: draft.classes.map(\.name))
        }
        try compactIfWanted(configuration.steps)
    }

    // MARK: The schema

    /// Throws where a class of the file would have to become another one.
    private func checkSame(_ configuration: StoreConfiguration) throws(NeedsOtherFile) {
        guard mode == .readWrite, let draft = configuration.schema else { return }
        let difference: StoreError
        do throws(StoreError) {
            let schema = try shared.database.snapshot().schema
            // What only an opening adds makes no other file of it.
            guard
                let merged = try draft.merged(
                    into: schema, version: configuration.schemaVersion, migrates: false, writes: false)
            else { return }
            guard let (other, _) = zip(schema.classes, merged.classes).first(where: { $0 !== $1 }) else { return }
            difference = StoreError(.schemaMismatch, "\(other.name): the file has another schema than the program").at(
                class: other.name)
        } catch {
            if error.code != .schemaMismatch { throw .failed(error) }
            throw .differs(error)
        }
        throw .differs(difference)
    }

    /// Where the first difference is between a file that is only read and what it would have to become.
    private static func differs(_ file: Schema, from wanted: Schema) -> StoreError {
        func readOnly(_ what: String) -> StoreError {
            StoreError(.readOnly, "the store is open read-only, and its file \(what)")
        }
        guard
            let number = wanted.classes.indices.first(where: {
                $0 >= file.classes.count || wanted.classes[$0] !== file.classes[$0]
            })
        else {
            return readOnly("has another schema")
        }
        let cls = wanted.classes[number]
        guard number < file.classes.count else { return readOnly("has no class \(cls.name)").at(class: cls.name) }
        let there = file.classes[number]
        if cls.isDropped { return readOnly("has a class \(there.name), which is to be dropped").at(class: there.name) }
        if let lacking = cls.properties.first(where: { property in
            !there.properties.contains { $0.columnID == property.columnID }
        }) {
            return readOnly("has no property \(cls.name).\(lacking.name)").at(class: cls.name, property: lacking.name)
        }
        if let more = there.properties.first(where: { property in
            !cls.properties.contains { $0.columnID == property.columnID }
        }) {
            return readOnly("has a property \(cls.name).\(more.name), unlike the program").at(
                class: cls.name, property: more.name)
        }
        for (property, other) in zip(cls.properties, there.properties) {
            let isSame =
                property.name == other.name && property.isNullable == other.isNullable
                && property.isPrimaryKey == other.isPrimaryKey && property.isIndexed == other.isIndexed
                && property.isUnique == other.isUnique
                && SchemaDraft.sameDefault(property.defaultValue, other.defaultValue)
            if !isSame {
                return readOnly("has \(cls.name).\(other.name) otherwise than the program").at(
                    class: cls.name, property: other.name)
            }
        }
        return readOnly("has other indexes of class \(cls.name), or embeds it unlike the program").at(class: cls.name)
    }

    /// The schema that the file has now, if the program has one.
    private func apply(_ configuration: StoreConfiguration) throws(StoreError) -> Schema? {
        let steps = configuration.steps
        guard let draft = configuration.schema else {
            if steps.initialData != nil {
                throw StoreError(.invalidArgument, "initial data need the schema that they are of")
            }
            if steps.migration != nil {
                throw StoreError(.invalidArgument, "a migration needs the schema that it leads to")
            }
            return nil
        }
        let schema = try shared.database.snapshot().schema
        func merge(_ file: Schema) throws(StoreError) -> Schema? {
            try draft.merged(
                into: file, version: configuration.schemaVersion, migrates: steps.migration != nil,
                writes: mode == .readWrite)
        }
        guard let merged = try merge(schema) else { return schema }
        // A number alone is no reason to refuse a reader.
        let addsNothing =
            merged.classes.count == schema.classes.count && zip(merged.classes, schema.classes).allSatisfy { $0 === $1 }
        if mode != .readWrite {
            if addsNothing { return schema }
            throw Store.differs(schema, from: merged)
        }
        try shared.checkOutside("open")
        var transaction = try begin(timeout: writeTimeout, isTry: false)
        do throws(StoreError) {
            // Another process may have been faster.
            let before = transaction.schema
            if let merged = try merge(before) {
                let isNew = before.version == 0 && before.classes.isEmpty
                if let migration = steps.migration, !isNew, merged.version > before.version {
                    try migrate(&transaction, to: merged, migration)
                } else {
                    try transaction.change(to: merged)
                }
                if let fill = steps.initialData, isNew {
                    try lend(transaction) { (view) throws(StoreError) in try fill(view) }
                }
            }
        } catch {
            shared.willEnd()
            throw transaction.cancel(because: error, .full)
        }
        let last = transaction, applied = transaction.schema
        let isOnOwn = ownVersion == last.baseVersion
        try end { () throws(StoreError) in
            let version = try last.commit(.full)
            if isOnOwn { ownVersion = version }
        }
        return applied
    }

    /// Shows the application a transaction that it cannot end.
    func lend(_ transaction: WriteTransaction, _ body: (View) throws(StoreError) -> Void) throws(StoreError) {
        let view = try register(View(store: self, transaction: transaction))
        view.isEndedByBody = true
        defer { view.detach() }
        try body(view)
    }

    // MARK: Compaction

    private func compactIfWanted(_ steps: OpeningSteps) throws(StoreError) {
        guard let isWanted = steps.compaction, isFirst, mode == .readWrite, !shared.isInMemory else { return }
        let now = try statistics()
        guard now.processes == 1, try isWanted(UInt64(now.fileBytes), UInt64(now.liveBytes)) else { return }
        do throws(StoreError) {
            try compact { (_, _) throws(StoreError) in }
        } catch {
            // The store is whole, only larger than it could be.
            guard error.code == .outOfSpace || error.code == .timeout else { throw error }
            shared.log?.write(.warning, "compacting \(shared.path): \(error.message)")
        }
    }
}
