/// Signatures of functions for queries: "f64, f64 -> f64", "f64[], f64?[], n -> f64?[]".
///
/// ```
/// signature = [ word { "," word } ] "->" result      blanks are free between the parts
/// word      = kind [ "?" ] [ "[]" ] | "n"            all with "[]" and one n, or none
/// result    = kind [ "?" ] [ "[]" ]
/// kind      = "bool" | "i64" | "f32" | "f64" | "time" | "str" | "bin"
/// ```
package struct NativeSignature: Sendable {
    package let signature: FunctionSignature
    /// How many parameters stand before the number of rows.
    let countPlace: Int?

    private struct Word {
        /// Nil: the number of rows.
        var parameter: FunctionSignature.Parameter?
        var isArray = false
        var position: Int
    }

    private static let kinds = Signature.Kind.allCases.filter { $0.value != nil }.map(\.rawValue).joined(
        separator: ", ")

    /// Errors: `.invalidSignature`, whose position is the byte that is wrong (the length: the text ends too early).
    package init(parsing text: UnsafeRawBufferPointer) throws(StoreError) {
        var parser = Signature.Parser(text: text), words: [Word] = []
        parser.skipBlanks()
        if !parser.isAtArrow {
            while true {
                words.append(try NativeSignature.word(&parser, isResult: false))
                if parser.next == UInt8(ascii: ",") {
                    parser.position += 1
                    parser.skipBlanks()
                } else if parser.isAtArrow {
                    break
                } else {
                    // A lone '-' is right so far.
                    throw Signature.wrong(
                        parser.position + (parser.next == UInt8(ascii: "-") ? 1 : 0),
                        "',' or '->' expected after a word")
                }
            }
        }
        let arrow = parser.position
        parser.position += 2
        parser.skipBlanks()
        let result = try NativeSignature.word(&parser, isResult: true)
        if parser.next != nil { throw Signature.wrong(parser.position, "nothing may follow the result") }
        let isBatch = result.isArray
        var parameters: [FunctionSignature.Parameter] = [], countPlace: Int?
        for word in words {
            guard let parameter = word.parameter else {
                if !isBatch { throw Signature.wrong(word.position, "'n' is for functions with columns: \"-> f64[]\"") }
                if countPlace != nil { throw Signature.wrong(word.position, "a second 'n'") }
                countPlace = parameters.count
                continue
            }
            if word.isArray != isBatch {
                throw Signature.wrong(
                    word.position,
                    isBatch
                        ? "the result is a column: so is every argument, '\(parameter)[]'"
                        : "a column, and the result is none: \"-> f64[]\"")
            }
            if parameters.count == FunctionSignature.maximumParameters {
                throw Signature.wrong(word.position, "more than \(FunctionSignature.maximumParameters) arguments")
            }
            parameters.append(parameter)
        }
        if isBatch, countPlace == nil { throw Signature.wrong(arrow, "'n', the number of rows, is missing") }
        guard let made = result.parameter else { throw Signature.wrong(result.position, "'n' is no result") }
        if isBatch, made.kind.isBytes {
            throw Signature.wrong(result.position, "'\(made)[]' is no result: bool, i64, f32, f64 and time are")
        }
        signature = FunctionSignature(parameters, made, isBatch: isBatch)
        self.countPlace = countPlace
    }

    private static func word(_ parser: inout Signature.Parser, isResult: Bool) throws(StoreError) -> Word {
        let position = parser.position, name = parser.identifier()
        if name == "n" {
            parser.skipBlanks()
            return Word(position: position)
        }
        guard let kind = Signature.Kind(rawValue: name)?.value else {
            let what = name.isEmpty ? "a word expected" : "'\(name)' is no word of a function"
            throw Signature.wrong(position, "\(what): \(kinds)\(isResult ? "" : ", n")")
        }
        var word = Word(parameter: FunctionSignature.Parameter(kind), position: position)
        parser.skipBlanks()
        if parser.next == UInt8(ascii: "?") {
            word.parameter?.isNullable = true
            parser.position += 1
            parser.skipBlanks()
        }
        if parser.next == UInt8(ascii: "[") {
            parser.position += 1
            parser.skipBlanks()
            guard parser.next == UInt8(ascii: "]") else { throw Signature.wrong(parser.position, "']' expected") }
            word.isArray = true
            parser.position += 1
            parser.skipBlanks()
        }
        return word
    }
}
