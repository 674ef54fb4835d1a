import CObjStore
import Testing

/// Observers that stay behind: how far that is can be asked, and there is a limit.
@Suite struct ObserverLagTests {
    private final class Heard {
        var flags: [UInt32] = []
        var deletions = 0, insertions = 0
    }

    private let dogs = TestClass(name: "Dog", properties: [("age", .OBJSTORE_KIND_INT, 0)])

    private let hear: objstore_change_handler = { changes, userdata in
        let heard = Unmanaged<Heard>.fromOpaque(userdata!).takeUnretainedValue()
        var info = objstore_changes_info_init()
        let status = objstore_changes_get_info(changes, &info)
        heard.flags.append(info.flags)
        heard.insertions += Int(info.insertion_count)
        heard.deletions += Int(info.deletion_count)
        return status
    }

    @Test func lag() throws {
        let store = try openStore(nil, [dogs]) {
            try ok(objstore_config_set_limit($0, .OBJSTORE_LIMIT_OBSERVER_LAG, 3))
        }
        let dog = try ClassOf(store, dogs), heard = Heard()
        let userdata = Unmanaged.passUnretained(heard).toOpaque()
        var token: OpaquePointer?, lag: UInt64 = 99
        try ok(objstore_observe(store, dog.id, 0, hear, userdata, nil, &token))
        try ok(objstore_token_lag(token, &lag))
        #expect(lag == 0)
        for expected in 1...3 as ClosedRange<UInt64> {
            try writing(store) { _ = try dog.create($0, ["age": objstore_int(Int64(expected))]) }
            try ok(objstore_token_lag(token, &lag))
            #expect(lag == expected)
        }
        // Up to the limit nothing is lost.
        try ok(objstore_deliver(store, nil))
        try ok(objstore_token_lag(token, &lag))
        #expect(lag == 0 && heard.flags.count == 1 && heard.insertions == 3)
        #expect(heard.flags[0] & UInt32(OBJSTORE_CHANGES_LOST) == 0)
        // Beyond it the next change set says that everything has to be looked at anew, once.
        for age in 0..<5 as Range<Int64> { try writing(store) { _ = try dog.create($0, ["age": objstore_int(age)]) } }
        try ok(objstore_token_lag(token, &lag))
        #expect(lag == 5)
        try ok(objstore_deliver(store, nil))
        #expect(heard.flags.count == 2 && heard.insertions == 3 && heard.deletions == 0)
        #expect(heard.flags[1] & UInt32(OBJSTORE_CHANGES_LOST) != 0)
        try ok(objstore_token_lag(token, &lag))
        #expect(lag == 0)
        try writing(store) { _ = try dog.create($0, ["age": objstore_int(1)]) }
        try ok(objstore_deliver(store, nil))
        #expect(heard.flags.count == 3 && heard.flags[2] & UInt32(OBJSTORE_CHANGES_LOST) == 0 && heard.insertions == 4)
        #expect(objstore_token_lag(nil, &lag) == .OBJSTORE_ERR_INVALID_ARGUMENT)
        #expect(objstore_token_lag(token, nil) == .OBJSTORE_ERR_INVALID_ARGUMENT)
        try ok(objstore_token_close(token))
        #expect(objstore_token_lag(token, &lag) == .OBJSTORE_ERR_CLOSED_HANDLE)
        try ok(objstore_close(store))
        withExtendedLifetime(heard) {}
    }
}
