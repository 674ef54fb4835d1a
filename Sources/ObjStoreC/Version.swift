import CObjStore

/// "major.minor.patch" of the header this library was built with. Written once, never freed: the pointer stays valid.
private nonisolated(unsafe) let versionText: UnsafePointer<CChar> = {
    let text = "\(OBJSTORE_VERSION_MAJOR).\(OBJSTORE_VERSION_MINOR).\(OBJSTORE_VERSION_PATCH)"
    let bytes = text.utf8CString
    let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
    _ = copy.initialize(from: bytes)
    return UnsafePointer(copy.baseAddress!)
}()

@c @implementation
public func objstore_version() -> UnsafePointer<CChar> { versionText }

@c @implementation
public func objstore_version_number() -> UInt32 {
    UInt32(OBJSTORE_VERSION_MAJOR * 1_000_000 + OBJSTORE_VERSION_MINOR * 1_000 + OBJSTORE_VERSION_PATCH)
}
