import ObjStoreCore
import ObjStoreSimulation

/// What an application may do with a file that it was given: open, verify, read everything in every way, write,
/// close, and open again.
struct Session {
    let path: String
    let isWriting: Bool
    var mode = StoreConfiguration.Mode.readWrite
    var rounds = 2
    /// Of this many objects of a class each value is read by itself.
    var samples = 50
    /// Whether it is verified, and not only read: not where the file is verified as well.
    var verifies = true
    /// The last round ends with a compaction.
    var compacts = false
    /// What the first round reads is written down here.
    var transcript: Transcript?

    func run() throws(StoreError) {
        var problem: StoreError?
        for round in 0..<rounds {
            var configuration = StoreConfiguration()
            configuration.place = .file(path)
            configuration.mode = mode
            configuration.creation = .never
            let store = try Store.open(configuration)
            do throws(StoreError) { try use(store, round) } catch { problem = problem ?? error }
            do throws(StoreError) { try store.close() } catch { problem = problem ?? error }
        }
        if let problem { throw problem }
    }

    private func use(_ store: Store, _ round: Int) throws(StoreError) {
        let view = try store.openView()
        let transcript = round == 0 ? transcript : nil
        var problem: StoreError?
        func attempt(_ body: () throws(StoreError) -> Void) {
            do throws(StoreError) { try body() } catch { problem = problem ?? error }
        }
        if verifies {
            attempt { () throws(StoreError) in
                let findings = try view.verify { (_, _) throws(StoreError) in }
                if let first = findings.first { throw StoreError(.corrupt, first) }
            }
        }
        var classes: [ClassInfo] = []
        attempt { () throws(StoreError) in
            for index in 0..<(try view.classCount()) { classes.append(try view.classInfo(at: index)) }
        }
        for cls in classes {
            transcript?.note(.init(classID: cls.classID, way: .classInfo)) { hasher in
                hasher.combine(cls.name); hasher.combine(cls.propertyCount); hasher.combine(cls.primaryKey)
            }
            for index in 0..<cls.propertyCount {
                attempt { () throws(StoreError) in
                    try read(view, cls, try view.propertyInfo(cls.classID, at: index), transcript)
                }
            }
            attempt { () throws(StoreError) in try readRows(view, cls, transcript) }
        }
        view.close()
        if isWriting {
            let before = try? store.shared.database.snapshot()
            for cls in classes { attempt { () throws(StoreError) in try write(store, cls, round) } }
            attempt { () throws(StoreError) in try compare(store, before, classes) }
            if compacts && round == rounds - 1 {
                attempt { () throws(StoreError) in try store.compact { (_, _) throws(StoreError) in } }
            }
            attempt { () throws(StoreError) in try store.checkpoint() }
        }
        if let problem { throw problem }
    }

    /// What an observer gets that comes early, and late.
    private func compare(_ store: Store, _ before: Snapshot?, _ classes: [ClassInfo]) throws(StoreError) {
        guard let before else { return }
        let after = try store.shared.database.snapshot()
        for compares in [false, true] {
            _ = try ChangeReader(
                store.shared.database, from: before, to: after, classes: Set(classes.indices.map { UInt32($0) }),
                compares: compares)
        }
    }

