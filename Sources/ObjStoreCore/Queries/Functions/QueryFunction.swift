/// A function of the application that queries call by its name: `haversine(lat, lon, $0, $1) < 50`.
///
/// Immutable, any thread; what was bound to it keeps it, so that it may be replaced or removed at any time.
package final class QueryFunction: Sendable {
    package let name: String
    package let signature: FunctionSignature
    let body: Body

    package enum Body: Sendable {
        /// With the values of one row, which are of the parameters' kinds, and null for nullable ones only. Texts of
        /// the result lie in the memory that is given.
        case row(@Sendable (UnsafeBufferPointer<Value>, FunctionTexts) throws(StoreError) -> Value)
        /// With a column for each parameter; fills that of the result.
        case batch(@Sendable (UnsafeBufferPointer<FunctionColumn>, Int, FunctionColumn) throws(StoreError) -> Void)
    }

    /// Errors: `.invalidArgument`: no function can be called so.
    package init(_ name: String, _ signature: FunctionSignature, _ body: Body) throws(StoreError) {
        try QueryFunction.check(name)
        self.name = name
        self.signature = signature
        self.body = body
    }

    package static let longestName = 255

    /// Whether a function can have a name. Errors: `.invalidArgument`.
    package static func check(_ name: String) throws(StoreError) {
        var text = name
        let (isName, isWord) = text.withUTF8 { bytes -> (Bool, Bool) in
            let isName = bytes.enumerated().allSatisfy { index, byte in
                byte == UInt8(ascii: "_") || (byte | 0x20) &- 0x61 < 26
                    || index > 0 && QueryLexer.isDigit(byte)
            }
            return (isName && !bytes.isEmpty, QueryKeyword.of(bytes) != .name)
        }
        // Of NOT and its like only some spellings are words.
        var lower = name.lowercased()
        if isWord || lower.withUTF8({ QueryKeyword.of($0) != .name }) {
            throw StoreError(.invalidArgument, "\"\(name)\" is a word of the query language: no function has that name")
        }
        guard isName, name.utf8.count <= longestName else {
            throw StoreError(
                .invalidArgument,
                """
                "\(name.prefix(60))" is no name of a function: 1 to \(longestName) letters, digits and underscores of \
                ASCII, no digit first
                """)
        }
    }
}

/// What a function takes and gives.
package struct FunctionSignature: Sendable {
    package struct Parameter: Sendable {
        /// bool, int, float, double, timestamp, string or binary.
        package var kind: ValueKind
        /// Null is handed over; otherwise it makes the result null, without a call.
        package var isNullable: Bool

        package init(_ kind: ValueKind, isNullable: Bool = false) {
            self.kind = kind
            self.isNullable = isNullable
        }
    }

    package let parameters: [Parameter]
    package let result: Parameter
    /// It is called with columns of rows, not with the values of one.
    package let isBatch: Bool

    package static let maximumParameters = 64

    package init(_ parameters: [Parameter], _ result: Parameter, isBatch: Bool = false) {
        self.parameters = parameters
        self.result = result
        self.isBatch = isBatch
    }
}

extension FunctionSignature.Parameter: CustomStringConvertible {
    /// As signatures have it.
    package var description: String { (kind.signatureWord ?? "\(kind)") + (isNullable ? "?" : "") }
}

extension ValueKind {
    /// What a signature calls it; nil: no function takes it.
    package var signatureWord: String? {
        switch self {
        case .bool: "bool"
        case .int: "i64"
        case .float: "f32"
        case .double: "f64"
        case .timestamp: "time"
        case .string: "str"
        case .binary: "bin"
        default: nil
        }
    }

    /// Bytes of an element of a column.
    var columnStride: Int {
        switch self {
        case .bool: 1
        case .float: 4
        case .int, .double: 8
        default: 16
        }
    }
}

/// The functions of an open store, by their names. Any thread.
package final class QueryFunctions: @unchecked Sendable {
    private let lock = Lock()
    private var functions: [String: QueryFunction] = [:]

    package init() {}

    /// One of the same name is replaced: queries that were made before keep it.
    package func define(_ function: QueryFunction) {
        // Let go of outside of the lock: its owner is the application's.
        let old = lock.withLock { functions.updateValue(function, forKey: function.name) }
        withExtendedLifetime(old) {}
    }

    /// Errors: `.notFound`.
    package func remove(_ name: String) throws(StoreError) {
        let old = lock.withLock { functions.removeValue(forKey: name) }
        if old == nil { throw StoreError(.notFound, "there is no function \(name)") }
    }

    package func removeAll() {
        let old = lock.withLock { () -> [String: QueryFunction] in
            defer { functions = [:] }
            return functions
        }
        withExtendedLifetime(old) {}
    }

    func named(_ name: String) -> QueryFunction? { lock.withLock { functions[name] } }
    var names: [String] { lock.withLock { functions.keys.sorted() } }
}
