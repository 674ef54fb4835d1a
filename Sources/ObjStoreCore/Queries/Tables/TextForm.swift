/// How texts stand in what is given to Arrow.
package enum TextForm: Sendable {
    /// One behind the other, with 64-bit offsets.
    case plain
    /// Each once, and of each row a number that says which.
    case dictionary
    /// Of each row 16 bytes, which are the text or say where it is.
    case views

    /// That of a column: binaries have views, too, but no dictionaries.
    func of(_ kind: ValueKind) -> TextForm {
        switch kind {
        case .string: self
        case .binary: self == .views ? .views : .plain
        default: .plain
        }
    }
}
