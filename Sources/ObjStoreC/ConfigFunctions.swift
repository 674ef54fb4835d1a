internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// A configuration, behind its handle. Looked at and changed under a lock that a fork takes: it lives on in the child.
final class ConfigBox {
    var configuration = StoreConfiguration()
    var callbacks = OpeningCallbacks()

    /// What `objstore_open_default` opens.
    nonisolated(unsafe) static let standard = {
        let box = ConfigBox()
        box.become(standardPlace, OpeningCallbacks())
        return box
    }()
    static var standardPlace: StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.place = .file("default.objstore")
        return configuration
    }

    func become(_ configuration: StoreConfiguration, _ callbacks: OpeningCallbacks) {
        // The old one is released without the lock: the application may be called.
        let old = ConfigLock.withLock {
            defer { (self.configuration, self.callbacks) = (configuration, callbacks) }
            return (self.configuration, self.callbacks)
        }
        withExtendedLifetime(old) {}
    }

    var content: (StoreConfiguration, OpeningCallbacks) { ConfigLock.withLock { (configuration, callbacks) } }
}

/// Of schemas and configurations, all of them: for a few instructions.
enum ConfigLock {
    static func withLock<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        cs_global_lock(Int32(CS_LOCK_CONFIGS))
        defer { cs_global_unlock(Int32(CS_LOCK_CONFIGS)) }
        return try body()
    }
}

private func change(
    _ config: OpaquePointer?, _ body: (inout StoreConfiguration) throws(StoreError) -> Void
) -> objstore_status {
    use(config) { (box) throws(StoreError) in try body(&box.configuration) }
}

private func use(_ config: OpaquePointer?, _ body: (ConfigBox) throws(StoreError) -> Void) -> objstore_status {
    Handles.use(config, .config, "config") { (box: ConfigBox) throws(StoreError) in
        // The old one is released without the lock: the application may be called.
        let old = box.content
        defer { withExtendedLifetime(old) {} }
        try ConfigLock.withLock { () throws(StoreError) in try body(box) }
    }
}

@c @implementation
public func objstore_config_new(_ config: UnsafeMutablePointer<OpaquePointer?>?) -> objstore_status {
    newHandle(config, "config", .config) { ConfigBox() }
}

@c @implementation
public func objstore_set_default(_ config: OpaquePointer?) -> objstore_status {
    guard config != nil else {
        ConfigBox.standard.become(ConfigBox.standardPlace, OpeningCallbacks())
        return .OBJSTORE_OK
    }
    return Handles.use(config, .config, "config") { (box: ConfigBox) throws(StoreError) in
        let (configuration, callbacks) = box.content
        ConfigBox.standard.become(configuration, callbacks)
    }
}

/// A path: text without NUL bytes.
func path(_ text: objstore_text, _ argument: StaticString = "path") throws(StoreError) -> String {
    try naming(argument) { () throws(StoreError) in
        let path = try name(text)
        if path.utf8.contains(0) { throw StoreError(.invalidArgument, "it contains a NUL byte") }
        return path
    }
}

@c @implementation
public func objstore_config_set_path(_ config: OpaquePointer?, _ path: objstore_text) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in configuration.place = .file(try ObjStoreC.path(path)) }
}

@c @implementation
public func objstore_config_set_memory(_ config: OpaquePointer?, _ name: objstore_text) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in
        configuration.place = .memory(try naming("name") { () throws(StoreError) in try string(name) })
    }
}

@c @implementation
public func objstore_config_set_mode(_ config: OpaquePointer?, _ mode: objstore_mode) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in
        guard let mode = StoreConfiguration.Mode(rawValue: mode.rawValue) else {
            throw StoreError(.invalidArgument, "mode \(mode.rawValue) has no name")
        }
        configuration.mode = mode
    }
}

@c @implementation
public func objstore_config_set_creation(_ config: OpaquePointer?, _ creation: objstore_creation) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in
        guard let creation = StoreConfiguration.Creation(rawValue: creation.rawValue) else {
            throw StoreError(.invalidArgument, "creation \(creation.rawValue) has no name")
        }
        configuration.creation = creation
    }
}

@c @implementation
public func objstore_config_set_durability(
    _ config: OpaquePointer?, _ durability: objstore_durability, _ relaxed_ms: Int64
) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in
        switch durability {
        case .OBJSTORE_DURABILITY_FULL: try configuration.set(.full)
        case .OBJSTORE_DURABILITY_RELAXED:
            try naming("relaxed_ms") { () throws(StoreError) in
                try configuration.set(.relaxed(milliseconds: Int(relaxed_ms)))
            }
        case .OBJSTORE_DURABILITY_NONE: try configuration.set(.none)
        default: throw StoreError(.invalidArgument, "durability \(durability.rawValue) has no name")
        }
    }
}

