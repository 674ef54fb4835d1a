import ObjStore
import Testing

/// Finding, results, aggregates, frozen and detached objects.
@Suite struct ReadTests {
    private func kennel() throws -> Store {
        let store = try memoryStore([Dog.self, Everything.self])
        try store.write { tx in
            for id in 0..<100 {
                try tx.create(
                    Dog.self, value: [id, "dog \(id % 10)", id % 7, id % 4 == 0 ? nil : Double(id) / 2] as [Any?])
            }
        }
        return store
    }

    /// Every comparison on an indexed int, a text and an optional double, against the same question asked of an array.
    @Test func oneComparison() throws {
        let store = try kennel()
        let all = Array(store.objects(Dog.self))
        func check(_ found: Results<Dog>, _ expected: (Dog) -> Bool, _ line: Int = #line) {
            let ids = all.filter(expected).map(\.id)
            #expect(found.map(\.id) == ids, "line \(line)")
            #expect(found.count == ids.count, "line \(line)")
            #expect(found.first?.id == ids.first, "line \(line)")
        }
        let dogs = store.objects(Dog.self)
        for age in [-1, 0, 3, 6, 7] {
            check(dogs.where { $0.age == age }) { $0.age == age }
            check(dogs.where { $0.age != age }) { $0.age != age }
            check(dogs.where { $0.age < age }) { $0.age < age }
            check(dogs.where { $0.age <= age }) { $0.age <= age }
            check(dogs.where { $0.age > age }) { $0.age > age }
            check(dogs.where { $0.age >= age }) { $0.age >= age }
            check(try dogs.filter("age < $0", age)) { $0.age < age }
            check(try dogs.filter("age >= \(age)")) { $0.age >= age }
        }
        check(dogs.where { $0.name == "dog 3" }) { $0.name == "dog 3" }
        check(dogs.where { $0.name != "dog 3" }) { $0.name != "dog 3" }
        check(dogs.where { $0.name < "dog 3" }) { $0.name < "dog 3" }
        check(try dogs.filter("name == 'dog 3'")) { $0.name == "dog 3" }
        check(try dogs.filter(" name<>\"dog 3\" ")) { $0.name != "dog 3" }
        check(dogs.where { $0.weight == nil }) { $0.weight == nil }
        check(dogs.where { $0.weight != nil }) { $0.weight != nil }
        check(dogs.where { $0.weight > 20 }) { ($0.weight ?? -1) > 20 }
        check(dogs.where { $0.weight != 0.5 }) { $0.weight != 0.5 }
        check(try dogs.filter("weight == nil")) { $0.weight == nil }
        check(try dogs.filter("weight != $0", nil)) { $0.weight != nil }
        check(try dogs.filter("weight <= 2e1")) { ($0.weight ?? 99) <= 20 }
        check(try dogs.filter("weight > 20")) { ($0.weight ?? -1) > 20 }
        #expect(store.lastError == nil)
    }

    @Test func otherTypesInComparisons() throws {
        let store = try memoryStore([Everything.self])
        try store.write { tx in
            for number in 0..<6 {
                let object = Everything()
                object.key = "k\(number)"
                object.flag = number % 2 == 0
                object.color = Color.allCases[number % 3]
                object.size = number < 2 ? .small : .large
                object.time = Timestamp(seconds: Int64(number), nanoseconds: 5)
                object.bytes = [UInt8(number)]
                object.colorOrNot = number == 5 ? .white : nil
                object.tiny = Int8(number)
                try tx.add(object)
            }
        }
        let all = store.objects(Everything.self)
        #expect(all.where { $0.flag }.count == 3)
        #expect(all.where { $0.flag == false }.map(\.key) == ["k1", "k3", "k5"])
        #expect(all.where { $0.color == .black }.map(\.key) == ["k1", "k4"])
        #expect(all.where { $0.size == .small }.count == 2)
        #expect(all.where { $0.colorOrNot == .white }.map(\.key) == ["k5"])
        #expect(all.where { $0.colorOrNot == nil }.count == 5)
        #expect(all.where { $0.time > Timestamp(seconds: 3, nanoseconds: 4) }.map(\.key) == ["k3", "k4", "k5"])
        #expect(all.where { $0.bytes == [2] }.map(\.key) == ["k2"])
        #expect(all.where { $0.tiny >= 4 }.count == 2)
        #expect(all.where { $0.key == "k3" }.count == 1)
        #expect(try all.filter("color == 'black'").count == 2)
        #expect(try all.filter("flag = true").count == 3)
        #expect(try all.filter("size == $0", Size.small).count == 2)
        #expect(code { try all.where { $0.bytes != [2] }.validate() } == nil)
    }

