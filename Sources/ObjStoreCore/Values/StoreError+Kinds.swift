/// What an error says, for checks and salvages, which continue after some of them.
extension StoreError {
    /// Something in the file is wrong; others (cancelled, no memory, a failed read) end a check.
    var isDamage: Bool {
        switch code {
        // `.invalidArgument` and `.noSuchClass`: one node speaks of what another one does not have.
        case .corrupt, .invalidArgument, .noSuchClass: return true
        default: return false
        }
    }

    /// A value is not allowed in a property.
    var isUnfit: Bool {
        switch code {
        case .wrongType, .notNullable, .outOfRange, .invalidUTF8, .valueTooLarge: return true
        default: return false
        }
    }
}
