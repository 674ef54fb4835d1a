import Glibc
import ObjStore
import Synchronization
import Testing

private enum Old {
    final class Guest: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
    }
}

private enum New {
    final class Guest: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var age = 0
    }
}

private struct NotToday: Error {}

/// How stores are opened, copied and deleted.
@Suite(.serialized) struct FileTests {
    @Test func A12_defaultStore() throws {
        let folder = Folder(), before = Store.Configuration.defaultConfiguration
        defer { Store.Configuration.defaultConfiguration = before }
        #expect(before.location == .file("default.objstore"))
        Store.Configuration.defaultConfiguration = Store.Configuration(path: folder.file("a"), models: [KennelDog.self])
        let first = try Store(), second = try Store()
        try first.write { tx in try tx.create(KennelDog.self, value: ["name": "Rex", "age": 1]) }
        try second.refresh()
        #expect(second.objects(KennelDog.self).map(\.name) == ["Rex"])
        Store.Configuration.defaultConfiguration.location = .file(folder.file("b"))
        let third = try Store()
        #expect(third.objects(KennelDog.self).isEmpty)
        #expect(try Store.exists(atPath: folder.file("b")))
        #expect(first.objects(KennelDog.self).count == 1)
    }

    @Test func A13_subsetOfTheClasses() throws {
        let folder = Folder()
        let all = try Store.open(path: folder.file(), models: [KennelDog.self, Old.Guest.self])
        try all.write { tx in try tx.create(KennelDog.self, value: ["name": "Rex"]) }
        // The class is in the file, but not among those of this store.
        let store = try Store.open(path: folder.file(), models: [Old.Guest.self])
        try store.write { tx in
            try tx.create(Old.Guest.self, value: ["id": 1])
            let dog = KennelDog()
            #expect(code { try tx.add(dog) } == .noSuchClass)
            #expect(!dog.isManaged)
            #expect(code { try tx.create(KennelDog.self, value: ["name": "Fido"]) } == .noSuchClass)
        }
        #expect(store.objects(Old.Guest.self).count == 1)
        #expect(all.objects(KennelDog.self).count == 1)
    }

    @Test func A101_inMemoryAndCopies() throws {
        let folder = Folder()
        var store: Store? = try Store(Store.Configuration(.memory(name: "A101"), models: [KennelDog.self]))
        try store!.write { tx in
            try tx.create(KennelDog.self, value: ["name": "Rex"])
            // What is not committed is part of a copy.
            try store!.writeCopy(to: folder.file("inside"))
        }
        try store!.writeCopy(to: folder.file("outside"))
        #expect(code { try store!.writeCopy(to: folder.file("outside")) } == .alreadyExists)
        try store!.close()
        store = try Store(Store.Configuration(.memory(name: "A101"), models: [KennelDog.self]))
        #expect(store!.objects(KennelDog.self).isEmpty)
        for name in ["inside", "outside"] {
            let copy = try Store.open(path: folder.file(name), models: [KennelDog.self])
            #expect(copy.objects(KennelDog.self).map(\.name) == ["Rex"])
            #expect(try copy.verify().isEmpty)
            #expect(code { try Store.delete(atPath: folder.file(name)) } == .busy)
            try copy.close()
            #expect(try Store.delete(atPath: folder.file(name)))
            #expect(try !Store.delete(atPath: folder.file(name)))
        }
    }

    @Test func A101_deletesIfMigrationNeeded() throws {
        let folder = Folder()
        var configuration = Store.Configuration(path: folder.file(), models: [Old.Guest.self])
        configuration.deletesIfMigrationNeeded = true
        let old = try Store(configuration)
        try old.write { tx in try tx.create(Old.Guest.self, value: ["id": 1]) }
        configuration.models = [New.Guest.self]
        #expect(code { try Store(configuration) } == .busy)
        try old.close()
        let new = try Store(configuration)
        #expect(new.objects(New.Guest.self).isEmpty)
    }

