/// The kinds of C functions that can be bound: what they are called with, and which of that is the userdata.
///
/// A bound function is called as the plain one is. What it calls gets the same arguments, but its own userdata:
///
/// ```
///  plain     progress(done, total, anything)        compare(a, b)             of qsort, which has no userdata
///                │      │      ╳                       │   │
///  called    progress(done, total, userdata)        compare(a, b, userdata)
/// ```
package enum BoundShape: Int, CaseIterable, Sendable {
    /// `int32_t (void *subject, void *userdata)`: bodies of transactions, change handlers, reports.
    case subject
    /// `int32_t (uint64_t, uint64_t, void *userdata)`
    case progress
    /// `int32_t (void *store, void *transaction, void *old, uint64_t, uint64_t, void *userdata)`
    case migration
    /// `int32_t (void *store, void *transaction, void *userdata)`
    case initialData
    /// `int32_t (uint64_t, uint64_t, bool *, void *userdata)`
    case compaction
    /// `int32_t (void *userdata)`
    case wait
    /// `void (int32_t, const char *, void *userdata)`
    case log
    /// `int32_t (void *view, object, value *, void *userdata)`
    case sectionKey
    /// `int32_t (int32_t, uint64_t, void *userdata)`
    case completion
    /// `void (void *userdata, uint64_t)`
    case ready
    /// `int32_t (const char *, size_t, void *userdata)`
    case jsonWrite
    /// `int32_t (void *, size_t, size_t *, void *userdata)`
    case jsonRead
    /// `int32_t (uint32_t, int32_t, value, value *, bool *, void *userdata)`
    case jsonConvert
    /// `int32_t (const void *, const void *)`, which calls `int32_t (const void *, const void *, void *userdata)`.
    case comparator

    /// What the called function gets, the userdata included.
    var arguments: [CallDescription.ArgumentType] {
        switch self {
        case .subject: [.pointer, .pointer]
        case .progress: [.int64, .int64, .pointer]
        case .migration: [.pointer, .pointer, .pointer, .int64, .int64, .pointer]
        case .initialData: [.pointer, .pointer, .pointer]
        case .compaction: [.int64, .int64, .pointer, .pointer]
        case .wait: [.pointer]
        case .log: [.int32, .pointer, .pointer]
        case .sectionKey: [.pointer, .object, .pointer, .pointer]
        case .completion: [.int32, .int64, .pointer]
        case .ready: [.pointer, .int64]
        case .jsonWrite: [.pointer, .int64, .pointer]
        case .jsonRead: [.pointer, .int64, .pointer, .pointer]
        case .jsonConvert: [.int32, .int32, .value, .pointer, .pointer, .pointer]
        case .comparator: [.pointer, .pointer, .pointer]
        }
    }

    /// Which of these is the userdata.
    var userdata: Int { self == .ready ? 0 : arguments.count - 1 }

    /// How many of them the plain function is called with.
    var plainCount: Int { self == .comparator ? arguments.count - 1 : arguments.count }

    var result: CallDescription.ArgumentType { self == .log || self == .ready ? .nothing : .int32 }

    /// Its result says whether something went wrong.
    var hasStatus: Bool { result != .nothing && self != .comparator }
}
