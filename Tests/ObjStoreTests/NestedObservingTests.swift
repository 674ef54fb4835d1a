import Dispatch
import ObjStore
import Testing

private final class Frog: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var notes: AnyValue = ["seen": [1, 2], "by": ["a": 1]]
    @Persisted var things: List<AnyValue>
}

/// Lists and dictionaries inside of mixed values that are observed.
@Suite struct NestedObservingTests {
    private func frog() throws -> (Store, Frog) {
        let store = try memoryStore([Frog.self])
        return (store, try store.write { tx in try tx.create(Frog.self, value: ["id": 1, "things": [[1], 7]]) })
    }

    @Test func aList() throws {
        let (store, frog) = try frog()
        let received = Received<NestedChange>()
        let token = try #require(frog.notes["seen"]?.list).observe { received.append($0) }
        #expect(try store.deliver() == 1)
        #expect(try #require(received.take().first).isInitial)
        try store.write { _ in
            frog.notes["seen"]?.list?.append(3)
            frog.notes["seen"]?.list?[0] = 9
            frog.notes["by"] = [:]
        }
        #expect(try store.deliver() == 1)
        let change = try #require(received.take().first)
        #expect(change.insertions == [2] && change.modifications == [0] && change.modificationsBefore == [0])
        #expect(change.deletions == [] && change.moves == [] && change.deletedKeys == [])
        #expect(change.isCompared, "the log says what became of the property, and not what became of the list in it")
        let before = try change.before().object(ofType: Frog.self, forPrimaryKey: 1)
        #expect(before?.notes["seen"] == [1, 2])
        try store.write { _ in frog.notes = 7 }
        #expect(try store.deliver() == 1)
        let cleared = try #require(received.take().first)
        #expect(cleared.isCleared && !cleared.isOwnerDeleted && cleared.deletions == [0, 1, 2])
        try store.write { tx in try tx.delete(frog) }
        #expect(try store.deliver() == 1)
        #expect(try #require(received.take().first).isOwnerDeleted)
        token.invalidate()
        try store.close()
    }

    @Test func aDictionary() throws {
        let (store, frog) = try frog()
        let received = Received<NestedChange>()
        let token = try #require(frog.notes["by"]?.dictionary).observe { received.append($0) }
        try store.deliver()
        _ = received.take()
        try store.write { _ in
            frog.notes["by"]?.dictionary?["b"] = 2
            frog.notes["by"]?.dictionary?["a"] = [1]
        }
        try store.deliver()
        let change = try #require(received.take().first)
        #expect(change.insertedKeys == ["b"] && change.modifiedKeys == ["a"] && change.deletedKeys == [])
        token.invalidate()
        try store.close()
    }

    /// For a task, which needs nobody to deliver.
    @Test(.timeLimit(.minutes(1))) func sequences() async throws {
        let (store, frog) = try frog()
        let list = try #require(frog.notes["seen"]?.list), map = try #require(frog.notes["by"]?.dictionary)
        var ofList = list.changes.makeAsyncIterator(), ofMap = map.changes.makeAsyncIterator()
        #expect(await ofList.next()?.isInitial == true)
        #expect(await ofMap.next()?.isInitial == true)
        try store.write { _ in
            list.insert(8, at: 0)
            map["c"] = [1]
        }
        #expect(await ofList.next()?.insertions == [0])
        #expect(await ofMap.next()?.insertedKeys == ["c"])
        var unmanaged = AnyList([1]).changes.makeAsyncIterator()
        #expect(await unmanaged.next() == nil)
        try store.close()
        #expect(await ofList.next() == nil)
    }

    @Test func insideOfAnElement() throws {
        let (store, frog) = try frog()
        let received = Received<NestedChange>()
        let token = try #require(frog.things[0].list).observe { received.append($0) }
        try store.deliver()
        _ = received.take()
        try store.write { _ in frog.things[0].list?.insert(0, at: 0) }
        try store.deliver()
        #expect(try #require(received.take().first).insertions == [0])
        token.invalidate()
        try store.close()
    }

    @Test func refusals() throws {
        let (store, frog) = try frog()
        #expect(code { _ = try AnyList([1]).observe { _ in } } == .wrongView)
        let frozen = try store.freeze().object(ofType: Frog.self, forPrimaryKey: 1)
        #expect(code { _ = try #require(frozen?.notes["seen"]?.list).observe { _ in } } == .wrongView)
        let seen = try #require(frog.notes["seen"]?.list)
        try store.write { _ in frog.notes["seen"] = 3 }
        #expect(code { _ = try seen.observe { _ in } } == .wrongType)
        try store.write { _ in frog.notes = [:] }
        #expect(code { _ = try seen.observe { _ in } } == .notFound)
        try store.close()
    }
}

