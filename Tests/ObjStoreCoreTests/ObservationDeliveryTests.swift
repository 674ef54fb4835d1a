import CSystem
import Testing

import ObjStoreCore

/// When handlers are called, on which thread, and what they may do.
@Suite struct ObservationDeliveryTests {
    func isReadable(_ descriptor: Int32, within milliseconds: Int32 = 0) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&request, 1, milliseconds) > 0
    }

    /// A file descriptor is readable while something is due, and quiet after delivery.
    @Test func descriptor() throws {
        let store = try ObservedStore()
        let descriptor = try store.hub.notifyDescriptor()
        let calls = Counter()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) { _ in
            calls.add(); return nil
        }
        #expect(!isReadable(descriptor))
        try store.write { _, items in try store.create(items) }
        #expect(isReadable(descriptor, within: 5000))
        #expect(isReadable(descriptor))
        #expect(try store.hub.deliver() == 1)
        #expect(calls.value == 1)
        #expect(!isReadable(descriptor, within: 100))
        #expect(try store.hub.deliver() == 0)
        // Another class: readable perhaps, but nothing is delivered.
        let transaction = try WriteTransaction.begin(store.database)
        _ = try withUnsafePointer(to: Value.int(1)) { try transaction.state(1).create($0) }
        try transaction.commit()
        #expect(try store.hub.wait(timeout: 50_000_000) == 0)
        #expect(calls.value == 1)
        // A cancelled transaction notifies no observer.
        let cancelled = try WriteTransaction.begin(store.database)
        _ = try store.create(cancelled.state(0))
        try cancelled.cancel()
        #expect(try store.hub.wait(timeout: 50_000_000) == 0)
        observer.close()
        try store.close()
    }

    /// Who rests and then goes on, from a version that is old, is woken at once: also the only observer there is.
    @Test(arguments: [false, true]) func goesOn(hasOthers: Bool) throws {
        let store = try ObservedStore()
        let calls = Counter(), descriptor = try store.hub.notifyDescriptor(),
            items = ObserverScope(class: try store.items)
        let other = hasOthers ? try store.hub.observe(items) { _ in nil } : nil
        let old = try store.database.snapshot()
        try store.write { _, items in try store.create(items) }
        let observer = try store.hub.observe(items) { _ in
            calls.add(); return nil
        }
        observer.pause()
        try store.hub.begin(observer, at: old)
        while try store.hub.deliver() > 0 {}
        #expect(calls.value == 0 && !isReadable(descriptor, within: 50))
        observer.resume()
        #expect(isReadable(descriptor))
        #expect(try store.hub.wait(timeout: 1_000_000_000) == 1 && calls.value == 1)
        observer.close()
        other?.close()
        try store.close()
    }

    @Test func initial() throws {
        let store = try ObservedStore()
        try store.write { _, items in try store.create(items) }
        let received = Received()
        let observer = try store.hub.observe(
            ObserverScope(class: try store.items), options: ObserverOptions(initial: true)
        ) {
            received.append($0); return nil
        }
        #expect(isReadable(try store.hub.notifyDescriptor()))
        try store.write { _, items in try store.create(items) }
        // What came before the first delivery is in it, and is not reported again.
        let version = store.database.publishedVersion
        #expect(try store.hub.deliver() == 1)
        let sets = received.take()
        #expect(
            sets.count == 1 && sets[0].isInitial && sets[0].changes.isEmpty && sets[0].fromVersion == version
                && sets[0].toVersion == version)
        #expect(try store.hub.deliver() == 0)
        try store.write { _, items in try store.create(items) }
        #expect(try store.hub.deliver() == 1)
        let next = try #require(received.take().first)
        #expect(!next.isInitial && next.fromVersion == version && next.inserted.count == 1)
        observer.close()
        try store.close()
    }

    /// Both versions can be read while the change set is held.
    @Test func beforeAndAfter() throws {
        let store = try ObservedStore()
        try store.write { _, items in for _ in 0..<3 { try store.create(items) } }
        let before = try store.content(try store.database.snapshot())
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            received.append($0); return nil
        }
        try store.write { _, items in try store.delete(items, 1) }
        _ = try store.hub.deliver()
        var kept = received.take().first
        #expect(kept != nil)
        for _ in 0..<200 { try store.write { _, items in for _ in 0..<20 { try store.randomOperation(items) } } }
        try store.database.checkpoint()
        #expect(try store.content(kept!.before) == before)
        #expect(try store.content(kept!.after).count == 2)
        #expect(kept!.deleted == [1] && before[kept!.deleted[0]] != nil)
        kept = nil
        observer.close()
        try store.close()
    }

    // MARK: What handlers may do

    @Test func handlerRules() throws {
        let store = try ObservedStore()
        let released = Counter(), calls = Counter()
        nonisolated(unsafe) var observer: Observer?
        nonisolated(unsafe) var errors: [StatusCode] = []
        let query = ObserverScope(class: try store.items)
        observer = try store.hub.observe(query) { [unowned hub = store.hub, held = Held { released.add() }] _ in
            held.touch()
            calls.add()
            #expect(hub.isInCallback)
            for call in [{ _ = try hub.deliver() }, { _ = try hub.wait(timeout: 0) }, { try hub.close() }] {
                do { try call() } catch { errors.append((error as! StoreError).code) }
            }
            observer!.close()
            observer!.close()
            #expect(released.value == 0, "freed while its handler runs")
            return nil
        }
        try store.write { _, items in try store.create(items) }
        #expect(try store.hub.deliver() == 1)
        #expect(errors == [.inCallback, .inCallback, .inCallback])
        #expect(released.value == 1 && store.hub.observerCount == 0 && !store.hub.isInCallback)
        try store.write { _, items in try store.create(items) }
        #expect(try store.hub.deliver() == 0 && calls.value == 1)

        // A handler that fails does not keep the others from theirs; its changes count as delivered.
        let first = try store.hub.observe(query) { _ in StoreError(.callback, "no").callback(17) }
        let second = try store.hub.observe(query) { _ in
            calls.add(); return StoreError(.callback, "never seen").callback(18)
        }
        try store.write { _, items in try store.create(items) }
        let error = #expect(throws: StoreError.self) { try store.hub.deliver() }
        #expect(error?.code == .callback && error?.callbackCode == 17 && calls.value == 2)
        #expect(try store.hub.deliver() == 0)
        first.close()
        second.close()
        try store.close()
    }

    /// A handler may write; what it wrote is reported to it next time, once.
    @Test func handlersThatWrite() throws {
        let store = try ObservedStore()
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) { [unowned store] set in
            received.append(set)
            guard received.take().last!.inserted.first == 0 else { return nil }
            do { try store.write { _, items in try store.create(items) } } catch { return error as? StoreError }
            return nil
        }
        let seen = Received()
        let other = try store.hub.observe(ObserverScope(class: try store.items)) {
            seen.append($0); return nil
        }
        try store.write { _, items in try store.create(items) }
        #expect(try store.hub.deliver() == 2)
        #expect(seen.take().map(\.inserted) == [[0]])
        #expect(isReadable(try store.hub.notifyDescriptor(), within: 5000))
        #expect(try store.hub.deliver() == 2)
        #expect(seen.take().map(\.inserted) == [[1]])
        #expect(try store.hub.wait(timeout: 20_000_000) == 0)
        // An observer made by a handler begins there.
        nonisolated(unsafe) var late: Observer?
        let maker = try store.hub.observe(ObserverScope(class: try store.items)) { [unowned store] set in
            if late == nil {
                do {
                    late = try store.hub.observe(ObserverScope(class: set.schema)) {
                        seen.append($0); return nil
                    }
                } catch { return error as? StoreError }
            }
            return nil
        }
        try store.write { _, items in try store.update(items, 1, 1, .int(5)) }
        #expect(try store.hub.deliver() == 3)
        #expect(seen.take().count == 1)
        for one in [observer, other, maker, late!] { one.close() }
        try store.close()
    }

    /// Closing an observer waits for its handler on another thread; userdata is freed once, after that.
    @Test func closeWhileTheHandlerRuns() throws {
        let store = try ObservedStore()
        let inside = Counter(), left = Counter(), released = Counter()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            [held = Held { released.add(left.value == 1 ? 1 : 100) }] _ in
            held.touch()
            inside.add()
            usleep(100_000)
            left.add()
            return nil
        }
        try store.write { _, items in try store.create(items) }
        let hub = store.hub
        let thread = try BackgroundThread(name: "deliver") { _ in
            let calls = try? hub.deliver()
            #expect(calls == 1)
        }
        while inside.value == 0 { usleep(1000) }
        observer.close()
        #expect(left.value == 1 && released.value == 1)
        thread.stopAndJoin()
        // Two handlers that close each other's observers, on two threads: neither waits.
        nonisolated(unsafe) var pair: [Observer] = []
        let running = Counter()
        for index in 0..<2 {
            pair.append(
                try hub.observe(ObserverScope(class: try store.items)) { [held = Held { released.add() }] _ in
                    held.touch()
                    running.add()
                    let start = cs_monotonic_ns()
                    while running.value < 2 && cs_monotonic_ns() - start < 5_000_000_000 { usleep(1000) }
                    pair[1 - index].close()
                    return nil
                })
        }
        try store.write { _, items in try store.create(items) }
        // Each thread gets one: a claimed observer is passed over.
        try onThreads(2) { _ in
            let start = cs_monotonic_ns()
            while running.value < 2 && cs_monotonic_ns() - start < 5_000_000_000 { _ = try? hub.deliver() }
        }
        #expect(running.value == 2 && released.value == 3)
        try store.close()
    }

    // MARK: Waiting and threads

    @Test func waiting() throws {
        let store = try ObservedStore()
        let hub = store.hub
        #expect(try hub.wait(timeout: 0) == 0)
        let waited = try milliseconds { _ = try hub.wait(timeout: 50_000_000) }
        #expect(waited >= 49)
        let calls = Counter()
        let observer = try hub.observe(ObserverScope(class: try store.items)) { _ in
            calls.add(); return nil
        }
        let waiter = try BackgroundThread(name: "wait") { _ in
            let calls = try? hub.wait(timeout: 10_000_000_000)
            #expect(calls == 1)
        }
        usleep(50_000)
        try store.write { _, items in try store.create(items) }
        waiter.stopAndJoin()
        #expect(calls.value == 1)
        // Closing wakes a call that waits without a timeout.
        let codes = Counter()
        let others = try (0..<2).map { _ in
            try BackgroundThread(name: "wait") { _ in
                do throws(StoreError) { _ = try hub.wait(timeout: -1) } catch {
                    codes.add(error.code == .closedHandle ? 1 : 100)
                }
            }
        }
        usleep(50_000)
        observer.close()
        try hub.close()
        others.forEach { $0.stopAndJoin() }
        #expect(codes.value == 2)
        #expect(throws: StoreError.self) { try hub.deliver() }
        try store.close()
    }

    /// Many threads deliver while others commit: each change exactly once, in order, never two calls at a time.
    @Test func manyThreads() throws {
        let store = try ObservedStore(inMemory: true)
        let hub = store.hub, database = store.database
        let overlapping = Counter(), inserted = Counter(), last = Counter()
        nonisolated(unsafe) var lastVersion: UInt64 = 0
        let observer = try hub.observe(ObserverScope(class: try store.items)) { set in
            overlapping.add()
            #expect(overlapping.value == 1, "two calls of one handler at a time")
            #expect(lastVersion == 0 || set.fromVersion == lastVersion, "a gap, or twice")
            lastVersion = set.toVersion
            inserted.add(set.inserted.count)
            #expect(set.inserted.isEmpty || set.inserted.first! >= Int64(last.value))
            last.add(Int(set.inserted.last ?? 0) - last.value + 1)
            overlapping.add(-1)
            return nil
        }
        let writers = Counter()
        try onThreads(5) { index in
            do {
                if index < 2 {
                    for round in 0..<300 {
                        let transaction = try WriteTransaction.begin(database)
                        var values: [Value] = [
                            .int(Int64(index * 1000 + round)), .int(1), .null, .bool(true), .null, .double(0),
                        ]
                        _ = try values.withUnsafeMutableBufferPointer {
                            try transaction.state(0).create($0.baseAddress!)
                        }
                        try transaction.commit()
                    }
                    writers.add()
                } else {
                    while writers.value < 2 { _ = try hub.wait(timeout: 5_000_000) }
                }
            } catch { Issue.record(error) }
        }
        _ = try hub.deliver()
        #expect(inserted.value == 600)
        observer.close()
        try store.close()
    }

    /// Handlers on the store's own thread, which they may also close their observer from.
    @Test func worker() throws {
        let store = try ObservedStore(onWorker: true)
        let hub = store.hub
        #expect(throws: StoreError.self) { try hub.notifyDescriptor() }
        let calls = Counter(), released = Counter()
        nonisolated(unsafe) var observer: Observer?
        let query = ObserverScope(class: try store.items)
        observer = try hub.observe(query, options: ObserverOptions(initial: true)) {
            [held = Held { released.add() }] set in
            held.touch()
            calls.add(set.isInitial ? 1 : 10)
            if !set.isInitial { observer!.close() }
            return nil
        }
        func until(_ done: () -> Bool) { for _ in 0..<5000 where !done() { usleep(1000) } }
        until { calls.value == 1 }
        #expect(calls.value == 1)
        try store.write { _, items in try store.create(items) }
        until { released.value == 1 }
        #expect(calls.value == 11 && released.value == 1)
        // The failure of a handler is kept for the application.
        let failing = try hub.observe(query) { _ in
            calls.add(100); return StoreError(.callback, "no").callback(5)
        }
        try store.write { _, items in try store.create(items) }
        until { calls.value == 111 && !hub.isInCallback }
        usleep(20_000)
        let error = #expect(throws: StoreError.self) { try hub.deliver() }
        #expect(error?.callbackCode == 5)
        failing.close()
        try store.close()
    }

    @Test func whatCannotBeObserved() throws {
        let store = try ObservedStore()
        let released = Counter()
        let cls = try store.items
        let absent = ClassSchema(name: "Absent", id: 9, properties: [], nextColumnID: 0)
        var error = #expect(throws: StoreError.self) {
            try store.hub.observe(ObserverScope(class: absent)) { [held = Held { released.add() }] _ in
                held.touch(); return nil
            }
        }
        #expect(error?.code == .noSuchClass && released.value == 1)
        error = #expect(throws: StoreError.self) {
            try store.hub.observe(ObserverScope(Query(cls.classID, cls.propertyID(1), .equal, .double(1)))) { _ in nil }
        }
        #expect(error?.code == .wrongType && error?.propertyName == "number")
        error = #expect(throws: StoreError.self) {
            try store.hub.observe(ObserverScope(Query(cls.classID, cls.propertyID(1) + 9, .equal, .null))) { _ in nil }
        }
        #expect(error?.code == .noSuchProperty)
        try store.hub.close()
        error = #expect(throws: StoreError.self) {
            try store.hub.observe(ObserverScope(class: cls)) { [held = Held { released.add() }] _ in
                held.touch(); return nil
            }
        }
        #expect(error?.code == .closedHandle && released.value == 2)
        try store.close()
        var options = StoreOptions()
        options.isReadOnly = true
        options.isInMemory = true
        let database = try Database.open("immutable", options: options, machine: RealMachine.shared)
        let hub = ObserverHub(database)
        error = #expect(throws: StoreError.self) {
            try hub.observe(ObserverScope(class: cls)) { [held = Held { released.add() }] _ in
                held.touch(); return nil
            }
        }
        #expect(error?.code == .readOnly && released.value == 3)
        try hub.close()
        try database.close()
    }
}
