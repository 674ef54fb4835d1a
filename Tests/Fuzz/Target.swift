import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// What a case is given to.
enum Target: String, CaseIterable {
    case store, log, lock, signature, json, nested, query, bound

    /// Made of a store's files.
    var isFile: Bool { self == .store || self == .log || self == .lock }

    /// Runs one case; returns what the library said, in a word.
    func run(_ seed: UInt64, _ subjects: [Subject], _ folder: String) -> String {
        var mutation = Mutation(random: RandomNumbers(seed: seed &* 0x9e37_79b9))
        switch self {
        case .store, .log, .lock:
            // Half of them get past hashes because these fit, the others because they are not compared: trees that
            // contain themselves have no hashes that fit.
            let isForged = seed % 2 == 0
            InjectedBug.set(.hashUnchecked, !isForged)
            let some = subjects.filter { self == .store || $0.log != nil },
                original = some[Int(seed / 2 % UInt64(some.count))]
            var subject = original
            for _ in 0..<(1 + mutation.random.below(4)) { change(&subject, &mutation, isForged) }
            if isForged, self == .store { original.forged?.seal(&subject.store) }
            if self != .lock { subject.lock = nil }
            return answer(subject, folder, isLong: seed % 16 < 2, isRead: seed % 8 < 2)
        case .signature: return signature(&mutation.random)
        case .bound: return BoundCase.run(&mutation.random)
        case .nested: return NestedCase.run(&mutation.random)
        case .query:
            if seed % 128 == 0 { return QueryCase.monster(Int(seed / 128)) }
            return QueryCase.run(&mutation.random)
        case .json: return JSONCase.random(&mutation.random).withUnsafeBytes { JSONCase.run($0) }
        }
    }

    private func change(_ subject: inout Subject, _ mutation: inout Mutation<RandomNumbers>, _ isForged: Bool) {
        switch self {
        case .store: mutation.changeStore(&subject)
        case .log: if isForged { mutation.forgeLog(&subject) } else { mutation.changeLog(&subject) }
        default: mutation.changeLock(&subject)
        }
    }

    /// - Parameters:
    ///   - isLong: it is opened a second time, and compacted.
    ///   - isRead: what is salvaged of it is read as well.
    private func answer(_ subject: Subject, _ folder: String, isLong: Bool, isRead: Bool) -> String {
        let path = folder + "/case"
        subject.write(path)
        // Before anybody recovers it.
        if self != .lock { salvage(path, folder + "/salvaged", reads: isRead) }
        do throws(StoreError) {
            try Session(path: path, isWriting: true, rounds: isLong ? 2 : 1, samples: Subject.samples, compacts: isLong)
                .run()
        } catch { return "\(error.code)" }
        return "sound"
    }

    /// Checked and salvaged as files; what a salvage makes must be a sound store, which opens. Returns whether nothing
    /// was lost.
    @discardableResult
    func salvage(_ path: String, _ target: String, reads: Bool = true, _ transcript: Transcript? = nil) -> Bool {
        for suffix in ["", "-log", "-lock"] { unlink(target + suffix) }
        var findings = 0
        let result: StoreFiles.Salvaged, isUnchecked = InjectedBug.active(.hashUnchecked)
        do throws(StoreError) {
            _ = try StoreFiles.verify(path, progress: { (_, _) throws(StoreError) in }) { (_) throws(StoreError) in
                findings += 1
            }
            result = try StoreFiles.salvage(path, to: target, progress: { (_, _) throws(StoreError) in }) {
                (_) throws(StoreError) in findings += 1
            }
        } catch {
            return false
        }
        do throws(StoreError) {
            if reads {
                try Session(
                    path: target, isWriting: false, rounds: 1, samples: Subject.samples, verifies: false,
                    transcript: transcript
                ).run()
            }
        } catch {
            fatalError("what was salvaged of \(path) is damaged: \(error)")
        }
        InjectedBug.set(.hashUnchecked, false)
        defer { InjectedBug.set(.hashUnchecked, isUnchecked) }
        var wrong: [String] = []
        do throws(StoreError) {
            _ = try StoreFiles.verify(target, progress: { (_, _) throws(StoreError) in }) {
                (entry) throws(StoreError) in if case .finding(let text) = entry { wrong.append(text) }
            }
        } catch { wrong.append("\(error)") }
        if !wrong.isEmpty { fatalError("what was salvaged of \(path) is not sound: \(wrong.prefix(3))") }
        return result.losses == 0
    }