/// Versions that a program writes down, and that are kept.
@Suite struct KeptVersionTests {
    @Test func bookmarks() throws {
        let folder = Folder()
        var seen: Bookmark
        do {
            let store = try Store.open(path: folder.file(), models: [Frog.self])
            try store.write { tx in try tx.create(Frog.self, value: ["id": 1]) }
            seen = try store.bookmark
            try store.keepVersion("index", at: seen)
            try store.write { tx in try tx.create(Frog.self, value: ["id": 2]) }
            try store.close()
        }
        let bytes = seen.bytes
        #expect(bytes.count == 40 && Bookmark(bytes: bytes) == seen && Bookmark(bytes: Array(bytes.dropLast())) == nil)
        let store = try Store.open(path: folder.file(), models: [Frog.self])
        let kept = try store.keptVersions()
        #expect(kept.map(\.name) == ["index"] && kept.first?.bookmark == seen)
        let told = Received<String>()
        let tokens = [
            try store.objects(Frog.self).sorted(by: \.id).observe(since: seen) { told.append("list \($0.insertions)") },
            try #require(try store.object(ofType: Frog.self, forPrimaryKey: 1)).things.observe(since: seen) { _ in
                told.append("nothing has happened to it")
            },
            try store.observeCommits(since: seen) { told.append("commits \($0.isLost)") },
        ]
        #expect(try store.deliver() == 2 && told.take() == ["list [1]", "commits false"])
        #expect(try tokens.allSatisfy { try $0.bookmark == store.bookmark })
        for token in tokens { token.invalidate() }
        #expect(code { try tokens[0].bookmark } == .closedHandle)
        let then = try store.at(seen)
        #expect(then.objects(Frog.self).count == 1 && store.objects(Frog.self).count == 2)
        #expect(try then.bookmark == seen)
        #expect(code { try store.keepVersion("") } == .invalidArgument)
        try store.releaseVersion("index")
        #expect(code { try store.releaseVersion("index") } == .notFound)
        for id in 3..<6 {
            try store.write { tx in try tx.create(Frog.self, value: ["id": id]) }
            try store.checkpoint()
        }
        #expect(code { try store.keepVersion("late", at: seen) } == nil, "it is still held by the snapshot")
        try store.close()
    }

    /// A handler that is called elsewhere begins where its program has stopped, too.
    @Test(.timeLimit(.minutes(1))) func sinceOnAQueueAndAnActor() async throws {
        let store = try memoryStore([Frog.self])
        let frog = try store.write { tx in try tx.create(Frog.self, value: ["id": 1]) }
        let seen = try store.bookmark
        try store.keepVersion("index", at: seen)
        try store.write { tx in
            try tx.create(Frog.self, value: ["id": 2])
            frog.things.append(7)
        }
        let (lines, told) = AsyncStream<String>.makeStream()
        let queue = DispatchQueue(label: "handlers"), all = store.objects(Frog.self)
        let tokens = [
            try all.observe(since: seen, on: queue) { change in
                dispatchPrecondition(condition: .onQueue(queue))
                told.yield("queue \(change.isInitial) \(change.insertions) \(change.modifications)")
            },
            try all.observe(keyPaths: ["id"], since: seen, on: MainActor.shared) { _, change in
                MainActor.assertIsolated()
                told.yield("actor \(change.isInitial) \(change.insertions) \(change.modifications)")
            },
            try frog.observe(since: seen, on: queue) { change in
                if case .change(_, let written) = change { told.yield("object \(written.map(\.name))") }
            },
        ]
        var heard: Set<String> = []
        for await line in lines {
            heard.insert(line)
            if heard.count == 3 { break }
        }
        #expect(heard == ["queue false [1] [0]", "actor false [1] []", "object [\"things\"]"])
        let other = try memoryStore([Frog.self])
        #expect(code { _ = try other.objects(Frog.self).observe(since: seen, on: queue) { _ in } } == .wrongStore)
        for token in tokens { token.invalidate() }
        try other.close()
        try store.close()
    }

    /// A version that nobody has kept.
    @Test func gone() throws {
        let store = try memoryStore([Frog.self])
        let frog = try store.write { tx in try tx.create(Frog.self, value: ["id": 1]) }
        let seen = try store.bookmark
        for id in 2..<5 {
            try store.write { tx in try tx.create(Frog.self, value: ["id": id]) }
            try store.checkpoint()
        }
        #expect(code { _ = try store.at(seen) } == .versionGone)
        let told = Received<String>()
        let tokens = [
            try store.objects(Frog.self).observe(since: seen) { told.append("list \($0.isLost) \($0.insertions)") },
            try frog.observe(since: seen) { change in
                if case .change(let frog, let written) = change { told.append("object \(frog.id) \(written.count)") }
            },
            try #require(frog.notes["seen"]?.list).observe(since: seen) { told.append("nested \($0.isLost)") },
        ]
        #expect(try store.deliver() == 3 && told.take() == ["list true []", "object 1 0", "nested true"])
        try store.write { _ in frog.notes["seen"]?.list?.append(4) }
        #expect(try store.deliver() == 3)
        for token in tokens { token.invalidate() }
        let other = try memoryStore([Frog.self])
        #expect(code { _ = try other.objects(Frog.self).observe(since: seen) { _ in } } == .wrongStore)
        try other.close()
        try store.close()
    }
}

private func code(_ body: () throws -> Void) -> ObjStoreError.Code? {
    do { try body() } catch { return (error as? ObjStoreError)?.code }
    return nil
}
