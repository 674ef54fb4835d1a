public import ObjStore

// What throws in ObjStore and does not in Realm. The compiler prefers these where both are seen.

extension Object {
    /// An unmanaged object from a dictionary, an array, or any object by the names of its properties. What does not fit is reported, and the
    /// object has its defaults.
    public convenience init(value: Any) {
        self.init()
        do { try fill(from: value, ignoresUnknown: true) } catch { Store.reportOfNoStore(error) }
    }

    public final func setValue(_ value: Any?, forKey key: String) { reporting { try setValue(value, named: key) } }
    public final func value(forKey key: String) -> Any? {
        var found: Any?
        reporting { found = try value(named: key) }
        return found
    }

    private func reporting(_ body: () throws -> Void) {
        do { try body() } catch { report(error) }
    }
}

extension Results {
    /// Those that satisfy a comparison: `.filter("age < 2")`, `.filter("age < %@", 2)`. What is wrong with it is reported where the results
    /// are used.
    public func filter(_ predicate: String, _ arguments: Any...) -> Results { filtered(Predicate.text(predicate), arguments: arguments) }

    /// Sets a property of every object by name.
    public func setValue(_ value: Any?, forKey key: String) {
        do { _ = try setValue(value, named: key) } catch { report(error) }
    }
}

extension Results {
    /// Errors: `.noSuchProperty`, `.outOfRange`, those of `sum(of:)`. Of nothing it is 0.
    public func sum<Value: Summable>(ofProperty property: String) throws -> Value { try sum(named: property) }
    /// Nil of nothing.
    public func min<Value: Aggregatable>(ofProperty property: String) throws -> Value? { try min(named: property) }
    public func max<Value: Aggregatable>(ofProperty property: String) throws -> Value? { try max(named: property) }
}

extension List {
    public func append<S: Sequence>(contentsOf new: S) where S.Element == Element { append(objectsIn: new) }
    public func removeAll(where condition: (Element) throws -> Bool) rethrows {
        for index in try indices(where: condition).ranges.reversed() { removeSubrange(index) }
    }
}

extension Map {
    public func removeObject(for key: Key) { removeValue(forKey: key) }
}

extension LinkCollection {
    /// Sets a property of every object among the elements by name.
    public func setValue(_ value: Any?, forKey key: String) {
        do { _ = try setValue(value, named: key) } catch { report(error) }
    }
}

enum Predicate {
    /// `%@` and its like become `$0`, `$1`, …
    static func text(_ format: String) -> String {
        var text = "", number = 0, rest = format[...]
        var quote: Character?
        while let character = rest.popFirst() {
            if quote == nil, character == "%", let kind = rest.first, "@dfiu".contains(kind) {
                rest.removeFirst()
                text += "$\(number)"
                number += 1
                continue
            }
            if character == quote { quote = nil } else if quote == nil, character == "'" || character == "\"" { quote = character }
            text.append(character)
        }
        return text
    }
}
