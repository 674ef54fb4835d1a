/// The kinds of failure, with the numbers of `objstore_status` in `include/objstore.h` (checked by a test).
public enum StatusCode: Int32, Sendable {
    case ok = 0
    case invalidArgument = 1
    case closedHandle = 2
    case wrongKind = 3
    case wrongStore = 4
    case wrongView = 5
    case noSuchClass = 6
    case noSuchProperty = 7
    case noSuchObject = 8
    case wrongType = 9
    case notNullable = 10
    case missingValue = 11
    case nullValue = 12
    case invalidUTF8 = 13
    case valueTooLarge = 14
    case outOfRange = 15
    case noPrimaryKey = 16
    case duplicateKey = 17
    case keyImmutable = 18
    case notPositioned = 19
    case invalidSignature = 20
    case invalidQuery = 21
    case notSupported = 22
    case noSuchIndex = 23
    case embedded = 24
    case invalidJSON = 25

    case notInWrite = 40
    case alreadyInWrite = 41
    case inCallback = 42
    case busy = 43
    case timeout = 44
    case readOnly = 45
    case tooManyReaders = 46
    case forked = 47
    case cancelled = 48
    case callback = 49
    case tooManyVersions = 50
    case versionGone = 51

    case outOfMemory = 60
    case outOfSpace = 61
    case io = 62
    case outcomeUnknown = 63
    case poisoned = 64
    case replaced = 65

    case notFound = 80
    case alreadyExists = 81
    case notAStore = 82
    case corrupt = 83
    case versionMismatch = 84
    case incompatibleFileSystem = 85
    case needsLog = 86
    case configMismatch = 87
    case invalidSchema = 88
    case schemaMismatch = 89

    case internalError = 99
    /// A sync failed. Never leaves the core: waiting callers get `outcomeUnknown`, later ones `poisoned`.
    case syncFailed = 1000
}
