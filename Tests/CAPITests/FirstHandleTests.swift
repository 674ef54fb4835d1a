import CObjStore
import Testing

/// In a process that has not used the library yet.
@Test("A configuration that is older than the first store stays usable") func configurationBeforeTheFirstStore() async {
    await #expect(processExitsWith: .success) {
        var config: OpaquePointer?, first: OpaquePointer?, second: OpaquePointer?
        try ok(objstore_config_new(&config))
        try ok(objstore_config_set_memory(config, text("")))
        try ok(objstore_open(config, &first))
        try ok(objstore_open(config, &second))
        try ok(objstore_config_close(config))
        try ok(objstore_close(first))
        try ok(objstore_close(second))
    }
}
