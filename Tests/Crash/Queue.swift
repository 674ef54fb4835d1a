import ObjStoreCore

/// Every course of a queue of asynchronous writes, of a given length, against `QueueModel`: which bodies and
/// completions are called, in what order, and what is in the store at the end. Steps that the model cannot
/// make are left out.
private final class QueueCourses: @unchecked Sendable {
    private let store: Store
    private let queue: WriteQueue
    private let cls: UInt32, number: UInt32
    private(set) var courses = 0
    var violation: String?

    // Of the course that is being run.
    private var ids: [UInt64] = []
    private var events: [String] = []
    private var syncs = 0
    private var claimed: View?
    /// Commits that were requested, whose outcome is there.
    private var outcomes: [(id: UInt64, number: Int)] = []

    static func open(named name: String = "") throws(StoreError) -> Store {
        var configuration = StoreConfiguration()
        configuration.place = .memory(name)
        configuration.durability = .relaxed(milliseconds: 1000)
        var draft = SchemaDraft()
        try draft.addClass("Number")
        try draft.addProperty("Number", "n", .int, [])
        configuration.schema = draft
        return try Store.open(configuration)
    }

    /// - Parameter hasThreads: its queue makes its steps by itself.
    init(_ store: Store, hasThreads: Bool = false) throws(StoreError) {
        self.store = store
        queue = try store.writeQueue(hasThreads: hasThreads)
        if !hasThreads { (queue.slice, queue.groupTime) = (.max / 2, .max / 2) }
        let view = try store.openView()
        defer { view.close() }
        cls = try view.findClass("Number")
        number = try view.findProperty(cls, "n")
    }

    /// All courses that begin with `steps`.
    func explore(
        _ steps: [QueueModel.Step], _ model: QueueModel, of vocabulary: [QueueModel.Step], depth: Int,
        _ part: (index: Int, of: Int)
    ) {
        if violation != nil { return }
        if depth == 0 {
            courses += 1
            if courses % part.of == part.index { run(steps) }
            return
        }
        for step in vocabulary where model.canDo(step) {
            var next = model
            next.make(step)
            explore(steps + [step], next, of: vocabulary, depth: depth - 1, part)
        }
    }

    private func run(_ steps: [QueueModel.Step]) {
        var model = QueueModel(), made: [QueueModel.Step] = []
        (ids, events, syncs) = ([], [], 0)
        func check(_ isRight: Bool, _ what: @autoclosure () -> String) {
            if !isRight, violation == nil { violation = "\(what()), after \(made)" }
        }
        do throws(StoreError) {
            func make(_ step: QueueModel.Step) throws(StoreError) {
                made.append(step)
                let first = model.firstWaiting, claimed = model.claimedNumber
                model.make(step)
                try self.make(step, first, claimed)
                try claimOutcomes()
                check(events == model.events, "calls: \(events), not \(model.events)")
                check(queue.isActive == model.isActive, "active: \(queue.isActive)")
                check(queue.isDue == model.isDue, "due: \(queue.isDue)")
            }
            for step in steps { try make(step) }
            // To the end.
            while model.isActive, violation == nil {
                guard let step = [.run, .end, .acquire, .claim, .pass].first(where: { model.canDo($0) }) else {
                    return check(false, "standstill: nothing more can happen")
                }
                try make(step)
            }
            if violation != nil { return }
            let content = try content()
            check(content == model.content, "content: \(content), not \(model.content)")
            let view = try store.begin()
            _ = try view.deleteAll(cls)
            _ = try view.commit()
        } catch {
            check(false, "unexpected error: \(error)")
        }
    }

    private func claimOutcomes() throws(StoreError) {
        while !outcomes.isEmpty {
            let (id, number) = outcomes.removeFirst()
            do throws(StoreError) {
                let version = try store.claimCommit(id)
                events.append("\(number) outcome \(version == nil ? "not there" : "done")")
            } catch {
                if error.code != .cancelled { throw error }
                events.append("\(number) outcome failed")
            }
        }
    }

