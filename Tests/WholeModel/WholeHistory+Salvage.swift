import ObjStoreCore

/// The files as they are while the store is not open: also after a failure they are sound, and what a salvage
/// makes of them is what recovery makes of them.
extension WholeHistory {
    /// Checks the files, and makes a new store of them. Its path; nil: there is no store yet.
    func salvage() throws -> String? {
        guard machine.exists(path) else { return nil }
        step = "salvage"
        let target = path + "-salvaged\(life)"
        nonisolated(unsafe) var found: [String] = []
        func note(_ entry: ReportEntry) { if case .finding(let text) = entry { found.append(text) } }
        let check = try must("check the files") { () throws(StoreError) in
            try StoreFiles.verify(
                path, machine: machine, progress: { (_, _) throws(StoreError) in },
                report: { (entry) throws(StoreError) in note(entry) })
        }
        if check.findings != 0 || !found.isEmpty {
            throw problem("verify: \(check.findings) findings in the files: \(found)")
        }
        found = []
        let salvaged = try must("salvage") { () throws(StoreError) in
            try StoreFiles.salvage(
                path, to: target, machine: machine, progress: { (_, _) throws(StoreError) in },
                report: { (entry) throws(StoreError) in note(entry) })
        }
        // It does not know which records were never acknowledged: recovery leaves them out too.
        if salvaged.losses != found.count
            || !found.allSatisfy({ $0.hasPrefix("log: ") && $0.contains("records behind version") })
        {
            throw problem("salvage: \(salvaged.losses) losses: \(found)")
        }
        if salvaged.version < check.version {
            throw problem("salvage: version \(salvaged.version) was salvaged, \(check.version) was checked")
        }
        counts["salvage", default: 0] += 1
        return target
    }

    /// What was salvaged is one of these contents: of several that a failure left it may have a newer one than
    /// recovery.
    func compareSalvaged(_ target: String?, _ contents: [Content]) throws {
        guard let target else { return }
        step = "what was salvaged"
        var configuration = StoreConfiguration()
        configuration.place = .file(target)
        try compareStore(configuration, contents, "salvage", machine)
    }

    /// Compares a store at another place, and deletes it.
    func compareStore(
        _ configuration: StoreConfiguration, _ contents: [Content], _ what: String, _ machine: Machine
    ) throws {
        let store = try open(configuration, "open the \(what)", machine).store
        let view = try must("view of the \(what)") { () throws(StoreError) in try store.openView() },
            frozen = try must("view of the \(what)") { () throws(StoreError) in try view.freeze() }
        _ = try recognise(frozen, contents, what)
        try Session.verify(frozen, "in a \(what)")
        try must("close the \(what)") { () throws(StoreError) in try store.close() }
        guard case .file(let path) = configuration.place else { return }
        try must("delete the \(what)") { () throws(StoreError) in try StoreFiles.delete(path, machine: machine) }
    }
}
