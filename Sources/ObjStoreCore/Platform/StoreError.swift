/// What went wrong, in the terms of the public contract: every failure of the core is one of these.
///
/// `code` has the numbers of `objstore_status` in `include/objstore.h`. A class, so that a typed
/// throw moves one pointer and functions that do not throw pay nothing.
public final class StoreError: Error, @unchecked Sendable {
    public let code: StatusCode
    public let message: String
    /// Class and property that the error is about, where there are any.
    public private(set) var className: String?
    public private(set) var propertyName: String?
    /// Byte position in a query, a signature or a text; negative where there is none.
    public private(set) var position: Int = -1
    /// What the application's own callback returned, when that is the reason.
    public private(set) var callbackCode: Int64 = 0
    /// What a function of the application threw, when that is the reason.
    package private(set) var cause: (any Error)?
    /// errno of the system call that failed, or 0.
    public private(set) var systemError: Int32 = 0
    /// The message begins with the argument that is wrong.
    package private(set) var namesArgument = false

    public init(_ code: StatusCode, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The same error, naming where it happened.
    public func at(class className: String?, property: String? = nil, position: Int = -1) -> StoreError {
        if let className { self.className = className }
        if let property { self.propertyName = property }
        if position >= 0 { self.position = position }
        return self
    }

    /// The same error with words before its message.
    package func prefixed(_ words: String) -> StoreError {
        let error = StoreError(code, words + message).at(class: className, property: propertyName, position: position)
            .callback(callbackCode)
        error.cause = cause
        return error.system(systemError)
    }

    package func namingArgument() -> StoreError {
        namesArgument = true
        return self
    }

    package func caused(by cause: any Error) -> StoreError {
        self.cause = cause
        return self
    }

    package func system(_ code: Int32) -> StoreError {
        systemError = code
        return self
    }

    public func callback(_ code: Int64) -> StoreError {
        callbackCode = code
        return self
    }
}

extension StoreError: CustomStringConvertible {
    public var description: String { "\(code): \(message)" }
}

extension Int {
    /// For messages: "1 element", "3 elements".
    package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }

    /// "1 leaf", "3 leaves"
    package func counted(_ noun: String, _ nouns: String) -> String { "\(self) \(self == 1 ? noun : nouns)" }

    /// "where there are 3 elements"
    package var elementsThere: String { "where there \(self == 1 ? "is" : "are") \(counted("element"))" }
}
