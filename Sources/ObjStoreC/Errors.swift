internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// Which argument of a function is to blame for which failure of the core: the message then begins with its name.
typealias Blame = KeyValuePairs<StatusCode, StaticString>

@inline(__always) func status(_ code: StatusCode) -> objstore_status {
    unsafeBitCast(code.rawValue, to: objstore_status.self)
}

/// Remembers an error of the core as the thread's last one.
@inline(never)
func report(_ error: StoreError, _ blame: Blame = [:]) -> objstore_status {
    var message = error.message
    // With a property, what is missing or of another store is what a link was to lead to: the message names it.
    let isTarget = error.propertyName != nil && (error.code == .noSuchObject || error.code == .wrongStore)
    if !isTarget, !error.namesArgument, let argument = blame.first(where: { $0.key == error.code })?.value {
        message = "\(argument): \(message)"
    }
    remember(
        error.code.rawValue, message, className: error.className ?? "", propertyName: error.propertyName ?? "",
        position: Int64(error.position),
        callbackCode: error.callbackCode, systemError: error.systemError)
    return status(error.code)
}

/// What an operation throws that a callback of the application has ended.
func cancelled(by callback: StaticString, _ status: objstore_status) -> StoreError {
    StoreError(.cancelled, "\(callback): the callback ended the operation with status \(status.rawValue)").callback(
        Int64(status.rawValue))
}

/// An error that the C layer itself finds: an argument that is none.
@inline(never)
func fail(_ code: StatusCode, _ message: String) -> objstore_status {
    remember(code.rawValue, message)
    return status(code)
}

@inline(never)
func failNull(_ argument: StaticString) -> objstore_status { fail(.invalidArgument, "\(argument) is NULL") }

/// Stores what `objstore_last_error` answers. Without memory for the texts the status remains.
func remember(
    _ code: Int32, _ message: String, className: String = "", propertyName: String = "", position: Int64 = -1,
    callbackCode: Int64 = 0,
    systemError: Int32 = 0
) {
    let thread = cs_thread_current()!
    thread.pointee.status = code
    thread.pointee.position = position
    thread.pointee.callback_code = callbackCode
    thread.pointee.system_error = systemError
    thread.pointee.text_length = 0
    let (message, className, propertyName) = (withoutNUL(message), withoutNUL(className), withoutNUL(propertyName))
    let parts = (message.utf8.count, className.utf8.count, propertyName.utf8.count)
    guard let text = cs_error_room(thread, parts.0 + parts.1 + parts.2 + 3) else { return }
    thread.pointee.class_offset = parts.0 + 1
    thread.pointee.property_offset = parts.0 + parts.1 + 2
    thread.pointee.text_length = parts.0 + parts.1 + parts.2 + 3
    var next = text
    for part in [message, className, propertyName] {
        for byte in part.utf8 {
            next.pointee = CChar(bitPattern: byte)
            next += 1
        }
        next.pointee = 0
        next += 1
    }
}

/// For callers that print up to the first NUL: one that a name of the application has is shown as \0.
private func withoutNUL(_ text: String) -> String {
    guard text.utf8.contains(0) else { return text }
    return text.unicodeScalars.reduce(into: "") { shown, scalar in
        if scalar == "\0" { shown += "\\0" } else { shown.unicodeScalars.append(scalar) }
    }
}

private nonisolated(unsafe) let emptyText: UnsafePointer<CChar> = {
    let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
    text.initialize(to: 0)
    return UnsafePointer(text)
}()

@c @implementation
public func objstore_last_error(_ error: UnsafeMutablePointer<objstore_error>?) -> objstore_status {
    guard let error else { return failNull("error") }
    let thread = cs_thread_current()!.pointee
    var full = objstore_error_init()
    full.status = objstore_status(rawValue: thread.status)!
    full.position = thread.position
    full.callback_code = thread.callback_code
    full.system_error = thread.system_error
    if thread.text_length > 0, let text = thread.text {
        full.message = objstore_text_of(text, Int64(thread.class_offset - 1))
        full.class_name = objstore_text_of(
            text + thread.class_offset, Int64(thread.property_offset - thread.class_offset - 1))
        full.property_name = objstore_text_of(
            text + thread.property_offset, Int64(thread.text_length - thread.property_offset - 1))
    } else {
        full.message = objstore_text_of(emptyText, 0)
        full.class_name = full.message
        full.property_name = full.message
    }
    return fill(error, full, size: error.pointee.struct_size, least: 8, "error")
}

@c @implementation
public func objstore_last_message() -> UnsafePointer<CChar> {
    let thread = cs_thread_current()!.pointee
    guard thread.text_length > 0, let text = thread.text else { return emptyText }
    return UnsafePointer(text)
}

