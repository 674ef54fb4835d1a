import Dispatch
import ObjStoreRealm
import Synchronization
import Testing

extension RealmExamples {
    /// `refresh`, `autorefresh` and observing on a queue, as Realm spells them.
    @Suite struct Refreshing {
        class Dog: Object {
            @Persisted var name = ""
            @Persisted var toys: List<String>
        }

        private let realm: Realm

        init() {
            RealmExamples.useRealm(of: Dog.self)
            realm = try! Realm()
            try! realm.write { realm.add(Dog(value: ["name": "Rex"])) }
        }

        /// Another store of what the realm shows.
        private func other() throws -> Store {
            try Store(Store.Configuration(.memory(name: realm.configuration.inMemoryIdentifier), models: [Dog.self]))
        }

        @Test func autorefresh() throws {
            let other = try other(), kinds = Mutex<[Realm.Notification]>([])
            let token = realm.observe { kind, _ in kinds.withLock { $0.append(kind) } }
            #expect(realm.autorefresh)
            try other.write { tx in try tx.create(Dog.self, value: ["name": "Ben"]) }
            #expect(realm.refresh() && realm.objects(Dog.self).count == 2)
            realm.autorefresh = false
            try other.write { tx in try tx.create(Dog.self, value: ["name": "Max"]) }
            try realm.store.deliver()
            #expect(realm.objects(Dog.self).count == 2)
            #expect(realm.refresh() && !realm.refresh() && realm.objects(Dog.self).count == 3)
            #expect(kinds.withLock { $0 } == [.didChange, .refreshRequired])
            token.invalidate()
        }

        @Test func observeOnAQueue() throws {
            let queue = DispatchQueue(label: "dogs"), told = DispatchSemaphore(value: 0), count = Atomic(0)
            let dogs = realm.objects(Dog.self), rex = dogs[0]
            let tokens = [
                dogs.observe(keyPaths: ["name"], on: queue) { change in
                    count.add(change.insertions.count, ordering: .relaxed)
                    told.signal()
                },
                rex.toys.observe(on: queue) { change in
                    count.add(change.insertions.count, ordering: .relaxed)
                    told.signal()
                },
                rex.observe(on: queue) { change in
                    if case .change(_, let properties) = change, properties.map(\.name) == ["toys"] { told.signal() }
                },
            ]
            for _ in 0..<2 { told.wait() }
            try realm.write {
                realm.add(Dog(value: ["name": "Ben"]))
                rex.toys.append("ball")
            }
            for _ in 0..<3 { told.wait() }
            #expect(count.load(ordering: .relaxed) == 2)
            for token in tokens { token.invalidate() }
        }
    }
}
