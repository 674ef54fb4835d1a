/// How to open a store, as requested by an application before anything is opened.
///
/// A value: the caller may change it after opening with it.
package struct StoreConfiguration: Sendable {
    package enum Place: Equatable, Sendable {
        case none
        case file(String)
        /// Stores of one name are one store; the empty name is a store of its own each time.
        case memory(String)
    }
    package enum Mode: Int32, Sendable {
        case readWrite = 0
        case readOnly = 1
        case immutable = 2
    }
    package enum Creation: Int32, Sendable {
        case ifMissing = 0
        case never = 1
        case always = 2
    }
    package enum Limit: Int32, CaseIterable, Sendable {
        case writeTimeout = 1
        case openTimeout = 2
        case valueBytes = 3
        case checkpointLogBytes = 4
        case checkpointOperations = 5
        case checkpointIdle = 6
        case logBytes = 7
        case transactionBytes = 8
        case versions = 9
        case queryBytes = 10
        case queryThreads = 11
        case observerLag = 12

        package var range: ClosedRange<Int64> {
            switch self {
            case .writeTimeout, .openTimeout: -1...Int64.max
            case .valueBytes: 1...Int64(Int32.max)
            case .checkpointLogBytes: (64 << 10)...(1 << 30)
            case .checkpointOperations: 1...Int64.max
            case .checkpointIdle: -1...Int64.max
            case .logBytes: (1 << 20)...(4 << 30)
            case .transactionBytes: (64 << 10)...(1 << 40)
            case .versions, .queryBytes, .observerLag: 1...Int64.max
            case .queryThreads: 1...Int64(QueryThreads.most)
            }
        }

        /// The default.
        var standard: Int64 {
            let options = StoreOptions()
            return switch self {
            case .writeTimeout: -1
            case .openTimeout: 30_000
            case .valueBytes: Int64(options.valueLimit)
            case .checkpointLogBytes: Int64(options.checkpointBytes)
            case .checkpointOperations: Int64(options.checkpointOperations)
            case .checkpointIdle: options.checkpointIdle < 0 ? -1 : options.checkpointIdle / 1_000_000
            case .logBytes: Int64(options.logBytesLimit)
            case .transactionBytes: Int64(options.transactionBytes)
            case .versions, .queryBytes: .max
            case .observerLag: 1_000_000
            case .queryThreads: 1
            }
        }

        /// Belongs to a handle, not to the store that several handles share.
        var isOfHandle: Bool {
            switch self {
            case .writeTimeout, .openTimeout, .versions, .queryBytes, .queryThreads, .observerLag: true
            default: false
            }
        }
    }
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        package static let deliverOnWorker = Flags(rawValue: 1)
        package static let exclusive = Flags(rawValue: 2)
        package static let withoutLog = Flags(rawValue: 4)
        /// Of the opening, and so of no interest to other openers.
        package static let deletesWhereItDiffers = Flags(rawValue: 8)
        package static let all = Flags(rawValue: 15)
    }

    package var place = Place.none
    package var mode = Mode.readWrite
    package var creation = Creation.ifMissing
    package var durability = StoreOptions.Durability.full
    /// Nil: the file is taken as it is.
    package var schema: SchemaDraft?
    package var schemaVersion: UInt64 = 1
    /// Nil: not requested, which agrees with any other handle.
    package var flags: Flags?
    package var log: LogSink?
    /// Called now and then while waiting for other writers; throws to end the wait.
    package var onWait: (@Sendable () throws(StoreError) -> Void)?
    /// Gets each failure of a handler that the store's own thread calls, since no caller waits for it.
    package var onDeliveryFailure: (@Sendable (StoreError) -> Void)?
    package var steps = OpeningSteps()
    /// A file that is made gets the access of this one.
    var accessModel: StorageFile?
    /// Only what was requested.
    package private(set) var limits: [Limit: Int64] = [:]

    package init() {}

    package mutating func set(_ limit: Limit, _ value: Int64) throws(StoreError) {
        // A checkpoint every 0 ms would never sleep.
        guard limit.range.contains(value), !(limit == .checkpointIdle && value == 0) else {
            throw StoreError(
                .outOfRange,
                """
                \(value) is not in the range of the limit \(limit): \(limit.range.lowerBound) to \
                \(limit.range.upperBound)
                """
            )
        }
        limits[limit] = value
    }

    package mutating func set(_ durability: StoreOptions.Durability) throws(StoreError) {
        if case .relaxed(let milliseconds) = durability, !(1...60_000).contains(milliseconds) {
            throw StoreError(
                .outOfRange, "relaxed commits become durable after 1 to 60000 milliseconds, not \(milliseconds)")
        }
        self.durability = durability
    }

    /// The flags that all openers of the store must agree on.
    var sharedFlags: Flags? { flags?.subtracting(.deletesWhereItDiffers) }
    /// A store with another schema is deleted and recreated.
    var deletesWhereItDiffers: Bool { flags?.contains(.deletesWhereItDiffers) ?? false }

    /// Milliseconds, or negative: for ever.
    var writeTimeout: Int64 { limits[.writeTimeout] ?? Limit.writeTimeout.standard }

    func options() -> StoreOptions {
        var options = StoreOptions()
        options.durability = durability
        if case .memory = place { options.isInMemory = true }
        options.isReadOnly = mode == .immutable
        options.isExclusive = flags?.contains(.exclusive) ?? false
        options.opensWithoutLog = flags?.contains(.withoutLog) ?? false
        options.leavesFileAlone = true
        options.creates = mode == .readWrite && creation != .never
        if let bytes = limits[.logBytes] {
            options.logBytesLimit = Int(bytes)
            options.logBytes = min(options.logBytes, Int(bytes))
        }
        if let bytes = limits[.checkpointLogBytes] { options.checkpointBytes = Int(bytes) }
        if let bytes = limits[.valueBytes] { options.valueLimit = Int(bytes) }
        if let changes = limits[.checkpointOperations] { options.checkpointOperations = Int(changes) }
        if let bytes = limits[.transactionBytes] { options.transactionBytes = Int(bytes) }
        if let idle = limits[.checkpointIdle] { options.checkpointIdle = nanoseconds(idle) }
        if let onWait { options.openCancellation = WaitCancellation(asking: onWait) }
        options.accessModel = accessModel
        options.openTimeout = nanoseconds(limits[.openTimeout] ?? Limit.openTimeout.standard)
        return options
    }
}

/// Milliseconds (negative: for ever) as the core counts; a time that does not fit is infinite.
func nanoseconds(_ milliseconds: Int64) -> Int64 {
    milliseconds < 0 || milliseconds > Int64.max / 1_000_000 ? -1 : milliseconds * 1_000_000
}

/// Where lines of log go. Called from any thread, several at a time.
package final class LogSink: Sendable {
    package enum Level: Int32, Sendable {
        case error = 1
        case warning = 2
        case info = 3
        case debug = 4
    }
    /// Lines above it are not made.
    package let level: Level
    private let body: @Sendable (Level, String) -> Void

    package init(level: Level, _ body: @escaping @Sendable (Level, String) -> Void) {
        self.level = level
        self.body = body
    }

    func write(_ level: Level, _ line: @autoclosure () -> String) {
        if level.rawValue <= self.level.rawValue { body(level, line()) }
    }
}
