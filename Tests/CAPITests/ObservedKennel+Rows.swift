import CObjStore
import Testing

/// Tables, and plain values that queries find, among what the kennel observes.
extension ObservedKennel {
    func watchRows(_ flags: UInt32) throws {
        let hound = named.classes["Hound"]!
        for (name, text) in [
            ("table", "age >= 0 SORT(name ASC) SELECT(name, age, keeper.name AS keeper)"),
            ("ages", "GROUP(age) SELECT(age, @count, @max.age)"),
            ("by whom", "GROUP(keeper.name) SORT(@count DESC) SELECT(keeper.name, @count, @sum.age)"),
            ("all", "age < 10 GROUP() SELECT(@count, @avg.age)"),
        ] {
            let query = try CAPITests.query(view, hound, text)
            defer { _ = objstore_query_close(query) }
            let copy = ObservedCopy(name) { [unowned self] view in
                let query = try CAPITests.query(view, hound, text)
                defer { _ = objstore_query_close(query) }
                var table: OpaquePointer?
                try ok(objstore_query_table(query, view, &table))
                defer { _ = objstore_table_close(table) }
                return try tableLines(table)
            }
            try observe(copy) { copy in
                objstore_query_observe(query, watching, flags, ObservedCopy.handler, copy.me, nil, &copy.token)
            }
        }
        for (name, property, text) in [
            ("some words", "words", "@self > 'a'"), ("last words", "words", "SORT(@self DESC) LIMIT(3)"),
            ("great numbers", "numbers", "@self > 3060"), ("some notes", "notes", "@self < 7 SORT(@self ASC)"),
        ] {
            let query = try valueQuery(view, property, text)
            defer { _ = objstore_query_close(query) }
            let copy = ObservedCopy(name) { [unowned self] view in
                let query = try valueQuery(view, property, text)
                defer { _ = objstore_query_close(query) }
                var values: OpaquePointer?
                try ok(objstore_query_find_values(query, view, &values))
                defer { _ = objstore_values_close(values) }
                return try valueLines(values)
            }
            try observe(copy) { copy in
                objstore_query_observe(query, watching, flags, ObservedCopy.handler, copy.me, nil, &copy.token)
            }
        }
    }

    private func valueQuery(_ view: OpaquePointer, _ property: String, _ condition: String) throws -> OpaquePointer {
        var query: OpaquePointer?
        try ok(objstore_query_values(view, collection(property), text(condition), nil, 0, &query))
        return query!
    }
}

/// The rows of a table.
func tableLines(_ table: OpaquePointer?) throws -> [String] {
    var rows: UInt64 = 0, columns = 0
    try ok(objstore_table_size(table, &rows, &columns))
    return try (0..<rows).map { row in
        try (0..<columns).map { column in
            var value = objstore_null()
            try ok(objstore_table_value(table, row, column, &value))
            return shown(value)
        }.joined(separator: " ")
    }
}

func valueLines(_ values: OpaquePointer?) throws -> [String] {
    var elements = [objstore_value](repeating: objstore_null(), count: 300), keys = elements, count = 0
    try ok(objstore_values_read(values, 0, 300, &elements, nil, &keys, &count))
    return (0..<count).map { at in
        keys[at].kind == .OBJSTORE_KIND_NULL ? shown(elements[at]) : "\(shown(keys[at])): \(shown(elements[at]))"
    }
}

private func shown(_ value: objstore_value) -> String {
    switch value.kind {
    case .OBJSTORE_KIND_INT: "\(value.data.integer)"
    case .OBJSTORE_KIND_DOUBLE: "\(value.data.real)"
    default: string(value) ?? "null"
    }
}