    /// One property: searched, summed up, read as a column.
    private func read(
        _ view: View, _ cls: ClassInfo, _ property: PropertyInfo, _ transcript: Transcript?
    ) throws(StoreError) {
        func question(_ way: Transcript.Way, _ index: Int64 = 0) -> Transcript.Question {
            Transcript.Question(classID: cls.classID, propertyID: property.propertyID, way: way, index: index)
        }
        transcript?.note(question(.propertyInfo)) { hasher in
            hasher.combine(property.name); hasher.combine(property.kind); hasher.combine(property.flags.rawValue);
            hasher.combine(property.index)
        }
        if property.kind.isCollection, property.target == 0 { return }
        var problem: StoreError?
        func attempt(_ body: () throws(StoreError) -> Void) {
            do throws(StoreError) { try body() } catch { if error.code == .corrupt { problem = problem ?? error } }
        }
        for comparison in [Comparison.equal, .notEqual, .less, .greaterOrEqual] {
            attempt { () throws(StoreError) in
                let link = ObjectID(classID: property.target, storeTag: view.shared.tag, key: 2)
                let value = property.target != 0 ? .link(link) : Session.value(property.kind, 5)
                let count = try view.count(Query(cls.classID, property.propertyID, comparison, value))
                transcript?.note(question(.count, Int64(comparison.rawValue)), count)
                let first = try view.first(Query(cls.classID, property.propertyID, comparison, value))
                transcript?.note(question(.first, Int64(comparison.rawValue))) { $0.combine(keyOf: first) }
                let found = try view.find(Query(cls.classID, property.propertyID, comparison, value))
                try transcript?.note(question(.find, Int64(comparison.rawValue)), found)
            }
        }
        attempt { () throws(StoreError) in
            let nulls = try view.count(Query(cls.classID, property.propertyID, .equal, .null))
            transcript?.note(question(.nulls), nulls)
        }
        for (index, kind) in [AggregateKind.sum, .minimum, .maximum, .average].enumerated() {
            attempt { () throws(StoreError) in
                let value = try view.aggregate(Query(all: cls.classID), property.propertyID, kind)
                transcript?.note(question(.aggregate, Int64(index))) { $0.combine(value) }
            }
        }
        let rows = 1000
        let values = UnsafeMutableRawPointer.allocate(byteCount: rows * 16 + 16, alignment: 16)
        let keys = UnsafeMutablePointer<Int64>.allocate(capacity: rows),
            offsets = UnsafeMutablePointer<Int64>.allocate(capacity: rows + 1)
        let bits = UnsafeMutablePointer<UInt8>.allocate(capacity: rows / 8 + 8)
        var buffer = OutputBuffer()
        defer {
            values.deallocate(); keys.deallocate(); offsets.deallocate(); bits.deallocate()
            OutputBuffer.free(&buffer)
        }
        attempt { () throws(StoreError) in
            var position: Int64 = -1
            for part in 0..<20 {
                let count: Int
                if property.kind.hasOffsets {
                    count = try view.readTextColumn(
                        cls.classID, property.propertyID, capacity: rows, position: &position, buffer: &buffer,
                        offsets: offsets, validity: bits, keys: keys)
                } else {
                    count = try view.readColumn(
                        cls.classID, property.propertyID, capacity: rows, position: &position, values: values,
                        validity: bits, keys: keys)
                }
                transcript?.note(question(.column, Int64(part))) { hasher in
                    hasher.combine(count)
                    hasher.combine(bytes: UnsafeRawBufferPointer(start: keys, count: count * 8))
                    let isText = property.kind.hasOffsets, width = ValueCell.size(property.kind)
                    for row in 0..<count {
                        guard bits[row >> 3] >> UInt8(row & 7) & 1 != 0 else { hasher.combine(row); continue }
                        hasher.combine(
                            bytes: isText
                                ? UnsafeRawBufferPointer(
                                    start: buffer.bytes! + Int(offsets[row]),
                                    count: Int(offsets[row + 1] - offsets[row]))
                                : UnsafeRawBufferPointer(start: values + row * width, count: width))
                    }
                }
                if count < rows { break }
            }
        }
        if let problem { throw problem }
    }