    /// What is refused says where; see QueryFilterTests for more of it.
    @Test func invalidQueries() throws {
        let store = try kennel()
        let dogs = store.objects(Dog.self)
        func position(_ text: String) -> (ObjStoreError.Code, Int?)? {
            do { _ = try dogs.filter(text, 1) } catch { return (error.code, error.position) }
            return nil
        }
        for (text, code, place) in [
            ("age", .invalidQuery, 3), ("age <", .invalidQuery, 5), ("age < x", .noSuchProperty, 6),
            ("age ~ 2", .invalidQuery, 4), ("age < 'x", .invalidQuery, 6), ("age < 1.2.3", .invalidQuery, 6),
            ("age < $1", .invalidQuery, 6), ("height < 2", .noSuchProperty, 0), ("age < 'old'", .wrongType, 6),
            ("name == 5", .wrongType, 8),
        ] as [(String, ObjStoreError.Code, Int?)] {
            let found = position(text)
            #expect(found?.0 == code, "\(text)")
            #expect(found?.1 == place, "\(text)")
        }
        #expect(try dogs.filter("age < nil").isEmpty, "null has no order")
        #expect(try dogs.filter("age < 2.5").count == dogs.filter("age <= 2").count)
        #expect(code { try Store.checked { dogs.where { $0.isFrozen }.count } } == .invalidQuery)
        #expect(code { try dogs.where { ($0.age < 2) == true }.validate() } == .invalidQuery)
        // Unlooked at, it is reported, and empty.
        let wrong = dogs.limit(-1).where { $0.id > 3 }
        #expect(wrong.count == 0 && wrong.first == nil && Array(wrong).isEmpty)
        #expect(store.lastError?.code == .invalidQuery)
    }

    @Test func resultsAreLiveAndIterationsArePinned() throws {
        let store = try kennel()
        let young = store.objects(Dog.self).where { $0.age == 0 }
        let count = young.count
        #expect(count == 15 && young[3].id == 21 && young.last?.id == 98)
        let frozen = try young.freeze()
        try store.write { tx in
            var visited = 0
            for dog in young {
                dog.age = 1
                visited += 1
            }
            #expect(visited == count, "changing what the comparison reads")
            #expect(young.isEmpty)
        }
        #expect(young.count == 0)
        #expect(frozen.count == count && frozen.map(\.id).prefix(3) == [0, 7, 14])
        try store.write { tx in _ = try tx.create(Dog.self, value: [1000]) }
        #expect(young.map(\.id) == [1000])
        // A position that is not there.
        #expect(code { try Store.checked { _ = young[5] } } == .outOfRange)
        #expect(code { try Store.checked { _ = young[-1] } } == .outOfRange)
        #expect(young[5].isInvalidated)
        // Collection algorithms.
        let dogs = store.objects(Dog.self)
        #expect(dogs.dropFirst(10).prefix(3).map(\.id) == [10, 11, 12])
        #expect(dogs.reversed().first?.id == 1000)
        #expect(dogs.firstIndex { $0.id == 50 } == 50)
    }

    @Test func aggregates() throws {
        let store = try kennel()
        let dogs = store.objects(Dog.self)
        let all = Array(dogs), weights = all.compactMap(\.weight)
        #expect(try dogs.sum(of: \.age) == all.map(\.age).reduce(0, +))
        #expect(try dogs.min(of: \.age) == 0)
        #expect(try dogs.max(of: \.id) == 99)
        #expect(try dogs.average(of: \.age) == Double(all.map(\.age).reduce(0, +)) / 100)
        #expect(try dogs.sum(of: \.weight) == weights.reduce(0, +))
        #expect(try dogs.min(of: \.weight) == weights.min())
        #expect(try dogs.max(of: \.weight) == weights.max())
        let average = try #require(try dogs.average(of: \.weight))
        #expect(abs(average - weights.reduce(0, +) / Double(weights.count)) < 1e-9)
        let none = store.objects(Everything.self)
        #expect(try none.sum(of: \.number) == 0)
        #expect(try none.min(of: \.time) == nil)
        #expect(try none.average(of: \.real) == nil)
        try store.write { tx in
            for number in 0..<3 {
                let object = Everything()
                object.key = "\(number)"
                object.tiny = 100
                object.long = .max
                object.time = Timestamp(seconds: Int64(number))
                try tx.add(object)
            }
            #expect(try none.max(of: \.time) == Timestamp(seconds: 2), "inside the write")
        }
        #expect(code { try none.sum(of: \.long) } == .outOfRange)
        #expect(code { try none.sum(of: \.tiny) } == .outOfRange)
        #expect(try none.min(of: \.tiny) == 100)
    }

