// Asks the atlas from Swift: the questions of questions.tsv as texts, and some of them as expressions of Swift, too.
//
//     ask-swift atlas.objstore <questions.tsv
//
// A line for each: the answer, the microseconds that it took (the fastest of five), the question. Where the question
// wants it, lines follow that say how it was found. The file was written by Python; ask.c and ask.py print the same.
import Glibc
import ObjStore

/// A place as GeoJSON has it, which GEOWITHIN takes: longitude, then latitude.
final class Point: EmbeddedObject {
    @Persisted var type: String
    @Persisted var coordinates: List<Double>
}

final class Country: Object {
    @Persisted(primaryKey: true) var iso: String
    @Persisted var name: String
    @Persisted var continent: String
    @Persisted var population: Int
    @Persisted var areakm2: Double
    @Persisted var neighbours: List<Country>
    @Persisted(originProperty: "country") var cities: LinkingObjects<City>
}

final class City: Object {
    @Persisted(primaryKey: true) var geonameid: Int
    @Persisted var name: String
    @Persisted var alternateNames: MutableSet<String>
    @Persisted var country: Country?
    @Persisted var location: Point?
    @Persisted(indexed: true) var population: Int
    @Persisted var timezone: String
}

/// Something wrong with what the program was given.
struct Wrong: Error, CustomStringConvertible {
    let description: String
}

struct Question {
    let name, className, kind, text: String
    let wantsPlan: Bool

    /// A line of the file: its columns, with tabs between them.
    init(_ line: String) throws {
        let columns = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard columns.count == 6 else { throw Wrong(description: "not 6 columns: \(line)") }
        (name, className, kind, text) = (columns[0], columns[1], columns[2], columns[5])
        wantsPlan = columns[3] == "plan"
    }
}

struct Atlas {
    let cities: Results<City>
    let countries: Results<Country>

    /// The answer to a text.
    func ask(_ question: Question) throws -> () throws -> String {
        switch question.className {
        case "City": { try answer(cities, question) }
        case "Country": { try answer(countries, question) }
        default: throw Wrong(description: "\(question.className) is neither City nor Country")
        }
    }

    private func answer<T: Object>(_ objects: Results<T>, _ question: Question) throws -> String {
        if question.kind == "count" { return "\(try objects.filter(question.text).count)" }
        let table = try objects.table(question.text)
        let columns = try table.columns.map { name in try table.column(name) }
        return (0..<table.count).map { row in columns.map { shown($0[row]) }.joined(separator: " ") }
            .joined(separator: ", ")
    }

    func plan(_ question: Question) throws -> String {
        question.className == "City"
            ? try cities.filter(question.text).explain(running: true)
            : try countries.filter(question.text).explain(running: true)
    }

    /// The answer to the same question as an expression, for some of them.
    func expression(_ question: Question) -> (() throws -> String)? {
        switch question.name {
        case "cities of over a million people": { "\(cities.where { $0.population > 1_000_000 }.count)" }
        case "cities called San …": { "\(cities.where { $0.name.starts(with: "San") }.count)" }
        case "cities with burg in their name":
            { "\(cities.where { $0.name.contains("burg", options: .caseInsensitive) }.count)" }
        case "cities that are also called Wien":
            { try names(cities.where { $0.alternateNames.contains("Wien") }.select { $0.name }) }
        case "Swiss cities of over 100,000 people":
            { "\(cities.where { $0.country.name == "Switzerland" && $0.population > 100_000 }.count)" }
        case "the ten largest cities":
            { try names(cities.sorted(by: \.population, ascending: false).limit(10).select { $0.name }) }
        case "countries of over 500 cities":
            { try names(countries.where { $0.cities.count > 500 }.sorted(by: \.iso).select { $0.iso }) }
        case "countries of over 100,000,000 people in cities":
            {
                let large = countries.where { $0.cities.population.sum > 100_000_000 }
                return try names(large.sorted(by: \.iso).select { $0.iso })
            }
        case "countries with 14 neighbours":
            { try names(countries.where { $0.neighbours.count == 14 }.sorted(by: \.iso).select { $0.iso }) }
        case "countries of each continent":
            {
                let continents = countries.group(by: { $0.continent }).sorted(by: { $0.count }, ascending: false)
                return try names(continents.select { ($0.continent, $0.count) }.map { "\($0) \($1)" })
            }
        case "countries of over 1,000 cities, and how many":
            {
                let large = cities.group(by: { $0.country }).having { $0.count > 1000 }
                let rows = try large.sorted(by: { $0.count }, ascending: false).select { ($0.country.name, $0.count) }
                return names(rows.map { "\($0) \($1)" })
            }
        default: nil
        }
    }

    private func names(_ rows: [String]) -> String { rows.joined(separator: ", ") }

    private func shown(_ value: AnyValue) -> String {
        if case .string(let text) = value { text } else { "\(value)" }
    }
}

func ask(_ question: Question, remark: String = "", _ answer: () throws -> String) throws {
    let clock = ContinuousClock()
    var fastest = Duration.seconds(600), found = ""
    for _ in 0..<5 {
        // What goes wrong in a property or in `count` is thrown here.
        fastest = min(fastest, try clock.measure { found = try Store.checked(answer) })
    }
    print("\(found)\t\(fastest.components.attoseconds / 1_000_000_000_000)\t\(question.name)\(remark)")
}

func run(_ arguments: [String]) throws {
    guard arguments.count == 2 else { throw Wrong(description: "usage: \(arguments[0]) FILE <questions.tsv") }
    var configuration = Store.Configuration(path: arguments[1], models: [City.self, Country.self, Point.self])
    configuration.access = .readOnly
    let store = try Store(configuration)
    let atlas = Atlas(cities: store.objects(City.self), countries: store.objects(Country.self))
    while let line = readLine() {
        if line.hasPrefix("#") { continue }
        let question = try Question(line)
        try ask(question, try atlas.ask(question))
        if question.wantsPlan {
            for step in try atlas.plan(question).split(separator: "\n") { print("  \(step)") }
        }
        if let expression = atlas.expression(question) { try ask(question, remark: "\tas an expression", expression) }
    }
}

do {
    try run(CommandLine.arguments)
} catch {
    let line = "\(error)\n"
    _ = line.withCString { write(2, $0, strlen($0)) }
    exit(error is Wrong ? 2 : 1)
}