    @Test func A101_compactsOnOpen() throws {
        let folder = Folder(), calls = Mutex<[(Int, Int)]>([])
        var configuration = Store.Configuration(path: folder.file(), models: [KennelDog.self])
        var store = try Store(configuration)
        try store.write { tx in
            for number in 0..<20_000 { try tx.create(KennelDog.self, value: ["name": "a name of a dog \(number)"]) }
        }
        try store.write { tx in try tx.delete(store.objects(KennelDog.self).dropFirst(10)) }
        try store.close()
        var before = stat(), after = stat()
        stat(folder.file(), &before)
        configuration.compactsOnOpen = { total, used in
            calls.withLock { $0.append((total, used)) }
            return used < total / 2
        }
        store = try Store(configuration)
        let second = try Store(configuration)
        #expect(calls.withLock { $0.map(\.0) } == [Int(before.st_size)])
        #expect(store.objects(KennelDog.self).count == 10)
        try second.close()
        try store.close()
        stat(folder.file(), &after)
        #expect(after.st_size < before.st_size / 2)
    }

    @Test func initialData() throws {
        let folder = Folder()
        var configuration = Store.Configuration(path: folder.file(), models: [Old.Guest.self])
        configuration.initialData = { tx in
            try tx.create(Old.Guest.self, value: ["id": 1, "name": "first"])
            throw NotToday()
        }
        #expect(code { try Store(configuration) } == .callback)
        #expect(try !Store.exists(atPath: folder.file()))
        configuration.initialData = { tx in
            let guest = try Old.Guest(value: ["id": 1])
            try tx.add(guest)
            try tx.create(Old.Guest.self, value: ["id": 1])
        }
        #expect(code { try Store(configuration) } == .duplicateKey)
        configuration.initialData = { tx in
            let guest = try Old.Guest(value: ["id": 1])
            try tx.add(guest)
            guest.name = "first"
            #expect(tx.objects(Old.Guest.self).count == 1)
        }
        for _ in 0..<2 {
            let store = try Store(configuration)
            #expect(store.objects(Old.Guest.self).map(\.name) == ["first"])
            try store.close()
        }
    }

    @Test func seed() throws {
        let folder = Folder()
        var configuration = Store.Configuration(path: folder.file(), models: [Old.Guest.self])
        configuration.seedPath = folder.file("seed")
        #expect(code { try Store(configuration) } == .notFound)
        let seed = try Store.open(path: folder.file("seed"), models: [Old.Guest.self])
        try seed.write { tx in try tx.create(Old.Guest.self, value: ["id": 1, "name": "first"]) }
        try seed.close()
        var store = try Store(configuration)
        try store.write { tx in try tx.create(Old.Guest.self, value: ["id": 2]) }
        try store.close()
        try Store.delete(atPath: folder.file("seed"))
        store = try Store(configuration)
        #expect(store.objects(Old.Guest.self).count == 2)
    }

    /// D81. The digest is that of an empty file.
    @Test func seedOfASHA256() throws {
        let folder = Folder()
        var configuration = Store.Configuration(path: folder.file(), models: [Old.Guest.self])
        configuration.seedSHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        #expect(code { try Store(configuration) } == .invalidArgument)
        configuration.seedPath = folder.file("seed")
        #expect(code { try Store(configuration) } == .notFound)
        // Its digest is right, but a store it is not.
        close(open(folder.file("seed"), O_CREAT | O_WRONLY, 0o600))
        #expect(code { try Store(configuration) } == .notAStore)
        unlink(folder.file("seed"))
        try Store.open(path: folder.file("seed"), models: [Old.Guest.self]).close()
        let error = #expect(throws: ObjStoreError.self) { try Store(configuration) }
        #expect(
            error?.code == .corrupt
                && error?.message.contains("not e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
                    == true
        )
        #expect(try !Store.exists(atPath: folder.file()))
        // The message names the digest that the file has.
        let found = try #require(
            error?.message.split(separator: " ").first { $0.hasSuffix(",") && $0.count == 65 }.map {
                String($0.dropLast())
            })
        configuration.seedSHA256 = found
        try Store(configuration).close()
        configuration.seedSHA256 = String(found.dropLast())
        #expect(code { try Store(configuration) } == .invalidArgument)
    }
}
