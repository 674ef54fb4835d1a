internal import ArgumentParser
internal import ObjStore

struct Query: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Asks a store, and prints what it finds.",
        discussion: """
            The language is that of docs/query-language.md: conditions, SORT, DISTINCT, LIMIT and OFFSET, and GROUP \
            and SELECT, which make a table. Of objects all single values are shown, of links the primary keys. \
            Without a text these are all objects of the class. The store is opened for reading.

              objstore query dogs.objstore Dog 'age > 2 SORT(age DESC) LIMIT(10)'
              objstore query dogs.objstore Dog 'GROUP(city) SELECT(city, @count AS n, @avg.age)' --csv

            The exit status is 0, or 2 where the store or the query cannot be read.
            """)

    @Argument(help: "The store's file.", completion: .file()) var file: String
    @Argument(help: "The class whose objects are asked about.") var className: String
    @Argument(help: "The query.") var text = ""

    enum Form: String, EnumerableFlag {
        case table, json, csv, explain

        static func name(for value: Form) -> NameSpecification { .long }
        static func help(for value: Form) -> ArgumentHelp? {
            switch value {
            case .table: "Print a table, the default."
            case .json: "Print a list of JSON objects, one a line."
            case .csv: "Print comma-separated values, as RFC 4180 has them."
            case .explain: "Ask, and print how the objects are found, and in what time."
            }
        }
    }
    @Flag(exclusivity: .exclusive) var form = Form.table

    func run() throws {
        do {
            var configuration = Store.Configuration(path: file)
            configuration.access = .readOnly
            let store = try Store(configuration)
            try Output.report(try printed(store), ends: false)
        } catch let error as ObjStoreError {
            Output.complain("objstore: \(error.message)")
            if let place = pointer(error) { Output.complain(place) }
            throw Tool.Outcome.impossible
        }
    }

    private func printed(_ store: Store) throws(ObjStoreError) -> String {
        switch try store.dynamicObjects(className).answer(text) {
        case .objects(let found):
            if form == .explain { return try found.explain(running: true) }
            let columns = try shownColumns(store)
            return Printed(try found.select(columns.map(\.path)), names: columns.map(\.name)).text(form)
        case .table(let make, let explain):
            if form == .explain { return try explain(true, false) }
            let table = try make()
            return Printed(table, names: table.columns).text(form)
        }
    }

    /// All single values; of a link the primary key of what it leads to, if that has one.
    private func shownColumns(_ store: Store) throws(ObjStoreError) -> [(name: String, path: [String])] {
        let schema = try store.schema
        guard let cls = schema[className] else {
            throw ObjStoreError(.noSuchClass, "there is no class \(className)")
        }
        return cls.properties.filter { $0.collection == nil }.map { property in
            guard let target = property.objectClassName.flatMap({ schema[$0] }), let key = target.primaryKeyProperty
            else { return (property.name, [property.name]) }
            return (property.name, [property.name, key.name])
        }
    }

    /// The query, and below it where it is wrong.
    private func pointer(_ error: ObjStoreError) -> String? {
        guard let position = error.position, position <= text.utf8.count, !text.isEmpty else { return nil }
        let before = String(decoding: text.utf8.prefix(position), as: UTF8.self)
        return "    \(text)\n    \(String(repeating: " ", count: before.count))^"
    }
}