    /// All objects: as a list, in packed form, by row cursor and key.
    private func readRows(_ view: View, _ cls: ClassInfo, _ transcript: Transcript?) throws(StoreError) {
        func question(_ way: Transcript.Way, _ propertyID: UInt32 = 0, _ index: Int64 = 0) -> Transcript.Question {
            Transcript.Question(classID: cls.classID, propertyID: propertyID, way: way, index: index)
        }
        var ids: [UInt32] = []
        var collections: [(id: UInt32, elements: ElementSchema, sample: Value)] = [], mixed: [UInt32] = []
        for index in 0..<cls.propertyCount {
            let property = try view.propertyInfo(cls.classID, at: index)
            if property.kind == .mixed { mixed.append(property.propertyID) }
            if let elements = property.elements {
                let link = Value.link(ObjectID(classID: property.target, storeTag: view.shared.tag, key: 2))
                collections.append(
                    (property.propertyID, elements, elements.kind == .link ? link : Session.value(elements.kind, 5)))
            } else {
                ids.append(property.propertyID)
            }
        }
        if cls.primaryKey != 0 {
            let kind = try view.propertyInfo(cls.primaryKey).kind
            for number in [0, 5, 100_000] as [Int64] {
                if let found = try? view.find(cls.classID, Session.value(kind, number)) {
                    transcript?.note(question(.key, 0, number)) { $0.combine(keyOf: found) }
                }
            }
        }
        var buffer = OutputBuffer()
        defer { OutputBuffer.free(&buffer) }
        var row = try RowCursor(view, cls.classID)
        var rows = 0
        while rows < 10_000, try row.next() { rows += 1 }
        transcript?.note(question(.rows), rows)
        let all = try view.find(Query(all: cls.classID))
        try transcript?.note(question(.find), all)
        var problem: StoreError?
        do throws(StoreError) {
            var failure: StoreError?
            ids.withUnsafeBufferPointer { ids in
                do throws(StoreError) { try all.read(from: 0, limit: 5000, ids, into: &buffer) } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            transcript?.note(question(.packed)) {
                $0.combine(packed: UnsafeRawBufferPointer(start: buffer.bytes, count: buffer.length))
            }
        } catch { problem = problem ?? error }
        for index in 0..<min(all.count, samples) {
            let object = try all.object(at: UInt64(index * max(1, all.count / samples)))
            for id in ids {
                do throws(StoreError) {
                    let value = try view.value(object, id, &buffer)
                    transcript?.note(question(.object, id, object.key)) { $0.combine(value) }
                } catch { problem = problem ?? error }
            }
        }
        for index in 0..<min(all.count, samples) {
            let object = try all.object(at: UInt64(index * max(1, all.count / samples)))
            for (id, elements, sample) in collections {
                do throws(StoreError) {
                    try readElements(
                        view, CollectionID(owner: object, propertyID: id), elements, sample,
                        question(.elements, id, object.key), transcript)
                } catch {
                    problem = problem ?? error
                }
            }
        }
        for index in 0..<min(all.count, samples) {
            let object = try all.object(at: UInt64(index * max(1, all.count / samples)))
            for id in mixed {
                do throws(StoreError) {
                    try readMixed(view, object, id, question(.mixed, id, object.key), transcript)
                } catch { if error.code == .corrupt { problem = problem ?? error } }
            }
        }
        if let problem { throw problem }
    }

    /// What is inside a document, by paths.
    private func readMixed(
        _ view: View, _ object: ObjectID, _ id: UInt32, _ question: Transcript.Question, _ transcript: Transcript?
    ) throws(StoreError) {
        var buffer = OutputBuffer()
        defer { OutputBuffer.free(&buffer) }
        var hasher = Hasher()
        try withUnsafeMutablePointer(to: &buffer) { (buffer) throws(StoreError) in
            let whole = try view.mixed(object, id, [], whole: false, buffer) ?? .null
            hasher.combine(whole)
            guard whole.kind == .map else { return }
            _ = try view.mixedKeys(object, id, [], from: 0, limit: 100, buffer) { _, key in hasher.combine(key) }
            for (name, steps) in [("n", []), ("list", []), ("list", [0]), ("list", [3, 1]), ("list", [-1])]
                as [(StaticString, [Int])]
            {
                let path =
                    [.key(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))]
                    + steps.map { MixedStep.index($0) }
                do throws(StoreError) {
                    hasher.combine(try view.mixed(object, id, path, whole: true, buffer) ?? .null)
                } catch { if error.code == .corrupt { throw error } }
            }
        }
        transcript?.note(question, hasher.finalize())
    }

    /// All elements, one by its index, and one that is looked for.
    private func readElements(
        _ view: View, _ id: CollectionID, _ elements: ElementSchema, _ sample: Value, _ question: Transcript.Question,
        _ transcript: Transcript?
    ) throws(StoreError) {
        var buffer = OutputBuffer()
        defer { OutputBuffer.free(&buffer) }
        var hasher = Hasher()
        let count = try view.elementCount(id)
        let read = try withUnsafeMutablePointer(to: &buffer) { (buffer) throws(StoreError) in
            try view.elements(id, from: 0, limit: 10_000, wantsKeys: elements.keyKind != .null, buffer) {
                _, key, value in
                hasher.combine(key)
                hasher.combine(value)
            }
        }
        if count > 0 { hasher.combine(try view.element(id, at: count / 2, &buffer).value) }
        hasher.combine(try view.firstIndex(id, of: sample))
        if elements.keyKind != .null {
            if let found = try view.value(id, ofKey: Session.value(elements.keyKind, 6), &buffer) {
                hasher.combine(found)
            }
        }
        hasher.combine(count)
        hasher.combine(read)
        transcript?.note(question, hasher.finalize())
    }

