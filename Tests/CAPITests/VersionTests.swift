import CObjStore
import Testing

@Test func libraryReportsTheVersionOfItsHeader() {
    let expected = "\(OBJSTORE_VERSION_MAJOR).\(OBJSTORE_VERSION_MINOR).\(OBJSTORE_VERSION_PATCH)"
    #expect(String(cString: objstore_version()) == expected)
    #expect(objstore_version() == objstore_version(), "the text is never freed or moved")
    let number = OBJSTORE_VERSION_MAJOR * 1_000_000 + OBJSTORE_VERSION_MINOR * 1_000 + OBJSTORE_VERSION_PATCH
    #expect(objstore_version_number() == UInt32(number))
}
