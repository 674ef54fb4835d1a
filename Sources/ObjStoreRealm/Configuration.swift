public import ObjStore

#if canImport(FoundationEssentials)
@_exported public import FoundationEssentials
#elseif canImport(Foundation)
@_exported public import Foundation
#endif

extension Realm {
    public typealias MigrationBlock = @Sendable (_ migration: Migration, _ oldSchemaVersion: UInt64) throws -> Void

    /// Where a store is and how it is opened. There is nothing on Linux that finds the classes of a program:
    /// ``objectTypes`` names them.
    public struct Configuration: Sendable {
        /// The store's file; nil: in memory. At first `default.objstore` in the current directory. Setting it unsets
        /// the other one.
        public var fileURL: URL? {
            didSet { if fileURL != nil, inMemoryIdentifier != nil { inMemoryIdentifier = nil } }
        }
        /// Stores of one name in this process are one store, while it is open.
        public var inMemoryIdentifier: String? {
            didSet { if inMemoryIdentifier != nil, fileURL != nil { fileURL = nil } }
        }
        public var readOnly: Bool
        /// From 0, which is the first one of ObjStore: there it is higher by one.
        public var schemaVersion: UInt64
        public var migrationBlock: MigrationBlock?
        public var deleteRealmIfMigrationNeeded: Bool
        public var shouldCompactOnLaunch: (@Sendable (_ totalBytes: Int, _ usedBytes: Int) -> Bool)?
        public var objectTypes: [Object.Type]?
        public var seedFilePath: URL?
        public var maximumNumberOfActiveVersions: UInt?

        public init(
            fileURL: URL? = URL(fileURLWithPath: "default.objstore"), inMemoryIdentifier: String? = nil,
            readOnly: Bool = false, schemaVersion: UInt64 = 0,
            migrationBlock: MigrationBlock? = nil, deleteRealmIfMigrationNeeded: Bool = false,
            shouldCompactOnLaunch: (@Sendable (Int, Int) -> Bool)? = nil, objectTypes: [Object.Type]? = nil,
            seedFilePath: URL? = nil, maximumNumberOfActiveVersions: UInt? = nil
        ) {
            self.fileURL = inMemoryIdentifier == nil ? fileURL : nil
            self.inMemoryIdentifier = inMemoryIdentifier
            self.readOnly = readOnly
            self.schemaVersion = schemaVersion
            self.migrationBlock = migrationBlock
            self.deleteRealmIfMigrationNeeded = deleteRealmIfMigrationNeeded
            self.shouldCompactOnLaunch = shouldCompactOnLaunch
            self.objectTypes = objectTypes
            self.seedFilePath = seedFilePath
            self.maximumNumberOfActiveVersions = maximumNumberOfActiveVersions
        }

        /// What `Realm()` opens, in all threads. Stores that are open stay as they are.
        public static var defaultConfiguration: Configuration {
            get { standard.withLock { $0 } }
            set { standard.withLock { $0 = newValue } }
        }
        private static let standard = Guarded(Configuration())

        /// The file's path; nil: in memory. `.invalidArgument`: a URL of another scheme, whose path is none of a file.
        var path: String? { get throws { try Configuration.path(of: fileURL) } }

        private static func path(of url: URL?) throws -> String? {
            guard let url else { return nil }
            guard url.isFileURL else {
                throw ObjStoreError(
                    .invalidArgument,
                    "\(url.absoluteString) is no URL of a file, which URL(fileURLWithPath:) makes of a path")
            }
            return url.path
        }

        func store() throws -> Store.Configuration {
            let models = objectTypes ?? []
            var result: Store.Configuration
            if let path = try path {
                result = Store.Configuration(path: path, models: models)
            } else {
                result = Store.Configuration(.memory(name: inMemoryIdentifier), models: models)
            }
            if readOnly { result.access = .readOnly }
            guard schemaVersion < .max else {
                throw ObjStoreError(.outOfRange, "schema versions end with \(UInt64.max - 1)")
            }
            result.schemaVersion = schemaVersion + 1
            result.firstSchemaVersion = 0
            if let migrationBlock {
                result.migrationBlock = { migration, version in
                    try migrationBlock(migration, version == 0 ? 0 : version - 1)
                }
            }
            result.deletesIfMigrationNeeded = deleteRealmIfMigrationNeeded
            result.compactsOnOpen = shouldCompactOnLaunch
            result.maximumNumberOfActiveVersions = maximumNumberOfActiveVersions.map { Int(clamping: $0) }
            result.seedPath = try Configuration.path(of: seedFilePath)
            return result
        }
    }
}

/// What is open: `Realm()` in each function, as is usual, opens nothing again.
enum OpenStores {
    private struct Key: Hashable {
        let location: Store.Configuration.Location
        let models: [ObjectIdentifier]
        let readOnly: Bool
        let version: UInt64
    }
    private struct Open: Sendable {
        weak var store: Store?
    }
    private static let open = Guarded<[Key: Open]>([:])

    static func store(_ configuration: Realm.Configuration) throws -> Store {
        if let store = try found(configuration) { return store }
        // Not under the lock: opening calls functions of the program.
        return try add(Store(configuration.store()), configuration)
    }

    /// The same without blocking the actor.
    static func store(_ configuration: Realm.Configuration, _ actor: isolated any Actor) async throws -> Store {
        if let store = try found(configuration) { return store }
        return try add(await Store(configuration: configuration.store(), actor: actor), configuration)
    }

    private static func key(_ configuration: Realm.Configuration) throws -> Key {
        let configured = try configuration.store()
        return Key(
            location: configured.location, models: configured.models.map { ObjectIdentifier($0) },
            readOnly: configuration.readOnly, version: configuration.schemaVersion)
    }

    private static func found(_ configuration: Realm.Configuration) throws -> Store? {
        let key = try key(configuration)
        guard let store = open.withLock({ $0[key]?.store }), !store.isClosed else { return nil }
        return store
    }

    private static func add(_ new: Store, _ configuration: Realm.Configuration) throws -> Store {
        let key = try key(configuration)
        return open.withLock { open in
            if let store = open[key]?.store, !store.isClosed { return store }
            open = open.filter { $0.value.store != nil }
            open[key] = Open(store: new)
            return new
        }
    }
}