/// Fills as much of a structure as the caller has room for, and says so in its first member.
/// `least`: where its first field ends.
func fill<T>(
    _ out: UnsafeMutablePointer<T>, _ full: T, size: UInt32, least: Int, _ argument: StaticString
) -> objstore_status {
    guard size >= least else {
        return fail(
            .invalidArgument, "\(argument)->struct_size is \(size): set it to the size of the structure before the call"
        )
    }
    withUnsafeBytes(of: full) { bytes in
        let count = min(Int(size), bytes.count)
        UnsafeMutableRawPointer(out).advanced(by: 4).copyMemory(from: bytes.baseAddress! + 4, byteCount: count - 4)
        UnsafeMutableRawPointer(out).storeBytes(of: UInt32(count), as: UInt32.self)
    }
    return .OBJSTORE_OK
}

private let statusNames: [Int32: StaticString] = [
    0: "OBJSTORE_OK", 1: "OBJSTORE_ERR_INVALID_ARGUMENT", 2: "OBJSTORE_ERR_CLOSED_HANDLE", 3: "OBJSTORE_ERR_WRONG_KIND",
    4: "OBJSTORE_ERR_WRONG_STORE", 5: "OBJSTORE_ERR_WRONG_VIEW", 6: "OBJSTORE_ERR_NO_SUCH_CLASS",
    7: "OBJSTORE_ERR_NO_SUCH_PROPERTY",
    8: "OBJSTORE_ERR_NO_SUCH_OBJECT", 9: "OBJSTORE_ERR_WRONG_TYPE", 10: "OBJSTORE_ERR_NOT_NULLABLE",
    11: "OBJSTORE_ERR_MISSING_VALUE",
    12: "OBJSTORE_ERR_NULL_VALUE", 13: "OBJSTORE_ERR_INVALID_UTF8", 14: "OBJSTORE_ERR_VALUE_TOO_LARGE",
    15: "OBJSTORE_ERR_OUT_OF_RANGE",
    16: "OBJSTORE_ERR_NO_PRIMARY_KEY", 17: "OBJSTORE_ERR_DUPLICATE_KEY", 18: "OBJSTORE_ERR_KEY_IMMUTABLE",
    19: "OBJSTORE_ERR_NOT_POSITIONED",
    20: "OBJSTORE_ERR_INVALID_SIGNATURE", 21: "OBJSTORE_ERR_INVALID_QUERY", 22: "OBJSTORE_ERR_NOT_SUPPORTED",
    23: "OBJSTORE_ERR_NO_SUCH_INDEX", 24: "OBJSTORE_ERR_EMBEDDED", 25: "OBJSTORE_ERR_INVALID_JSON",
    40: "OBJSTORE_ERR_NOT_IN_WRITE",
    41: "OBJSTORE_ERR_ALREADY_IN_WRITE", 42: "OBJSTORE_ERR_IN_CALLBACK", 43: "OBJSTORE_ERR_BUSY",
    44: "OBJSTORE_ERR_TIMEOUT",
    45: "OBJSTORE_ERR_READ_ONLY", 46: "OBJSTORE_ERR_TOO_MANY_READERS", 47: "OBJSTORE_ERR_FORKED",
    48: "OBJSTORE_ERR_CANCELLED",
    49: "OBJSTORE_ERR_CALLBACK", 50: "OBJSTORE_ERR_TOO_MANY_VERSIONS",
    51: "OBJSTORE_ERR_VERSION_GONE", 60: "OBJSTORE_ERR_OUT_OF_MEMORY",
    61: "OBJSTORE_ERR_OUT_OF_SPACE",
    62: "OBJSTORE_ERR_IO",
    63: "OBJSTORE_ERR_OUTCOME_UNKNOWN", 64: "OBJSTORE_ERR_POISONED", 65: "OBJSTORE_ERR_REPLACED",
    80: "OBJSTORE_ERR_NOT_FOUND", 81: "OBJSTORE_ERR_ALREADY_EXISTS",
    82: "OBJSTORE_ERR_NOT_A_STORE", 83: "OBJSTORE_ERR_CORRUPT", 84: "OBJSTORE_ERR_VERSION_MISMATCH",
    85: "OBJSTORE_ERR_INCOMPATIBLE_FILE_SYSTEM", 86: "OBJSTORE_ERR_NEEDS_LOG", 87: "OBJSTORE_ERR_CONFIG_MISMATCH",
    88: "OBJSTORE_ERR_INVALID_SCHEMA", 89: "OBJSTORE_ERR_SCHEMA_MISMATCH", 99: "OBJSTORE_ERR_INTERNAL",
    10000: "OBJSTORE_USER_STATUS",
]

@c @implementation
public func objstore_status_name(_ status: objstore_status) -> UnsafePointer<CChar> {
    let name: StaticString = statusNames[status.rawValue] ?? "unknown status"
    return UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}

@c @implementation
public func objstore_fail(_ code: Int64, _ message: objstore_text) -> objstore_status {
    var text = ""
    if let message = try? string(message) { text = message }
    remember(StatusCode.callback.rawValue, text, callbackCode: code)
    return .OBJSTORE_ERR_CALLBACK
}

@c @implementation
public func objstore_must_finish(_ userdata: UnsafeMutableRawPointer?) {}

@c @implementation
public func objstore_finish(_ status: objstore_status) -> objstore_status {
    let thread = cs_thread_current()!
    thread.pointee.finished_status = status.rawValue
    thread.pointee.has_finished = true
    return status
}
