/// What `$0`, `$1` … stand for in the text of a query. Bytes are the caller's: the tree gets copies.
package enum QueryArgument {
    /// Null, a scalar, a link, or a document. Behind GEOWITHIN: the text of a shape.
    case value(Value)
    /// For IN, BETWEEN and what else takes `{…}`.
    case list([Value])
}

/// What the text of a query may have at most: `.invalidQuery` beyond.
package enum QueryLimits {
    /// Bytes of UTF-8.
    package static let text = 16 << 20
    package static let arguments = 1 << 16
    package static let nodes = 1 << 20
    /// Of one SORT or DISTINCT: objects that are equal by a key are sorted by the next one, a level deeper.
    package static let sortKeys = 256
    /// Parentheses, NOTs and subqueries within one another, and levels of the tree. A chain of ANDs is one level; one
    /// of sums has a level for each of them, and a path one for each step.
    package static let depth = 100
}

/// The arguments with the copies of their bytes.
struct QueryArguments {
    let all: [QueryArgument]
    /// Where the bytes of each begin in `bytes`; empty where none has any.
    private let starts: [Int]
    private let bytes: UnsafeMutableRawPointer

    /// Bytes of all of them.
    static func size(_ all: [QueryArgument]) -> Int { all.reduce(0) { $0 + size($1) } }

    private static func size(_ argument: QueryArgument) -> Int {
        switch argument {
        case .value(let value): size(value)
        case .list(let values): values.reduce(0) { $0 + size($1) }
        }
    }

    private static func size(_ value: Value) -> Int { value.kind.hasBytes ? value.count : 0 }

    /// Copies to `bytes`, where `size` are.
    init(_ all: [QueryArgument], size: Int, to bytes: UnsafeMutableRawPointer) throws(StoreError) {
        self.all = all
        self.bytes = bytes
        if size == 0 {
            starts = []
            return
        }
        var starts: [Int] = [], used = 0
        starts.reserveCapacity(all.count)
        func copy(_ value: Value) throws(StoreError) {
            guard value.kind.hasBytes, value.count > 0 else { return }
            if value.kind == .string, !UTF8Check.isValid(value.pointer, value.count) {
                throw StoreError(.invalidUTF8, "argument $\(starts.count - 1) of the query is not valid UTF-8")
            }
            (bytes + used).copyMemory(from: value.pointer.unsafelyUnwrapped, byteCount: value.count)
            used += value.count
        }
        for argument in all {
            starts.append(used)
            switch argument {
            case .value(let value): try copy(value)
            case .list(let values): for value in values { try copy(value) }
            }
        }
        self.starts = starts
    }

    /// Where the copies of an argument begin.
    func start(_ index: Int) -> UnsafeMutableRawPointer { starts.isEmpty ? bytes : bytes + starts[index] }

    /// A value that points to its copy, which is the next one: moves on behind that.
    static func own(_ value: Value, _ next: inout UnsafeMutableRawPointer) -> Value {
        var own = value
        own.pointer = nil
        if value.kind.hasBytes {
            own.pointer = UnsafeRawPointer(next)
            next += value.count
        } else {
            own.count = 0
        }
        return own
    }
}
