internal import ObjStoreCore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#elseif canImport(Foundation)
internal import Foundation
#endif

/// A number of Foundation that no type of Swift has as it is: of many digits, or beyond 64 bits. It becomes what JSON
/// makes of its text.
struct GivenNumber: CustomStringConvertible {
    let description: String

    init(_ text: String) { description = text }

    /// Nil: it is no `Decimal` of Foundation.
    init?(decimal value: Any) {
        #if canImport(FoundationEssentials) || canImport(Foundation)
        guard let decimal = value as? Decimal else { return nil }
        self.init("\(decimal)")
        #else
        return nil
        #endif
    }

    /// As a property of that kind has it; nil: it cannot.
    func converted<T>(to kind: ValueKind, _ body: (Value) -> T) -> T? {
        var text = description
        return text.withUTF8 { bytes in (try? GivenNumber.convert(UnsafeRawBufferPointer(bytes), to: kind)).map(body) }
    }

    /// Why it cannot be one of that kind.
    func refusal(_ kind: ValueKind) -> StoreError? {
        var text = description
        return text.withUTF8 { bytes in
            do throws(StoreError) { _ = try GivenNumber.convert(UnsafeRawBufferPointer(bytes), to: kind) } catch {
                return error
            }
            return nil
        }
    }

    private static func convert(_ text: UnsafeRawBufferPointer, to kind: ValueKind) throws(StoreError) -> Value {
        var number = Value.double(JSONNumber.double(text))
        number.pointer = text.baseAddress
        number.count = text.count
        return try JSONNumber.convert(number, to: kind)
    }
}