    /// - Parameters:
    ///   - first: the number of the first that waits.
    ///   - claimed: the number of the one whose transaction is claimed.
    private func make(_ step: QueueModel.Step, _ first: Int?, _ claimed: Int?) throws(StoreError) {
        let label = ids.count
        func body(_ view: View) throws(StoreError) {
            events.append("\(label) runs")
            try add(label, view)
        }
        func told(_ result: Result<UInt64, StoreError>) -> StoreError? {
            if case .success = result { events.append("\(label) done") } else { events.append("\(label) failed") }
            return nil
        }
        switch step {
        case .write, .group, .fail:
            ids.append(
                try store.writeAsync(
                    mayGroup: step != .write,
                    { view in
                        do throws(StoreError) { try body(view) } catch { return error }
                        return step == .fail ? StoreError(.callback, "as wanted") : nil
                    }, completion: told))
        case .open, .begin:
            ids.append(
                try store.beginAsync { view in
                    do throws(StoreError) {
                        try body(view)
                        if step == .begin { _ = try view.commitAsync(completion: told) }
                    } catch { return error }
                    return nil
                })
        case .request, .alone:
            ids.append(
                try store.requestBegin(isAlone: step == .alone) { [weak self] _ in self?.events.append("\(label) ready")
                })
        case .claim:
            self.claimed = try store.claimBegin(ids[first!])
            if let view = self.claimed { try add(first!, view) }
        case .commit, .pass:
            let number = claimed!
            _ = try self.claimed!.requestCommit(mayGroup: step == .pass) { [weak self] id in
                self?.outcomes.append((id, number))
            }
            self.claimed = nil
        case .undo:
            self.claimed!.close()
            self.claimed = nil
        case .cancelFirst: store.cancelAsync(ids[first!])
        case .cancelLast: store.cancelAsync(ids[ids.count - 1])
        case .acquire: queue.acquire()
        case .park: queue.park()
        case .run:
            var failure: StoreError?
            _ = queue.run { failure = $0 }
            if let failure { throw failure }
        case .end:
            queue.endNext()
            queue.confirmNext()
        case .sync:
            // The store compacts itself now and then.
            let view = try store.begin(.atMost(5000))
            try add(1000 + syncs, view)
            syncs += 1
            _ = try view.commit()
        }
    }

    private func add(_ value: Int, _ view: View) throws(StoreError) {
        var property = number, value = Value.int(Int64(value))
        try withUnsafeMutablePointer(to: &property) { (property) throws(StoreError) in
            try withUnsafeMutablePointer(to: &value) { (value) throws(StoreError) in
                _ = try view.create(cls, UnsafeBufferPointer(start: property, count: 1), value)
            }
        }
    }

    private func content() throws(StoreError) -> [Int] {
        let snapshot = try store.shared.database.snapshot()
        var found: [Int] = []
        try snapshot.forEachObject(0) { (_, values) throws(StoreError) in found.append(Int(values[0].low)) }
        return found
    }
}

extension QueueCourses {
    /// Closing with writes that have not come to their end: afterwards they have. Another handle keeps the store.
    static func closing() throws(StoreError) -> String? {
        for count in 1...20 {
            let store = try open(named: "closing"), other = try open(named: "closing")
            let courses = try QueueCourses(store, hasThreads: true)
            for number in 0..<count {
                _ = try store.writeAsync(mayGroup: number % 3 == 0) { view in
                    do throws(StoreError) { try courses.add(number, view) } catch { return error }
                    return nil
                }
            }
            try store.close()
            let found = try QueueCourses(other, hasThreads: true).content()
            try other.close()
            if found != Array(0..<count) { return "close: \(found) after \(count) writes" }
        }
        return nil
    }
}

/// What is wrong with courses of that many steps, or with closing; nil: nothing.
func queueViolation(depth: Int) -> String? {
    do throws(StoreError) {
        let courses = try QueueCourses(QueueCourses.open())
        for vocabulary in [QueueModel.Step.ofBodies, QueueModel.Step.ofRequests] {
            courses.explore([], QueueModel(), of: vocabulary, depth: depth, (0, 1))
            if let violation = courses.violation { return violation }
        }
        return try QueueCourses.closing()
    } catch {
        return "unexpected error: \(error)"
    }
}

/// Courses of a queue up to `--depth` steps (7), a part of them with `--part`.
func runQueue(_ arguments: Arguments) -> Int32 {
    let start = now()
    do throws(StoreError) {
        let courses = try QueueCourses(QueueCourses.open())
        for vocabulary in [QueueModel.Step.ofBodies, QueueModel.Step.ofRequests] {
            courses.explore([], QueueModel(), of: vocabulary, depth: arguments.depth, arguments.part)
        }
        var violation = courses.violation
        if violation == nil { violation = try QueueCourses.closing() }
        if let violation {
            print("violation: \(violation)")
            return 1
        }
        print(
            "\(courses.courses / arguments.part.of) of \(courses.courses) courses of \(arguments.depth) steps in "
                + "\(Int(now() - start)) s: 0 violations")
        return 0
    } catch {
        print("the store of the courses: \(error)")
        return 1
    }
}
