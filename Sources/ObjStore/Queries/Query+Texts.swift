internal import ObjStoreCore

/// What does not count when texts are compared.
public struct StringOptions: OptionSet, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Upper and lower case are the same.
    public static let caseInsensitive = StringOptions(rawValue: 1)
    /// Accents do not count.
    public static let diacriticInsensitive = StringOptions(rawValue: 2)

    var modifiers: QueryNode.Modifiers {
        var modifiers: QueryNode.Modifiers = []
        if contains(.caseInsensitive) { modifiers.insert(.ignoresCase) }
        if contains(.diacriticInsensitive) { modifiers.insert(.ignoresAccents) }
        return modifiers
    }
}

/// Texts and bytes. They are false where one side is null, but for ``equals(_:options:)`` and its opposite, which are
/// `==` and `!=` with options.
extension Query where Value: TextQueryOperand {
    public func contains(_ part: Value, options: StringOptions = []) -> Query<Bool> {
        compared(.contains, part, options.modifiers)
    }
    public func starts(with start: Value, options: StringOptions = []) -> Query<Bool> {
        compared(.beginsWith, start, options.modifiers)
    }
    public func ends(with end: Value, options: StringOptions = []) -> Query<Bool> {
        compared(.endsWith, end, options.modifiers)
    }
    /// Words in a property that is marked with `@Persisted(fullText: true)`: all of them have to be there, `-word` must
    /// not be, `word*` is only the beginning of one. Case and accents do not count.
    public func search(_ words: String) -> Query<Bool> { compared(.text, words) }
    public func equals(_ other: Value, options: StringOptions = []) -> Query<Bool> {
        compared(.equal, other, options.modifiers)
    }
    public func notEquals(_ other: Value, options: StringOptions = []) -> Query<Bool> {
        compared(.notEqual, other, options.modifiers)
    }

    /// Of a pattern `?` stands for a character and `*` for any number of them; after a backslash for themselves.
    public func like(_ pattern: Value, caseInsensitive: Bool = false) -> Query<Bool> {
        compared(.like, pattern, caseInsensitive ? .ignoresCase : [])
    }
    public func like(_ pattern: Value, options: StringOptions) -> Query<Bool> {
        compared(.like, pattern, options.modifiers)
    }

    // The same with another property.

    public func contains<Other: TextQueryOperand>(
        _ part: Query<Other>, options: StringOptions = []
    ) -> Query<Bool> where Other._QueryFamily == Value._QueryFamily { compared(.contains, part, options.modifiers) }
    public func starts<Other: TextQueryOperand>(
        with start: Query<Other>, options: StringOptions = []
    ) -> Query<Bool> where Other._QueryFamily == Value._QueryFamily {
        compared(.beginsWith, start, options.modifiers)
    }
    public func ends<Other: TextQueryOperand>(
        with end: Query<Other>, options: StringOptions = []
    ) -> Query<Bool> where Other._QueryFamily == Value._QueryFamily { compared(.endsWith, end, options.modifiers) }
    public func equals<Other: TextQueryOperand>(
        _ other: Query<Other>, options: StringOptions = []
    ) -> Query<Bool> where Other._QueryFamily == Value._QueryFamily { compared(.equal, other, options.modifiers) }
    public func notEquals<Other: TextQueryOperand>(
        _ other: Query<Other>, options: StringOptions = []
    ) -> Query<Bool> where Other._QueryFamily == Value._QueryFamily { compared(.notEqual, other, options.modifiers) }
    public func like<Other: TextQueryOperand>(
        _ pattern: Query<Other>, options: StringOptions = []
    ) -> Query<Bool> where Other._QueryFamily == Value._QueryFamily { compared(.like, pattern, options.modifiers) }

    /// How many characters, or bytes.
    public var count: Query<Int> { combined { $0.append(.count, operands: 1) } }
}
