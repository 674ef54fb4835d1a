import Dispatch
import ObjStore
import Testing

/// Closures inside of closures that return nothing: the compiler finds the types of all of them.
@Suite struct ClosureTests {
    private func add(_ store: Store) {
        DispatchQueue.concurrentPerform(iterations: 1) { _ in
            try! store.write { tx in try tx.create(Dog.self, value: [1, "x"]) }
        }
        DispatchQueue.concurrentPerform(iterations: 4) { number in
            try! store.write { tx in try tx.create(Dog.self, value: [number + 2, "\(number)"]) }
        }
        DispatchQueue.concurrentPerform(iterations: 2) { _ in
            try! store.write { tx in for dog in store.objects(Dog.self) { dog.age += 1 } }
        }
        DispatchQueue.concurrentPerform(iterations: 1) { _ in
            try! store.tryWrite { tx in try tx.create(Dog.self, value: [6]) }
        }
        let item = DispatchWorkItem {
            try! store.write { tx in try! tx.savepoint { try tx.create(Dog.self, value: [7]) } }
        }
        item.perform()
    }

    @Test func closuresThatReturnNothing() throws {
        let store = try memoryStore([Dog.self])
        add(store)
        #expect(store.objects(Dog.self).map(\.id).sorted() == [1, 2, 3, 4, 5, 6, 7])
        #expect(try store.objects(Dog.self).sum(of: \.age) == 10)
    }

    @Test func closuresThatReturnSomething() throws {
        let store = try memoryStore([Dog.self])
        let dog = try store.write { tx in try tx.create(Dog.self, value: [1, "Rex"]) }
        let (name, age) = try store.write { _ in (dog.name, dog.age) }
        let count: Int = try store.write { tx in try tx.deleteAll() }
        #expect(name == "Rex" && age == 0 && count == 1)
    }
}