    /// Creates an object, changes one and deletes one, each in a transaction of its own.
    private func write(_ store: Store, _ cls: ClassInfo, _ round: Int) throws(StoreError) {
        var problem: StoreError?
        for step in 0..<3 {
            let transaction = try store.begin()
            do throws(StoreError) {
                switch step {
                // Embedded ones are made in their parents.
                case 0: if !cls.isEmbedded { try create(transaction, cls, round) }
                case 1:
                    let all = try transaction.find(Query(all: cls.classID))
                    if all.count > 0 {
                        let object = try all.object(at: UInt64(all.count / 2))
                        var last = try transaction.propertyInfo(cls.classID, at: cls.propertyCount - 1)
                        for index in 0..<cls.propertyCount {
                            let property = try transaction.propertyInfo(cls.classID, at: index)
                            if property.kind == .mixed { try edit(transaction, object, property) }
                            if property.elements == nil {
                                last = property
                                continue
                            }
                            do throws(StoreError) { try change(transaction, object, property) } catch {
                                if error.code != .embedded { throw error }
                            }
                        }
                        if last.elements == nil {
                            try transaction.set(object, last.propertyID, Session.value(last.kind, 7))
                        }
                    }
                default:
                    let all = try transaction.find(Query(all: cls.classID))
                    if all.count > 0 { try transaction.delete(try all.object(at: 0)) }
                }
                _ = try transaction.commit()
            } catch {
                problem = problem ?? error
                _ = try? transaction.cancel()
            }
        }
        if let problem { throw problem }
    }

    /// Changes inside a document, where there is one.
    private func edit(_ transaction: View, _ object: ObjectID, _ property: PropertyInfo) throws(StoreError) {
        let name: StaticString = "list",
            key = MixedStep.key(UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        for (path, action) in [
            ([key, .index(0)], .insert), ([key, .index(0)], .set), ([key, .index(-1)], .remove), ([key], .set),
        ] as [([MixedStep], MixedAction)] {
            do throws(StoreError) {
                try transaction.edit(object, property.propertyID, path, action, Session.value(.string, 5))
            } catch {
                if error.code == .corrupt { throw error }
            }
        }
    }

    /// Adds elements to a collection, and takes some away.
    private func change(_ transaction: View, _ object: ObjectID, _ property: PropertyInfo) throws(StoreError) {
        let id = CollectionID(owner: object, propertyID: property.propertyID), elements = property.elements!
        var targets: Results?
        if elements.kind == .link {
            let all = try transaction.find(Query(all: property.target))
            if all.count == 0 { return }
            targets = all
        }
        for number in 0..<12 as Range<Int64> {
            var value = Session.value(elements.kind, number)
            if let targets { value = .link(try targets.object(at: UInt64(number) % UInt64(targets.count))) }
            switch property.kind {
            case .set: _ = try transaction.insert(id, member: value)
            case .map: _ = try transaction.set(id, key: Session.value(elements.keyKind, number), value)
            default:
                var failure: StoreError?
                withUnsafePointer(to: value) { value in
                    do throws(StoreError) {
                        try transaction.insert(id, at: 0, UnsafeBufferPointer(start: value, count: 1))
                    } catch { failure = error }
                }
                if let failure { throw failure }
            }
        }
        try transaction.remove(id, at: 1, count: min(5, try transaction.elementCount(id) - 1))
    }

    private func create(_ transaction: View, _ cls: ClassInfo, _ round: Int) throws(StoreError) {
        var ids: [UInt32] = [], values: [Value] = []
        for index in 0..<cls.propertyCount {
            let property = try transaction.propertyInfo(cls.classID, at: index)
            if property.elements != nil { continue }
            ids.append(property.propertyID)
            values.append(Session.value(property.kind, 1_000_000_007 + Int64(round)))
        }
        var failure: StoreError?
        ids.withUnsafeBufferPointer { ids in
            values.withUnsafeBufferPointer { values in
                do throws(StoreError) { _ = try transaction.create(cls.classID, ids, values.baseAddress!) } catch {
                    failure = error
                }
            }
        }
        if let failure { throw failure }
    }

    private nonisolated(unsafe) static let text: UnsafePointer<UInt8> = {
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 64)
        for index in 0..<64 { bytes[index] = UInt8(97 + index % 26) }
        return UnsafePointer(bytes)
    }()

    private static func value(_ kind: ValueKind, _ number: Int64) -> Value {
        switch kind {
        case .bool: .bool(true)
        case .float: .float(Float(number))
        case .decimal128, .objectID, .uuid: Value(kind: kind, low: number, high: number & 0xffff_ffff)
        case .double: .double(Double(number))
        case .timestamp: .timestamp(seconds: number, nanoseconds: 3)
        case .string: .string(text, Int(number % 60))
        case .binary: .binary(text, Int(number % 60))
        case .link: .null
        default: .int(number)
        }
    }
}
