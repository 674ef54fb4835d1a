import CSystem
import Testing

import ObjStoreCore

/// Functions made at run time: bound contexts, and callbacks with a signature given as text.
@Suite(.serialized) struct TrampolineTests {
    // MARK: Bound functions

    final class Context {
        let number: Int32
        var calls = 0
        var released = 0
        var bound: BoundFunction?
        init(_ number: Int32) { self.number = number }
        var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
        static func of(_ pointer: UnsafeMutableRawPointer?) -> Context {
            Unmanaged<Context>.fromOpaque(pointer!).takeUnretainedValue()
        }
    }

    /// Goes with the function.
    final class Owner {
        let context: Context
        init(_ context: Context) { self.context = context }
        deinit { context.released += 1 }
    }

    /// Adds the subject's int to the context's.
    static let add: BoundFunction.Body = { subject, userdata in
        let context = Context.of(userdata)
        context.calls += 1
        return subject!.load(as: Int32.self) + context.number
    }

    @Test func thousandsAlive() throws {
        let contexts = (0..<1000).map { Context(Int32($0) * 10) }
        var functions: [BoundFunction?] = try contexts.map {
            try BoundFunction(Self.add, userdata: $0.pointer, owner: Owner($0))
        }
        #expect(Set(functions.map { unsafeBitCast($0!.function, to: Int.self) }).count == 1000)
        var subject: Int32 = -3
        for round in 0..<3 {
            for index in functions.indices.shuffled() {
                // What is passed as the userdata argument of the call is ignored.
                #expect(functions[index]!.function(&subject, nil) == Int32(index) * 10 - 3)
            }
            #expect(contexts.allSatisfy { $0.calls == round + 1 && $0.released == 0 })
        }
        // Every second one goes; the others are as before; new ones may take the places.
        for index in stride(from: 0, to: 1000, by: 2) { functions[index] = nil }
        #expect(contexts.indices.allSatisfy { contexts[$0].released == ($0 % 2 == 0 ? 1 : 0) })
        for index in stride(from: 0, to: 1000, by: 2) {
            functions[index] = try BoundFunction(Self.add, userdata: contexts[999 - index].pointer, owner: nil)
        }
        for index in functions.indices {
            #expect(
                functions[index]!.function(&subject, contexts[0].pointer) == Int32(index % 2 == 0 ? 999 - index : index)
                    * 10 - 3)
        }
    }

    /// Negative results, and results as the status of a void-like call.
    @Test func results() throws {
        let context = Context(0)
        let bound = try BoundFunction(Self.add, userdata: context.pointer, owner: Owner(context))
        for value in [Int32.min, -1, 0, 1, 49, 10_000, Int32.max] {
            var subject = value
            #expect(bound.function(&subject, nil) == value)
        }
    }

    /// Releasing a function from inside its own call frees nothing before the call returns.
    @Test func letGoFromInside() throws {
        for depth in [1, 3] {
            let context = Context(Int32(depth))
            context.bound = try BoundFunction(
                { subject, userdata in
                    let context = Context.of(userdata)
                    context.calls += 1
                    if context.calls < Int(context.number) {
                        let inner = context.bound!.function(subject, nil)
                        return context.released == 0 ? inner + 1 : -100
                    }
                    context.bound = nil
                    return context.released == 0 ? 7 : -100
                }, userdata: context.pointer, owner: Owner(context))
            let function = context.bound!.function
            #expect(function(nil, nil) == 7 + Int32(depth) - 1)
            #expect(context.bound == nil && context.released == 1 && context.calls == depth)
        }
    }

    @Test func manyThreads() throws {
        let contexts = (0..<8).map { Context(Int32($0)) }
        let functions = try contexts.map { context in
            try BoundFunction(
                { subject, userdata in subject!.load(as: Int32.self) + Context.of(userdata).number },
                userdata: context.pointer, owner: nil)
        }
        try onThreads(4) { thread in
            for round in 0..<20_000 {
                var subject = Int32(round)
                let index = (round + thread) % 8
                if functions[index].function(&subject, nil) != Int32(round + index) {
                    Issue.record("a wrong context"); return
                }
                // Made and released while others call.
                if round % 100 == 0, let other = try? BoundFunction({ _, _ in 5 }, userdata: nil, owner: nil),
                    other.function(nil, nil) != 5
                {
                    Issue.record("a wrong function")
                }
            }
        }
    }

    // MARK: Signatures

    static func parse(_ text: String) throws -> Signature {
        var text = text
        return try text.withUTF8 { try Signature(parsing: UnsafeRawBufferPointer($0)) }
    }

    @Test(arguments: [
        ("", 0), ("   ", 3), ("i64", 3), ("i64,", 4), ("i64, ", 5), (",", 0), ("i64,,f64 -> void", 4),
        ("i32 -> void", 0), ("i64, i65 -> void", 5),
        ("I64 -> void", 0), ("i64 f64 -> void", 4), ("i64 - > void", 5), ("i64 -", 5), ("i64 > void", 4), ("i64 ->", 6),
        ("i64 -> ", 7),
        ("i64 -> i64", 7), ("i64 -> Status", 7), ("i64 -> status?", 13), ("i64 -> status, void", 13),
        ("i64 -> status x", 14), ("i64 -> void void", 12),
        ("i64?? -> void", 4), ("i64 ? ? -> void", 6), ("?i64 -> void", 0), ("key? -> void", 3), ("event ? -> void", 6),
        ("-> ", 3), ("->x", 2), ("-> -> void", 3),
        ("-", 0), ("i64 -> void\0", 11), ("i64\0 -> void", 3), ("str[] -> void", 3), ("é -> void", 0),
        ("i64, é -> void", 5), ("i64 → void", 4),
        ("(i64) -> void", 0), ("str_ -> void", 0), ("-> status;", 9), ("i64;f64 -> void", 3), ("i64.f64 -> void", 3),
    ])
    func malformed(text: String, position: Int) {
        let error = #expect(throws: StoreError.self) { try Self.parse(text) }
        #expect(
            error?.code == .invalidSignature && error?.position == position,
            "'\(text)': \(error?.position ?? -9): \(error?.message ?? "")")
        #expect(error?.message.contains("byte \(position) ") == true)
    }

    @Test func wellFormed() throws {
        for (text, words, returnsStatus) in [
            ("-> void", 0, false), ("->status", 0, true), (" \t i64?,str ,\nf64 ?->status ", 3, true),
            ("bool,i64,f64,time,str,bin,key,event->void", 8, false),
            ("bool?, i64?, f64?, time?, str?, bin? -> status", 6, true),
        ] {
            let signature = try Self.parse(text)
            #expect(signature.words.count == words && signature.returnsStatus == returnsStatus)
        }
        let signature = try Self.parse("i64 ?, str -> void")
        #expect(
            signature.words.map(\.isNullable) == [true, false] && signature.words.map(\.position) == [0, 7]
                && signature.arrow == 11)
        // 64 words, not 65.
        let many = Array(repeating: "key", count: 64).joined(separator: ",")
        #expect(try Self.parse(many + "->void").words.count == 64)
        let error = #expect(throws: StoreError.self) { try Self.parse(many + ",key->void") }
        #expect(error?.position == 256)
    }

    /// Random bytes never trap, and what fails says where.
    @Test func rubbish() {
        var random = TestRandom(99)
        let parts = [
            "i64", "f64", "str", "key", "?", ",", "->", "-", ">", " ", "void", "status", "x", "é", "event", "\0",
        ]
        for _ in 0..<20_000 {
            let text = (0..<random.below(9)).map { _ in parts[random.below(parts.count)] }.joined()
            do { _ = try Self.parse(text) } catch {
                let error = error as! StoreError
                #expect(error.code == .invalidSignature && (0...text.utf8.count).contains(error.position))
            }
        }
    }

    @Test func wordsAgainstProperties() throws {
        let cls = ObservedStore.schema().classes[0]  // id, number, text?, flag, time?, score
        func check(_ text: String, _ properties: [Int]) throws { try Self.parse(text).check(properties, of: cls) }
        try check("i64, i64, str?, bool, time?, f64 -> void", [0, 1, 2, 3, 4, 5])
        try check("key, f64, event, str? -> status", [5, 2])
        try check("-> void", [])
        for (text, properties, code, position, property) in [
            ("i64, i64 -> void", [0], StatusCode.invalidSignature, 5, nil), ("-> void", [0], .invalidSignature, 0, nil),
            ("i64 -> void", [0, 1], .invalidSignature, 4, nil),
            ("key, i64 -> void", [], .invalidSignature, 5, nil), ("f64 -> void", [0], .wrongType, 0, "id"),
            ("i64, str -> void", [0, 2], .wrongType, 5, "text"),
            ("i64? -> void", [0], .wrongType, 0, "id"), ("key, bin? -> void", [2], .wrongType, 5, "text"),
            ("i64 -> void", [3], .wrongType, 0, "flag"),
            ("time -> void", [4], .wrongType, 0, "time"), ("bool -> void", [1], .wrongType, 0, "number"),
        ] as [(String, [Int], StatusCode, Int, String?)] {
            let error = #expect(throws: StoreError.self) { try check(text, properties) }
            #expect(
                error?.code == code && error?.position == position && error?.propertyName == property,
                "'\(text)': \(error.map(String.init(describing:)) ?? "")")
            #expect(property == nil || error?.className == "Item")
        }
    }

    // MARK: Typed callbacks

    /// What one call got.
    struct Call: Equatable {
        var key: Int64 = 0, event: Int32 = 0, id: Int64 = 0
        var text: [UInt8]?, flag = false, time: [Int64]?, score = 0.0
    }
    final class Calls {
        var list: [Call] = []
        var status: Int32 = 0
    }

    @Test func nativeArguments() throws {
        let store = try ObservedStore(seed: 12, inMemory: true)
        let cls = try store.items
        let calls = Calls()
        typealias Function =
            @convention(c) (
                Int64, Int64, UnsafePointer<UInt8>?, Int64, Bool, Int32, UnsafePointer<Int64>?, Double,
                UnsafeMutableRawPointer?
            ) -> Int32
        let function: Function = { id, key, text, length, flag, event, time, score, userdata in
            let calls = Unmanaged<Calls>.fromOpaque(userdata!).takeUnretainedValue()
            calls.list.append(
                Call(
                    key: key, event: event, id: id,
                    text: text.map { Array(UnsafeBufferPointer(start: $0, count: Int(length))) }, flag: flag,
                    time: time.map { [$0[0], $0[1] & 0xffff_ffff, $0[1] >> 32] }, score: score))
            return calls.list.count == 7 && calls.status != 0 ? calls.status : 0
        }
        let callback = try TypedCallback(
            Self.parse("i64, key, str?, bool, event, time?, f64 -> status"), class: cls, properties: [0, 2, 3, 4, 5],
            function: unsafeBitCast(function, to: TypedCallback.Function.self),
            userdata: Unmanaged.passUnretained(calls).toOpaque())
        nonisolated(unsafe) var statuses: [Int32] = []
        let observer = try store.hub.observe(ObserverScope(class: cls)) { set in
            do throws(StoreError) {
                statuses.append(try callback.deliver(set, found: { _ in KeyBuffer() }))
            } catch { return error }
            return nil
        }
        var old: RowContent = [:]
        store.forget()
        var total = 0
        for round in 0..<60 {
            try store.write { _, items in for _ in 0..<8 { try store.randomOperation(items) } }
            calls.list = []
            _ = try store.hub.deliver()
            let new = try store.content(try store.database.snapshot())
            let expected = store.expected()
            func call(_ key: Int64, _ event: Int32) -> Call {
                let row = new[key]!
                var call = Call(key: key, event: event)
                if case .int(let id) = row[0] { call.id = id }
                if case .text(let text) = row[2] { call.text = text }
                if case .bool(let flag) = row[3] { call.flag = flag }
                if case .timestamp(let seconds, let nanoseconds) = row[4] { call.time = [seconds, nanoseconds, 0] }
                if case .double(let bits) = row[5] { call.score = Double(bitPattern: bits) }
                return call
            }
            // Changes of `number` alone concern no observer.
            let modified = expected.modified.filter { $0.value & 0b111101 != 0 }.keys.sorted()
            #expect(
                calls.list == expected.inserted.map { call($0, 2) } + modified.map { call($0, 3) }, "round \(round)")
            total += calls.list.count
            old = new
            store.forget()
        }
        #expect(total > 150 && statuses.allSatisfy { $0 == 0 } && !old.isEmpty)
        // A status ends the change set.
        calls.list = []
        calls.status = -5
        try store.write { _, items in for _ in 0..<20 { try store.create(items) } }
        _ = try store.hub.deliver()
        #expect(calls.list.count == 7 && statuses.last == -5)
        observer.close()
        try store.close()
    }

    /// Values that are not null, and "?" of every number; an empty text that is not null.
    @Test func nullableNumbers() throws {
        let properties = [
            PropertySchema(name: "b", kind: .bool, columnID: 0, isNullable: true),
            PropertySchema(name: "i", kind: .int, columnID: 1, isNullable: true),
            PropertySchema(name: "d", kind: .double, columnID: 2, isNullable: true),
            PropertySchema(name: "x", kind: .binary, columnID: 3),
            PropertySchema(name: "t", kind: .timestamp, columnID: 4),
        ]
        let cls = ClassSchema(name: "N", id: 0, properties: properties, nextColumnID: 5)
        let database = try Database.open(
            "",
            options: {
                var o = StoreOptions(); o.isInMemory = true; return o
            }(), machine: RealMachine.shared)
        let first = try WriteTransaction.begin(database)
        try first.setSchema(Schema(classes: [cls], version: 1))
        try first.commit()
        let hub = ObserverHub(database)
        final class Seen { var lines: [String] = [] }
        let seen = Seen()
        typealias Function =
            @convention(c) (
                UnsafePointer<Bool>?, UnsafePointer<Int64>?, UnsafePointer<Double>?, UnsafePointer<UInt8>?, Int64,
                Int64, Int32, UnsafeMutableRawPointer?
            ) -> Void
        let function: Function = { b, i, d, x, length, seconds, nanoseconds, userdata in
            let seen = Unmanaged<Seen>.fromOpaque(userdata!).takeUnretainedValue()
            seen.lines.append(
                """
                \(b?.pointee.description ?? "-") \(i?.pointee.description ?? "-") \(d?.pointee.description ?? "-") \
                \(x != nil) \(length) \(seconds).\(nanoseconds)
                """
            )
        }
        let callback = try TypedCallback(
            Self.parse("bool?, i64?, f64?, bin, time -> void"), class: cls, properties: [0, 1, 2, 3, 4],
            function: unsafeBitCast(function, to: TypedCallback.Function.self),
            userdata: Unmanaged.passUnretained(seen).toOpaque())
        let observer = try hub.observe(ObserverScope(class: cls)) { set in
            do throws(StoreError) { _ = try callback.deliver(set, found: { _ in KeyBuffer() }) } catch {
                return error
            }
            return nil
        }
        let transaction = try WriteTransaction.begin(database)
        for row in [
            [.bool(true), .int(-9), .double(2.5), .binary(nil, 0), .timestamp(seconds: -1, nanoseconds: 999_999_999)],
            [.null, .null, .null, .binary(nil, 0), .timestamp(seconds: 0, nanoseconds: 0)],
            [.bool(false), .int(.max), .double(-0.0), .binary(nil, 0), .timestamp(seconds: .max, nanoseconds: 1)],
        ] as [[Value]] { _ = try row.withUnsafeBufferPointer { try transaction.state(0).create($0.baseAddress!) } }
        try transaction.commit()
        #expect(try hub.deliver() == 1)
        #expect(
            seen.lines == [
                "true -9 2.5 true 0 -1.999999999", "- - - true 0 0.0",
                "false 9223372036854775807 -0.0 true 0 9223372036854775807.1",
            ])
        observer.close()
        try hub.close()
        try database.close()
    }
}