@c @implementation
public func objstore_config_set_schema(
    _ config: OpaquePointer?, _ schema: OpaquePointer?, _ version: UInt64
) -> objstore_status {
    var draft: SchemaDraft?
    if schema != nil {
        let result = Handles.use(schema, .schema, "schema", place: Int32(CS_PLACE_ARGUMENT)) {
            (box: SchemaBox) throws(StoreError) in
            draft = ConfigLock.withLock { box.draft }
        }
        if result != .OBJSTORE_OK {
            // The first argument first.
            let first = Handles.use(config, .config, "config") { (_: ConfigBox) throws(StoreError) in }
            return first != .OBJSTORE_OK
                ? first : Handles.use(schema, .schema, "schema") { (_: SchemaBox) throws(StoreError) in }
        }
    }
    return change(config) { (configuration) throws(StoreError) in
        guard version > 0 else { throw StoreError(.outOfRange, "version is 0: versions of a schema begin with 1") }
        configuration.schema = draft
        configuration.schemaVersion = version
    }
}

@c @implementation
public func objstore_config_set_seed(_ config: OpaquePointer?, _ path: objstore_text) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in
        let path = try naming("path") { () throws(StoreError) in try string(path) }
        if path.utf8.contains(0) { throw StoreError(.invalidArgument, "path: it contains a NUL byte") }
        configuration.steps.seed = path.isEmpty ? nil : path
    }
}

@c @implementation
public func objstore_config_set_seed_sha256(_ config: OpaquePointer?, _ digest: objstore_text) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in
        configuration.steps.seedDigest = try naming("digest") { () throws(StoreError) in try SHA256(try string(digest))
        }
    }
}

@c @implementation
public func objstore_config_set_initial_data(
    _ config: OpaquePointer?, _ fill: objstore_initial_data?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    return use(config) { (box) throws(StoreError) in box.callbacks.initialData = fill.map { ($0, userdata) } }
}

@c @implementation
public func objstore_config_set_migration(
    _ config: OpaquePointer?, _ migrate: objstore_migration?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    return use(config) { (box) throws(StoreError) in box.callbacks.migration = migrate.map { ($0, userdata) } }
}

@c @implementation
public func objstore_config_set_compaction(
    _ config: OpaquePointer?, _ decide: objstore_compaction?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    return use(config) { (box) throws(StoreError) in box.callbacks.compaction = decide.map { ($0, userdata) } }
}

@c @implementation
public func objstore_config_set_limit(
    _ config: OpaquePointer?, _ limit: objstore_limit, _ value: Int64
) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in
        guard let limit = StoreConfiguration.Limit(rawValue: limit.rawValue) else {
            throw StoreError(.invalidArgument, "limit \(limit.rawValue) has no name")
        }
        try naming("value") { () throws(StoreError) in try configuration.set(limit, value) }
    }
}

@c @implementation
public func objstore_config_set_flags(_ config: OpaquePointer?, _ flags: UInt32) -> objstore_status {
    change(config) { (configuration) throws(StoreError) in
        try check(flags: flags, known: StoreConfiguration.Flags.all.rawValue)
        configuration.flags = StoreConfiguration.Flags(rawValue: flags)
    }
}

@c @implementation
public func objstore_config_set_log(
    _ config: OpaquePointer?, _ level: objstore_log_level, _ handler: objstore_log_handler?,
    _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    return change(config) { (configuration) throws(StoreError) in
        guard let level = LogSink.Level(rawValue: level.rawValue) else {
            throw StoreError(.invalidArgument, "level \(level.rawValue) has no name")
        }
        guard let handler else {
            configuration.log = nil
            return
        }
        nonisolated(unsafe) let function = handler
        configuration.log = LogSink(level: level) { level, line in
            Userdata.silently {
                line.withCString { function(objstore_log_level(rawValue: level.rawValue)!, $0, userdata.pointer) }
            }
        }
    }
}

@c @implementation
public func objstore_config_set_wait(
    _ config: OpaquePointer?, _ handler: objstore_wait_handler?, _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    return change(config) { (configuration) throws(StoreError) in
        guard let handler else {
            configuration.onWait = nil
            return
        }
        nonisolated(unsafe) let function = handler
        configuration.onWait = { () throws(StoreError) in
            let status = try userdata.callSilently(function)
            if status != .OBJSTORE_OK { throw cancelled(by: "wait", status) }
        }
    }
}

@c @implementation
public func objstore_config_close(_ config: OpaquePointer?) -> objstore_status {
    Handles.close(config, .config, "config")
}
