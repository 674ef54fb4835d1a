/// A word that may mean something in a query. Whether it does, or is a name, depends on where it stands.
enum QueryKeyword: UInt8 {
    case name = 0
    // Between operands.
    case and, or, isIn, between, beginsWith, endsWith, contains, like, text, geoWithin
    // Where an operand begins: these are never names there.
    case not, any, all, none
    case yes, no, null, infinity, nan, truePredicate, falsePredicate
    // The same in front of a parenthesis, or of quotes.
    case subquery, objectID, uuid, binary, object, decimal, float, link, geoBox, geoCircle, geoPolygon, base64
    // Behind the predicate.
    case sort, distinct, limit, offset, ascending, descending, group, having, select, alias
    // In brackets.
    case first, last, size
    // Behind an @.
    case links, count, minimum, maximum, sum, average, keys, values, type, itself

    /// Names like it cannot begin a path: `@self.` is put before them.
    var isReserved: Bool { rawValue >= QueryKeyword.not.rawValue && rawValue <= QueryKeyword.falsePredicate.rawValue }

    /// Of a word without escapes.
    static func of(_ word: UnsafeBufferPointer<UInt8>) -> QueryKeyword {
        guard word.count >= 2, word.count <= 14 else { return .name }
        switch word[0] | 0x20 {
        case UInt8(ascii: "a"):
            if word.is("and") { return .and }
            if word.is("any"), word.hasOneCase { return .any }
            if word.is("all"), word.hasOneCase { return .all }
            if word.is("asc") || word.is("ascending") { return .ascending }
            if word.is("as") { return .alias }
        case UInt8(ascii: "b"):
            if word.is("beginswith") { return .beginsWith }
            if word.is("between") { return .between }
            if word.is("binary") || word.is("bin") { return .binary }
            if word.count == 3, word[0] == UInt8(ascii: "B"), word[1] == UInt8(ascii: "6"),
                word[2] == UInt8(ascii: "4")
            {
                return .base64
            }
        case UInt8(ascii: "c"): if word.is("contains") { return .contains }
        case UInt8(ascii: "d"):
            if word.is("desc") || word.is("descending") { return .descending }
            if word.is("distinct") { return .distinct }
            if word.is("decimal") || word.is("decimal128") { return .decimal }
        case UInt8(ascii: "e"): if word.is("endswith") { return .endsWith }
        case UInt8(ascii: "f"):
            if word.is("false"), word.hasOneCase { return .no }
            if word.is("first") { return .first }
            if word.is("float") { return .float }
            if word.is("falsepredicate") { return .falsePredicate }
        case UInt8(ascii: "g"):
            if word.is("geowithin") { return .geoWithin }
            if word.is("group") { return .group }
            if word.is("geobox") { return .geoBox }
            if word.is("geocircle") { return .geoCircle }
            if word.is("geopolygon") { return .geoPolygon }
        case UInt8(ascii: "h"): if word.is("having") { return .having }
        case UInt8(ascii: "i"):
            if word.is("in"), word.hasOneCase { return .isIn }
            if word.is("inf") || word.is("infinity") { return .infinity }
        case UInt8(ascii: "l"):
            if word.is("like") { return .like }
            if word.is("limit") { return .limit }
            if word.is("last") { return .last }
            if word.is("link") { return .link }
        case UInt8(ascii: "n"):
            if word.is("not"), word.hasOneCase { return .not }
            if word.is("null") || word.is("nil") { return .null }
            if word.is("none"), word.hasOneCase { return .none }
            if word.is("nan") { return .nan }
        case UInt8(ascii: "o"):
            if word.is("or") { return .or }
            if word.is("oid") { return .objectID }
            if word.is("obj") { return .object }
            if word.is("offset") { return .offset }
        case UInt8(ascii: "s"):
            if word.is("some"), word.hasOneCase { return .any }
            if word.is("sort") { return .sort }
            if word.is("select") { return .select }
            if word.is("size") { return .size }
            if word.is("subquery") { return .subquery }
        case UInt8(ascii: "t"):
            if word.is("true"), word.hasOneCase { return .yes }
            if word.is("text") { return .text }
            if word.is("truepredicate") { return .truePredicate }
        case UInt8(ascii: "u"): if word.is("uuid") { return .uuid }
        default: break
        }
        return .name
    }

    /// Of the letters behind an @; nil: it has no meaning.
    static func behindAt(_ word: UnsafeBufferPointer<UInt8>) -> QueryKeyword? {
        if word.is("count") || word.is("size") { return .count }
        if word.is("links") { return .links }
        if word.is("min") { return .minimum }
        if word.is("max") { return .maximum }
        if word.is("sum") { return .sum }
        if word.is("avg") { return .average }
        if word.is("keys") { return .keys }
        if word.is("values") { return .values }
        if word.is("type") { return .type }
        if word.is("self") { return .itself }
        return nil
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// The same word, in upper or lower case.
    @inline(__always)
    fileprivate func `is`(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        for index in 0..<count where QueryLexer.lower(self[index]) != word.utf8Start[index] { return false }
        return true
    }

    /// `NOT` and `not` are keywords, `Not` is a name.
    fileprivate var hasOneCase: Bool { allSatisfy { $0 & 0x20 == self[0] & 0x20 } }
}
