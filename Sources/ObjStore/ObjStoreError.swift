internal import ObjStoreCore

/// What went wrong: a code to decide by, a message to read, and the class and property it is about.
///
/// Every failure of the library is one of these. A code works as a pattern:
/// ```swift
/// do { try store.write { … } }
/// catch ObjStoreError.Code.duplicateKey { … }
/// ```
public struct ObjStoreError: Error, Sendable, Equatable {
    /// The kinds of failure; the numbers are those of `objstore_status` in C.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: Int32
        public init(rawValue: Int32) { self.rawValue = rawValue }

        public static let invalidArgument = Code(rawValue: 1)
        public static let closedHandle = Code(rawValue: 2)
        public static let wrongKind = Code(rawValue: 3)
        /// The object belongs to another store.
        public static let wrongStore = Code(rawValue: 4)
        /// A frozen object or snapshot was used where only a live one will do, or the other way round.
        public static let wrongView = Code(rawValue: 5)
        public static let noSuchClass = Code(rawValue: 6)
        public static let noSuchProperty = Code(rawValue: 7)
        /// The object was deleted, or its creation rolled back.
        public static let noSuchObject = Code(rawValue: 8)
        public static let wrongType = Code(rawValue: 9)
        public static let notNullable = Code(rawValue: 10)
        /// A property without a default got no value.
        public static let missingValue = Code(rawValue: 11)
        public static let nullValue = Code(rawValue: 12)
        public static let invalidUTF8 = Code(rawValue: 13)
        public static let valueTooLarge = Code(rawValue: 14)
        public static let outOfRange = Code(rawValue: 15)
        /// The class has no primary key, which was needed.
        public static let noPrimaryKey = Code(rawValue: 16)
        /// An object with the same primary key, or the same unique values, exists.
        public static let duplicateKey = Code(rawValue: 17)
        /// The primary key of a managed object cannot be changed.
        public static let keyImmutable = Code(rawValue: 18)
        public static let notPositioned = Code(rawValue: 19)
        public static let invalidSignature = Code(rawValue: 20)
        public static let invalidQuery = Code(rawValue: 21)
        public static let notSupported = Code(rawValue: 22)
        /// The class has no index of these properties.
        public static let noSuchIndex = Code(rawValue: 23)
        /// An embedded object has exactly one parent, in which it is made.
        public static let embedded = Code(rawValue: 24)
        /// A JSON text that is none; `position` is the byte.
        public static let invalidJSON = Code(rawValue: 25)
        /// Only a write can change managed objects.
        public static let notInWrite = Code(rawValue: 40)
        public static let alreadyInWrite = Code(rawValue: 41)
        public static let inCallback = Code(rawValue: 42)
        public static let busy = Code(rawValue: 43)
        public static let timeout = Code(rawValue: 44)
        public static let readOnly = Code(rawValue: 45)
        public static let tooManyReaders = Code(rawValue: 46)
        public static let tooManyVersions = Code(rawValue: 50)
        public static let versionGone = Code(rawValue: 51)
        /// The store was opened before `fork`.
        public static let forked = Code(rawValue: 47)
        public static let cancelled = Code(rawValue: 48)
        public static let callback = Code(rawValue: 49)
        public static let outOfMemory = Code(rawValue: 60)
        public static let outOfSpace = Code(rawValue: 61)
        public static let io = Code(rawValue: 62)
        /// The commit may or may not survive; the store is read-only until it is reopened.
        public static let outcomeUnknown = Code(rawValue: 63)
        public static let poisoned = Code(rawValue: 64)
        /// The store's file was deleted or moved away, or another one has its place: close the store and open it again.
        public static let replaced = Code(rawValue: 65)
        public static let notFound = Code(rawValue: 80)
        public static let alreadyExists = Code(rawValue: 81)
        public static let notAStore = Code(rawValue: 82)
        public static let corrupt = Code(rawValue: 83)
        public static let versionMismatch = Code(rawValue: 84)
        public static let incompatibleFileSystem = Code(rawValue: 85)
        public static let needsLog = Code(rawValue: 86)
        public static let configMismatch = Code(rawValue: 87)
        public static let invalidSchema = Code(rawValue: 88)
        public static let schemaMismatch = Code(rawValue: 89)
        public static let internalError = Code(rawValue: 99)
    }

    public let code: Code
    public let message: String
    /// The class that the error is about, where there is one.
    public let className: String?
    /// The property that the error is about, where there is one.
    public let propertyName: String?
    /// UTF-8 offset in the query that was refused; nil where the error is not about a query.
    public let position: Int?
    /// What a function threw that a query called (``Store/defineFunction(_:_:)``); the code is `.callback`.
    public var cause: (any Error)? { thrown.error }
    private let thrown: Thrown

    /// Errors are equal by what they say.
    private struct Thrown: Sendable, Equatable {
        let error: (any Error)?
        static func == (left: Thrown, right: Thrown) -> Bool { true }
    }

    package init(
        _ code: Code, _ message: String, class className: String? = nil, property: String? = nil, position: Int? = nil
    ) {
        self.code = code
        self.message = message
        self.className = className
        propertyName = property
        self.position = position
        thrown = Thrown(error: nil)
    }

    init(_ error: StoreError) {
        code = Code(rawValue: error.code.rawValue)
        message = error.message
        className = error.className
        propertyName = error.propertyName
        position = error.position >= 0 ? error.position : nil
        thrown = Thrown(error: error.cause)
    }

    /// The same on its way through the core.
    var ofCore: StoreError {
        let error = StoreError(StatusCode(rawValue: code.rawValue) ?? .callback, message).at(
            class: className, property: propertyName, position: position ?? -1)
        return cause.map { error.caused(by: $0) } ?? error
    }
}

extension ObjStoreError: CustomStringConvertible {
    public var description: String { "\(code): \(message)" }
}

extension ObjStoreError.Code: CustomStringConvertible {
    public var description: String { StatusCode(rawValue: rawValue).map { "\($0)" } ?? "code \(rawValue)" }

    /// `catch ObjStoreError.Code.duplicateKey`
    public static func ~= (code: ObjStoreError.Code, error: any Error) -> Bool {
        (error as? ObjStoreError)?.code == code
    }
}

/// Runs a call of the core and gives its errors the type of this layer.
@inline(__always)
func core<T>(_ body: () throws(StoreError) -> T) throws(ObjStoreError) -> T {
    do throws(StoreError) { return try body() } catch { throw ObjStoreError(error) }
}