    private func signature(_ random: inout some NumberSource) -> String {
        let words = [
            "bool", "i64", "f64", "time", "str", "bin", "key", "event", "?", ",", "->", "status", "void", " ", "\t",
            "-", ">", "x", "é", "\0",
        ]
        var text: [UInt8] = []
        for _ in 0..<random.below(random.chance(0.1) ? 300 : 12) {
            text += Array(words[random.below(words.count)].utf8)
        }
        if random.chance(0.5) { text += Array("-> status".utf8) }
        for _ in 0..<random.below(3) where !text.isEmpty {
            text[random.below(text.count)] = UInt8(truncatingIfNeeded: random.next())
        }
        return text.withUnsafeBytes { bytes in
            do throws(StoreError) {
                _ = try Signature(parsing: bytes)
                return "parsed"
            } catch {
                return "\(error.code)"
            }
        }
    }
}

extension Mutation {
    mutating func changeStore(_ subject: inout Subject) {
        // Every extent as often as any other: nodes are small, and most of a file is in parts of leaves.
        if random.chance(0.05) {
            change(&subject.store, random.chance(0.5) ? 0..<512 : 4096..<4608, within: 0..<8192)
        } else {
            change(
                &subject.store, subject.extents[random.below(subject.extents.count)],
                within: 12288..<max(12288, subject.store.count))
        }
    }

    mutating func changeLog(_ subject: inout Subject) {
        // Up to where the last record ends.
        let end = max(8192, subject.log!.lastIndex { $0 != 0 } ?? 0)
        let record = 4096 + random.below(max(1, (end - 4096) / 512)) * 512
        change(&subject.log!, record..<record + 512, within: 4096..<end)
    }

    /// Operations are left out, done again, done elsewhere, changed, made up; chain and hashes are right.
    mutating func forgeLog(_ subject: inout Subject) {
        guard let log = subject.log, var forged = try? ForgedLog(store: subject.store, log: log),
            !forged.records.isEmpty
        else { return }
        let number = random.below(forged.records.count)
        var ranges = forged.operations(forged.records[number])
        let ops = forged.records[number].ops
        var pieces = ranges.map { Array(ops[$0]) }
        switch random.below(pieces.isEmpty ? 1 : 7) {
        case 0: pieces.insert(Invention.operations(&random, forged.schema), at: random.below(pieces.count + 1))
        case 1: pieces.remove(at: random.below(pieces.count))
        case 2: pieces.insert(pieces[random.below(pieces.count)], at: random.below(pieces.count + 1))
        case 3: pieces.swapAt(random.below(pieces.count), random.below(pieces.count))
        case 4:
            let other = forged.records[random.below(forged.records.count)]
            ranges = forged.operations(other)
            if !ranges.isEmpty {
                pieces.insert(Array(other.ops[ranges[random.below(ranges.count)]]), at: random.below(pieces.count + 1))
            }
        default:
            let piece = random.below(pieces.count), at = random.below(pieces[piece].count)
            pieces[piece][at] =
                random.chance(0.5)
                ? UInt8(truncatingIfNeeded: random.next()) : pieces[piece][at] &+ [1, 0xff, 0x80, 2][random.below(4)]
        }
        forged.records[number].ops = Array(pieces.joined())
        forged.write(into: &subject.log!)
    }

    mutating func changeLock(_ subject: inout Subject) {
        guard let lock = subject.lock, lock.count > 4096 else { return }
        if random.chance(0.2) { return changePieces(&subject.lock!, header: 0) }
        change(&subject.lock!, random.chance(0.7) ? 0..<2048 : 2048..<4096, within: 0..<lock.count)
    }
}

