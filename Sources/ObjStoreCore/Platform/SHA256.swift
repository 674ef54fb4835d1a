internal import CCrypto

/// The SHA-256 of a file's content: proves that a file is the very one that was meant. By libcrypto.
package struct SHA256: Equatable, Sendable {
    private let bytes: [UInt8]

    private static let count = 32

    /// From 64 hexadecimal digits, as `sha256sum` prints them.
    package init(_ text: String) throws(StoreError) {
        let digits = Array(text.utf8)
        var bytes: [UInt8] = []
        guard digits.count == 2 * SHA256.count else {
            throw StoreError(
                .invalidArgument, "a SHA-256 has \(2 * SHA256.count) hexadecimal digits, not \(digits.count) bytes")
        }
        for pair in stride(from: 0, to: digits.count, by: 2) {
            guard let high = SHA256.value(digits[pair]), let low = SHA256.value(digits[pair + 1]) else {
                throw StoreError(
                    .invalidArgument, "a SHA-256 consists of hexadecimal digits; at byte \(pair) it does not")
            }
            bytes.append(high << 4 | low)
        }
        self.bytes = bytes
    }

    /// Reads all of `file`. O(size).
    init(of file: StorageFile) throws(StoreError) {
        guard let context = EVP_MD_CTX_new() else { throw StoreError(.outOfMemory, "no memory for a SHA-256") }
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { throw SHA256.failed }
        let window = try Memory.allocateAligned(1 << 18)
        defer { window.deallocate() }
        let size = try file.size()
        for start in stride(from: 0, to: size, by: 1 << 18) {
            let part = min(1 << 18, size - start)
            try file.read(into: window, count: part, at: start)
            guard EVP_DigestUpdate(context, window, part) == 1 else { throw SHA256.failed }
        }
        var bytes = [UInt8](repeating: 0, count: SHA256.count)
        guard EVP_DigestFinal_ex(context, &bytes, nil) == 1 else { throw SHA256.failed }
        self.bytes = bytes
    }

    /// OpenSSL can be configured without an algorithm.
    private static var failed: StoreError { StoreError(.notSupported, "this system's libcrypto computes no SHA-256") }

    /// 64 digits, lower case.
    var text: String {
        var text = ""
        for byte in bytes {
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
        return text
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 48...57: digit - 48  // 0–9
        case 65...70: digit - 55  // A–F
        case 97...102: digit - 87  // a–f
        default: nil
        }
    }
}
