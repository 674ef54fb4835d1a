internal import ObjStoreCore

// Classifies what an application gives in an `Any`, without conversions.
//
// `value as? [AnyHashable: Any]` converts a dictionary of another type, element by element, and every such cast of a
// value that is none looks for a conversion once Foundation is in the process. A cast to a protocol looks at the type
// alone.

/// Any dictionary of Swift.
protocol GivenDictionary {
    /// In any order; values as they are.
    var givenEntries: [(key: AnyHashable, value: Any)] { get }
    /// The same by texts; nil: there are other keys.
    var givenNames: [(name: String, value: Any)]? { get }
    func given(_ name: String) -> Any?
}

extension Dictionary: GivenDictionary {
    var givenEntries: [(key: AnyHashable, value: Any)] { map { (AnyHashable($0.key), $0.value) } }
    var givenNames: [(name: String, value: Any)]? {
        var names: [(name: String, value: Any)] = []
        names.reserveCapacity(count)
        for (key, value) in self {
            guard let name = key as? String ?? AnyHashable(key).base as? String else { return nil }
            names.append((name, value))
        }
        return names
    }
    func given(_ name: String) -> Any? { (name as? Key ?? AnyHashable(name) as? Key).flatMap { self[$0] } }
}

/// Entries in the place of a dictionary, which would take texts for one key that a store does not (``ExactKey``).
struct GivenEntries: GivenDictionary {
    let givenEntries: [(key: AnyHashable, value: Any)]

    init(_ entries: some Sequence<(key: AnyHashable, value: Any)>) { givenEntries = Array(entries) }

    var givenNames: [(name: String, value: Any)]? {
        var names: [(name: String, value: Any)] = []
        for (key, value) in givenEntries {
            guard let name = key.base as? String else { return nil }
            names.append((name, value))
        }
        return names
    }
    func given(_ name: String) -> Any? { givenEntries.last { $0.key.base as? String == name }?.value }
}

/// Any array of Swift.
protocol GivenArray {
    var givenElements: [Any] { get }
}
extension Array: GivenArray {
    var givenElements: [Any] { self }
}
extension ArraySlice: GivenArray {
    var givenElements: [Any] { Array(self) }
}

/// Any set of Swift.
protocol GivenSet {
    var givenMembers: [Any] { get }
}
extension Set: GivenSet {
    var givenMembers: [Any] { map { AnyHashable($0).base } }
}

/// A value as an instance of a class; nil: it is none. A cast of a dictionary or an array to a class would make an
/// object of it first, with everything in it, once Foundation is in the process.
func instance<Class: AnyObject>(_ value: Any?, of _: Class.Type = Class.self) -> Class? {
    guard let value = value.flatMap({ ClassInfo.unwrap($0) }), type(of: value) is AnyClass else { return nil }
    return value as? Class
}

extension ClassInfo {
    /// For messages: of what has elements only how many, for they may be many, and deep.
    static func text(of value: Any) -> String {
        if let dictionary = value as? any GivenDictionary {
            let count = dictionary.givenEntries.count
            return count == 1 ? "1 entry" : "\(count) entries"
        }
        if let array = value as? any GivenArray { return array.givenElements.count.counted("element") }
        if let set = value as? any GivenSet { return set.givenMembers.count.counted("element") }
        return "\(value)"
    }

    /// The classes that the large Foundation puts into what it parses, as what they hold: this library does without it.
    /// A number knows whether it is a bool, an integer or has a fraction.
    static func native(_ object: AnyObject) -> Any? {
        switch String(describing: Swift.type(of: object)) {
        case "NSNull": nil
        case "__NSCFBoolean": object as? Bool
        case "NSNumber": number(object)
        case "NSDecimalNumber": decimal(object)
        case "NSString", "NSMutableString", "NSSimpleCString", "NSConstantString": object as? String
        case "NSArray", "NSMutableArray": object as? [Any]
        case "NSDictionary", "NSMutableDictionary": object as? [AnyHashable: Any]
        default: object
        }
    }

    private static func number(_ object: AnyObject) -> Any {
        let text = "\(object)"
        // 1.0 is equal to 1, but is no integer in JSON.
        let hasFraction = text.utf8.contains {
            $0 != UInt8(ascii: "-") && !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
        }
        if !hasFraction {
            if let integer = Int(text) { return integer }
            if UInt64(text) != nil { return GivenNumber(text) }
        }
        return object as? Double ?? object
    }

    /// By its text: the double that it returns is not always the nearest one.
    private static func decimal(_ object: AnyObject) -> Any {
        let text = "\(object)"
        if let integer = Int(text) { return integer }
        return text == "NaN" ? Double.nan : GivenNumber(text)
    }
}
