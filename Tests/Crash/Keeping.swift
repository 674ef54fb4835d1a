import ObjStoreCore
import ObjStoreSimulation

/// What may be kept by each name: one possibility, or several where a call did not come back, or came back with an
/// error behind which it may have happened.
///
/// P11: what is certainly kept is there whenever somebody looks, with the content that it had, and no page of it is
/// written; what is there was kept by that name once.
struct KeptModel {
    /// By the chain hash of the version; nil: nothing.
    private var possible: [String: Set<UInt64?>] = [:]
    /// One call for a name at a time, so that it is known what it leads to.
    private var busy: [String: SimulatedProcess] = [:]

    /// Changes whenever a call begins or ends: what is found meanwhile may be of before or after.
    private(set) var steps = 0

    func states(of name: String) -> Set<UInt64?> { possible[name] ?? [nil] }

    /// False: another one is at it.
    mutating func begin(_ name: String, _ chain: UInt64?, _ process: SimulatedProcess) -> Bool {
        if isBusy(name) { return false }
        busy[name] = process
        steps += 1
        possible[name] = states(of: name).union([chain])
        return true
    }

    /// A call is on its way.
    func isBusy(_ name: String) -> Bool { busy[name]?.isAlive ?? false }

    mutating func end(_ name: String, _ state: Set<UInt64?>?) {
        steps += 1
        busy[name] = nil
        if let state { possible[name] = state }
    }
}

extension History {
    private static let names = ["index", "replica"]

    /// A task that keeps, moves, releases and reads.
    func spawnKeeper(_ database: Database, _ process: SimulatedProcess) {
        let rounds = 1 + world.pick(.workload, 4)
        process.spawn("keeper") { [self] _ in
            for _ in 0..<rounds {
                let name = History.names[world.pick(.workload, 2)]
                switch world.pick(.workload, 4) {
                case 0: releaseVersion(name, database, process)
                case 1: checkKept(database, process)
                default: keepVersion(name, database, process)
                }
            }
        }
    }

    private func keepVersion(_ name: String, _ database: Database, _ process: SimulatedProcess) {
        do throws(StoreError) {
            let snapshot = try database.snapshot(), oracle = lives.of(database)
            guard let chain = oracle.chain(of: snapshot.version) else {
                return world.fail("P2: version \(snapshot.version) was read, which no transaction of this life made")
            }
            let before = kept!.states(of: name)
            guard kept!.begin(name, chain, process) else { return }
            oracle.keeps(name, nil)
            do throws(StoreError) {
                try database.keep(name, snapshot, timeout: -1, until: nil)
                kept!.end(name, [chain])
                oracle.keeps(name, snapshot.version)
            } catch {
                let isUntouched = [.tooManyReaders, .tooManyVersions, .closedHandle].contains(error.code)
                kept!.end(name, isUntouched ? before : nil)
                throw error
            }
        } catch {
            refused("keep", error, database)
        }
    }

    private func releaseVersion(_ name: String, _ database: Database, _ process: SimulatedProcess) {
        guard kept!.begin(name, nil, process) else { return }
        lives.of(database).keeps(name, nil)
        do throws(StoreError) {
            try database.release(kept: name, timeout: -1, until: nil)
            kept!.end(name, [nil])
        } catch {
            kept!.end(name, error.code == .notFound ? [nil] : nil)
            refused("release", error, database)
        }
    }

    private func refused(_ what: String, _ error: StoreError, _ database: Database) {
        world.say("\(what): \(error)")
        switch error.code {
        case .poisoned, .closedHandle, .outcomeUnknown, .outOfSpace, .io, .tooManyReaders, .notFound: break
        case .corrupt where world.hasEvicted, .versionGone where world.hasEvicted: break
        default: world.fail("unexpected error: \(what): \(error)")
        }
    }

    /// What is kept, as a process sees it now.
    func checkKept(_ database: Database, _ process: SimulatedProcess) {
        guard kept != nil else { return }
        do throws(StoreError) {
            let oracle = lives.of(database)
            for name in History.names {
                let steps = kept!.steps
                let found = try database.keptVersions().first { $0.name == name }
                guard let found else {
                    if steps == kept!.steps, !kept!.isBusy(name), !kept!.states(of: name).contains(nil),
                        !world.hasEvicted
                    {
                        world.fail("P11: nothing is kept as \(name) any more")
                    }
                    continue
                }
                let snapshot: Snapshot
                do throws(StoreError) {
                    snapshot = try database.snapshot(at: found.bookmark, timeout: -1, until: nil)
                } catch {
                    // Released meanwhile, or moved on.
                    if error.code == .versionGone, steps != kept!.steps || kept!.isBusy(name) { continue }
                    if error.code == .versionGone, !world.hasEvicted {
                        world.fail("P11: version \(found.bookmark.version), kept as \(name), is gone")
                    }
                    throw error
                }
                let content = try contentFound(database, snapshot)
                let possible = kept!.states(of: name).compactMap { $0.flatMap(oracle.content(ofChain:)) }
                if steps == kept!.steps, !kept!.isBusy(name), !possible.contains(content), !world.hasEvicted {
                    let what = possible.first.map { difference(content, $0) } ?? "it should not be kept"
                    return world.fail("P11: version \(snapshot.version), kept as \(name), is read wrong: \(what)")
                }
                if let finding = Verifier.findings(snapshot).first, !world.hasEvicted {
                    return world.fail("P11: version \(snapshot.version), kept as \(name): \(finding)")
                }
            }
        } catch {
            refused("kept", error, database)
        }
    }
}