    /// After a comparison, by index and by scan, against the same asked of arrays.
    @Test func aggregatesOfAPart() throws {
        let store = try kennel()
        let dogs = store.objects(Dog.self)
        let parts = [
            dogs.where { $0.age == 3 }, dogs.where { $0.age > 0 }, dogs.where { $0.name == "dog 4" },
            dogs.where { $0.weight != nil },
        ]
        for part in parts {
            let ids = part.map(\.id), weights = part.compactMap(\.weight)
            #expect(try part.sum(of: \.id) == ids.reduce(0, +))
            #expect(try part.min(of: \.id) == ids.min() && part.max(of: \.id) == ids.max())
            #expect(try part.average(of: \.id) == Double(ids.reduce(0, +)) / Double(ids.count))
            #expect(try part.sum(of: \.weight) == weights.reduce(0, +))
            #expect(try part.min(of: \.weight) == weights.min() && part.max(of: \.weight) == weights.max())
            #expect(try part.average(of: \.weight) == weights.reduce(0, +) / Double(weights.count))
        }
        let none = dogs.where { $0.age == 99 }
        #expect(
            try none.sum(of: \.weight) == 0 && none.average(of: \.age) == nil && none.min(of: \.weight) == nil
                && none.max(of: \.id) == nil)
        try store.write { tx in
            for (id, weight) in [(200, Double.nan), (201, -Double.infinity), (202, 7)] {
                try tx.create(Dog.self, value: [id, "odd", 50, weight])
            }
            let odd = dogs.where { $0.age == 50 }
            #expect(try odd.sum(of: \.weight).isNaN)
            #expect(try odd.min(of: \.weight) == -Double.infinity && odd.max(of: \.weight) == 7)
            #expect(try dogs.where { $0.id == 200 }.min(of: \.weight) == nil, "NaN is no least value")
            try tx.create(Dog.self, value: [203, "odd", Int.max])
            #expect(code { try dogs.where { $0.name == "odd" }.sum(of: \.age) } == .outOfRange)
            for second in 1...3 {
                let object = Everything()
                object.key = "\(second)"
                object.number = second
                object.time = Timestamp(seconds: Int64(-second), nanoseconds: 1)
                try tx.add(object)
            }
        }
        let some = store.objects(Everything.self).where { $0.number < 3 }
        #expect(
            try some.min(of: \.time) == Timestamp(seconds: -2, nanoseconds: 1)
                && some.max(of: \.time) == Timestamp(seconds: -1, nanoseconds: 1))
        #expect(try dogs.where { $0.age == 1 }.where { $0.id < 9 }.sum(of: \.id) == 9)
        #expect(store.lastError == nil)
    }

    @Test func frozenAndDetached() async throws {
        let errors = Errors()
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.onError = { errors.add($0) }
        let store = try Store(configuration)
        let dog = try store.write { tx in try tx.create(Dog.self, value: [1, "Rex", 3]) }
        let frozen = try dog.freeze()
        let snapshot = try store.freeze()
        let copy = try dog.detached()
        #expect(frozen.isFrozen && frozen.isManaged && !dog.isFrozen && !copy.isManaged)
        #expect(try frozen.freeze() === frozen)
        try store.write { _ in dog.name = "Wolfie" }
        #expect(dog.name == "Wolfie" && frozen.name == "Rex" && copy.name == "Rex")
        #expect(snapshot.objects(Dog.self)[0].name == "Rex")
        #expect(try snapshot.object(ofType: Dog.self, forPrimaryKey: 1)?.name == "Rex")
        #expect(code { try store.write { _ in frozen.name = "x" } } == .wrongView)
        frozen.name = "x"
        #expect(errors.all.map(\.code) == [.wrongView])
        copy.name = "Copy"
        try store.write { tx in try tx.add(copy, update: .all) }
        #expect(dog.name == "Copy")
        try store.write { tx in try tx.delete(dog) }
        #expect(dog.isInvalidated && frozen.name == "Rex")
        // Across tasks.
        let reference = try Reference(frozen), carried = try Frozen(frozen)
        let names = await withTaskGroup(of: String.self) { group in
            for _ in 0..<4 { group.addTask { (0..<200).map { _ in carried.name }.last ?? "" } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(names == ["Rex", "Rex", "Rex", "Rex"])
        #expect(try store.resolve(reference) == nil)
        #expect(try snapshot.resolve(reference)?.name == "Rex")
        #expect(code { try Frozen(Dog()) } == .wrongView)
        #expect(code { try Reference(Dog()) } == .wrongView)
    }

    @Test func keyedAccess() throws {
        let store = try kennel()
        let dog = try #require(try store.object(ofType: Dog.self, forPrimaryKey: 3))
        #expect(try dog.value(forKey: "name") as? String == "dog 3")
        #expect(try store.object(ofType: Dog.self, forPrimaryKey: 4)?.value(forKey: "weight") == nil)
        #expect(code { try dog.value(forKey: "height") } == .noSuchProperty)
        try store.write { _ in try dog.setValue(12, forKey: "age") }
        #expect(dog.age == 12)
        #expect(code { try store.write { _ in try dog.setValue("12", forKey: "age") } } == .wrongType)
        #expect(code { try store.write { _ in try dog.setValue(nil, forKey: "age") } } == .notNullable)
        #expect(try store.object(ofType: Dog.self, forPrimaryKey: 1000) == nil)
        #expect(code { try store.object(ofType: Dog.self, forPrimaryKey: "3") } == .wrongType)
    }

    @Test func refreshAndMaintenance() throws {
        let folder = Folder()
        let store = try Store.open(path: folder.file(), models: [Dog.self])
        let other = try Store.open(path: folder.file(), models: [Dog.self])
        try store.write { tx in try tx.add((0..<1000).map { try Dog(value: [$0, "dog \($0)", $0 % 50]) }) }
        #expect(other.objects(Dog.self).count == 0, "live views move when they are told")
        #expect(try other.refresh())
        #expect(try !other.refresh())
        #expect(other.objects(Dog.self).count == 1000)
        let statistics = try store.statistics()
        #expect(try statistics.publishedVersion == store.version)
        #expect(statistics.commits >= 2 && statistics.durableVersion == statistics.publishedVersion)
        #expect(statistics.fileBytes > 0 && statistics.processes == 1 && statistics.views >= 2)
        #expect(try store.verify() == [])
        try store.writeCopy(to: folder.file("copy.objstore"))
        #expect(code { try store.writeCopy(to: folder.file("copy.objstore")) } == .alreadyExists)
        let copy = try Store.open(path: folder.file("copy.objstore"), models: [Dog.self])
        #expect(copy.objects(Dog.self).where { $0.age == 7 }.count == 20)
        #expect(try copy.verify() == [])
        // The files, when they are not open.
        #expect(code { _ = try Store.verify(atPath: folder.file("copy.objstore")) } == .busy)
        try store.writeCopy(to: folder.file("second.objstore"))
        var calls = 0
        let report = try Store.verify(atPath: folder.file("second.objstore")) { done, total in
            calls += 1
            return done <= total
        }
        #expect(report.isComplete && report.findings.isEmpty && calls >= 2 && report.classes.map(\.objects) == [1000])
        #expect(
            code {
                _ = try Store.salvage(from: folder.file("second.objstore"), to: folder.file("new.objstore")) { _, _ in
                    false
                }
            } == .cancelled)
        let salvaged = try Store.salvage(from: folder.file("second.objstore"), to: folder.file("new.objstore"))
        #expect(
            salvaged.isComplete && salvaged.classes.map(\.name) == ["Dog"] && salvaged.classes[0].lost == 0
                && salvaged.classes[0].lostValues.isEmpty)
        #expect(
            code { _ = try Store.salvage(from: folder.file("second.objstore"), to: folder.file("new.objstore")) }
                == .alreadyExists)
        #expect(try Store.exists(atPath: folder.file("copy.objstore")))
        #expect(code { try Store.delete(atPath: folder.file("copy.objstore")) } == .busy)
        try copy.close()
        try Store.delete(atPath: folder.file("copy.objstore"))
        #expect(try !Store.exists(atPath: folder.file("copy.objstore")))
        try store.checkpoint()
    }
}
