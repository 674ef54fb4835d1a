import CObjStore
import CSystem
import Testing

/// A transaction that leaves nothing has read the newest commit, which may not be shown yet: when it has ended, no
/// reader sees less.
@Suite struct UnchangedTransactionTests {
    private enum End: CaseIterable { case commit, cancel, close, refusedBody, duplicate }

    /// Ends a transaction without a change; returns the number that it has read.
    private func look(_ store: OpaquePointer, _ cls: ClassOf, _ end: End) throws -> Int64 {
        func number(_ view: OpaquePointer) throws -> Int64 {
            try cls.int(view, try require(try cls.find(view, objstore_int(0))), "n")
        }
        if end == .refusedBody {
            final class Seen {
                var body: (OpaquePointer) throws -> Int64; var value: Int64 = -1;
                init(_ body: @escaping (OpaquePointer) throws -> Int64) { self.body = body }
            }
            let seen = Seen(number)
            let status = objstore_write(
                store,
                { view, userdata in
                    let seen = Unmanaged<Seen>.fromOpaque(userdata!).takeUnretainedValue()
                    seen.value = (try? seen.body(view!)) ?? -1
                    return .OBJSTORE_ERR_CALLBACK
                }, Unmanaged.passUnretained(seen).toOpaque(), nil)
            #expect(status == .OBJSTORE_ERR_CALLBACK && seen.value >= 0)
            return seen.value
        }
        var tx: OpaquePointer?
        try ok(objstore_begin(store, &tx))
        let value = try number(tx!)
        switch end {
        case .commit: try ok(objstore_commit(tx, nil))
        case .close: try ok(objstore_view_close(tx))
        case .duplicate:
            #expect((try? cls.create(tx!, ["k": objstore_int(0), "n": objstore_int(1)])) == nil)
            try ok(objstore_commit(tx, nil))
        default: try ok(objstore_cancel(tx))
        }
        return value
    }

    /// Commits all the time with full durability: each of its versions can be read in a transaction before it is shown.
    private final class Writer {
        let store: OpaquePointer, cls: ClassOf
        let stop: UnsafeMutablePointer<UInt64>
        private var thread = pthread_t()

        init(_ store: OpaquePointer, _ classes: TestClass) throws {
            self.store = store
            cls = try ClassOf(store, classes)
            stop = .allocate(capacity: 1)
            stop.initialize(to: 0)
            pthread_create(
                &thread, nil,
                { argument in
                    let writer = Unmanaged<Writer>.fromOpaque(argument!).takeUnretainedValue()
                    while cs_load64(writer.stop) == 0 {
                        try! writing(writer.store) { tx in
                            try ok(
                                objstore_increment(
                                    tx, try require(try writer.cls.find(tx, objstore_int(0))), writer.cls["n"], 1, nil))
                        }
                    }
                    return nil
                }, Unmanaged.passUnretained(self).toOpaque())
        }

        func end() {
            cs_store64(stop, 1)
            pthread_join(thread, nil)
            stop.deallocate()
        }
    }

    @Test(arguments: [objstore_durability.OBJSTORE_DURABILITY_FULL, .OBJSTORE_DURABILITY_RELAXED])
    func noReaderSeesLessAfterwards(durability: objstore_durability) throws {
        let folder = TestFolder()
        let counters = TestClass(
            name: "Counter", properties: [("k", .OBJSTORE_KIND_INT, primaryKey), ("n", .OBJSTORE_KIND_INT, 0)])
        let store = try openStore(folder.store, [counters])
        let reader = try openStore(folder.store, [counters]) { config in
            try ok(objstore_config_set_durability(config, durability, 1000))
        }
        let cls = try ClassOf(reader, counters)
        try writing(store) { tx in try cls.create(tx, ["k": objstore_int(0), "n": objstore_int(0)]) }
        let writer = try Writer(store, counters)
        var wentBack = 0
        for _ in 0..<100 {
            for end in End.allCases {
                let inside = try look(reader, cls, end)
                let after = try reading(reader) { view in
                    try cls.int(view, try require(try cls.find(view, objstore_int(0))), "n")
                }
                if after < inside { wentBack += 1 }
            }
        }
        writer.end()
        #expect(wentBack == 0)
        try ok(objstore_close(reader))
        try ok(objstore_close(store))
    }
}
