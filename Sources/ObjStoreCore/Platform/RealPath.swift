internal import CSystem

/// The folder and the last name of a path; "." for the folder of a bare name.
func splitPath(_ path: String) -> (folder: String, name: String) {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return (".", path) }
    let folder = slash == path.startIndex ? "/" : String(path[..<slash])
    return (folder, String(path[path.index(after: slash)...]))
}

/// Follows every symbolic link, also one whose target does not exist yet: the name that `open` with
/// `.create` would create. All processes must give the siblings of one file the same names.
func resolveLinks(_ path: String, depth: Int) throws(StoreError) -> String {
    if let real = try realPath(path) { return real }
    if depth == 40 { throw systemError(ELOOP, "resolve \(path)") }
    let (folder, name) = splitPath(path)
    if name.isEmpty || name == "." || name == ".." { throw StoreError(.io, "cannot resolve \(path): it names no file") }
    if let target = linkTarget(path) {
        return try resolveLinks(target.hasPrefix("/") ? target : folder + "/" + target, depth: depth + 1)
    }
    guard let folder = try realPath(folder) else { throw systemError(ENOENT, "resolve \(path): its folder \(folder)") }
    return folder == "/" ? "/" + name : folder + "/" + name
}

/// Nil where the file, or the target of a link, does not exist.
private func realPath(_ path: String) throws(StoreError) -> String? {
    guard let real = realpath(path, nil) else {
        let code = cs_errno()
        if code == ENOENT { return nil }
        throw systemError(code, "resolve \(path)")
    }
    defer { free(real) }
    return String(cString: real)
}

/// Nil where `path` is not a symbolic link.
private func linkTarget(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX) + 1) { buffer in
        let n = readlink(path, buffer.baseAddress!, Int(PATH_MAX))
        if n < 0 { return nil }
        buffer[n] = 0
        return String(cString: buffer.baseAddress!)
    }
}