/// Operations of a log that were never done, mostly with what the schema has.
enum Invention {
    static func operations<R: NumberSource>(_ random: inout R, _ schema: Schema) -> [UInt8] {
        if schema.classes.isEmpty { return [] }
        let ops = ForgedOps(), builder = DocumentBuilder()
        let cls = random.below(schema.classes.count), schemaOfClass = schema.classes[cls]
        // One that was dropped has none.
        let hasProperties = !schemaOfClass.properties.isEmpty
        let key: Int64 =
            random.chance(0.8) ? Int64(random.below(30)) : [-1, 1 << 12, 1 << 62, .max, .min][random.below(5)]
        func column(_ random: inout R) -> Int { random.below(schemaOfClass.properties.count) }
        switch hasProperties ? random.below(6) : 3 {
        case 0:
            var values: [Value] = []
            for property in schemaOfClass.properties {
                values.append(
                    random.chance(0.95)
                        ? value(property.kind, property.isNullable, &random, builder) : any(&random, builder))
            }
            ops.create(UInt64(cls), random.chance(0.7) ? 100 &+ key : key, values)
        case 1, 2:
            var changes: [(column: UInt64, value: Value)] = []
            for _ in 0..<(1 + random.below(3)) {
                let property = schemaOfClass.properties[column(&random)]
                changes.append(
                    (
                        UInt64(property.columnID),
                        random.chance(0.8)
                            ? value(property.kind, property.isNullable, &random, builder) : any(&random, builder)
                    ))
            }
            if random.chance(0.3) { changes.append(changes[0]) }
            ops.update(UInt64(cls), key, changes)
        case 3: ops.delete(UInt64(random.chance(0.95) ? cls : 99), key)
        case 4:
            let property = schemaOfClass.properties[column(&random)]
            guard let elements = property.elements else { break }
            var keys: [Value] = [], values: [Value] = []
            for _ in 0..<random.below(4) {
                if elements.keyKind != .null { keys.append(value(elements.keyKind, false, &random, builder)) }
                values.append(value(elements.kind, elements.isNullable, &random, builder))
            }
            ops.splice(
                UInt64(cls), key, UInt64(property.columnID), at: UInt64(random.below(5)),
                removed: UInt64(random.below(3)), keys: keys, values)
        default:
            guard let property = schemaOfClass.properties.first(where: { $0.kind == .mixed }) else { break }
            let node = Array(UnsafeRawBufferPointer(start: builder.node.baseAddress, count: builder.node.count))
            let path: [MixedStep] = (0..<(1 + random.below(3))).map { _ in .index(random.below(4)) }
            ops.edit(
                UInt64(cls), key, UInt64(property.columnID), path, random.chance(0.5) ? .set : .insert,
                node.isEmpty ? [2, 1] : node)
        }
        return withExtendedLifetime(builder) { ops.bytes }
    }

    private static func value<R: NumberSource>(
        _ kind: ValueKind, _ isNullable: Bool, _ random: inout R, _ builder: DocumentBuilder
    ) -> Value {
        if isNullable, random.chance(0.3) { return .null }
        switch kind {
        case .bool: return .bool(random.chance(0.5))
        case .float: return .float(Float(random.below(9)))
        case .double: return .double(Double(random.below(9)))
        case .timestamp: return .timestamp(seconds: Int64(random.below(9)), nanoseconds: 1)
        case .string, .binary: return Value(kind: kind, pointer: UnsafeRawPointer(text), count: random.below(9))
        case .link: return Value(kind: .link, low: random.chance(0.95) ? Int64(random.below(30)) : -1)
        case .mixed:
            if builder.node.isEmpty {
                try? builder.append(
                    random.chance(0.5)
                        ? .int(Int64(random.below(9)))
                        : .link(
                            ObjectID(classID: UInt32(1 + random.below(4)), storeTag: 0, key: Int64(random.below(30)))))
            }
            return Value(kind: .mixed, pointer: builder.node.baseAddress, count: builder.node.count)
        case .list, .set, .map: return Value(kind: kind)
        default: return Value(kind: kind, low: Int64(random.below(30)), high: kind == .int ? 0 : Int64(random.below(3)))
        }
    }

    private static func any<R: NumberSource>(_ random: inout R, _ builder: DocumentBuilder) -> Value {
        value(ValueKind(rawValue: UInt8(random.below(17))) ?? .null, true, &random, builder)
    }

    private nonisolated(unsafe) static let text: UnsafePointer<UInt8> = {
        let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: 16)
        for index in 0..<16 { bytes[index] = UInt8(97 + index) }
        return UnsafePointer(bytes)
    }()
}
