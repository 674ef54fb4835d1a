internal import CSystem

/// The error for a failed system call: "cannot <action>: <what errno means> (errno n)".
///
/// `action` names the operation, the path and, where they matter, the byte counts.
/// No space and no quota become `.outOfSpace`, an existing file `.alreadyExists`,
/// a missing one `.notFound`.
func systemError(_ code: Int32, _ action: String) -> StoreError {
    let status: StatusCode =
        switch code {
        case ENOSPC, EDQUOT, EFBIG: .outOfSpace
        case ENOMEM: .outOfMemory
        case EEXIST: .alreadyExists
        case ENOENT: .notFound
        default: .io
        }
    return StoreError(status, "cannot \(action): \(errorText(code)) (errno \(code))").system(code)
}

extension StoreError {
    /// Of `open`: it is the file that cannot be opened, today and tomorrow: a symbolic link, no regular file, or one
    /// that this process may not open. Not for want of anything.
    package var isOfTheFile: Bool { systemError == 0 || systemError == EACCES || systemError == EPERM }
}

func errorText(_ code: Int32) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        String(cString: cs_error_text(code, buffer.baseAddress, buffer.count))
    }
}
