// Asks the atlas from Swift, with classes of its own: how many objects satisfy a comparison.
//
//     ask-swift atlas.objstore City population '>' 1000000
//     ask-swift atlas.objstore City timezone == Europe/Zurich
//     ask-swift atlas.objstore City
//
// The file was written by Python; bindings/c/ask.c asks the same from C.
import Glibc
import ObjStore

final class City: Object {
    @Persisted(primaryKey: true) var geonameid: Int
    @Persisted var name: String
    @Persisted var countrycode: String
    @Persisted var latitude: Double
    @Persisted var longitude: Double
    @Persisted(indexed: true) var population: Int
    @Persisted var timezone: String
}

final class Country: Object {
    @Persisted(primaryKey: true) var iso: String
    @Persisted var name: String
    @Persisted var population: Int
    @Persisted var areakm2: Double
}

struct Usage: Error, CustomStringConvertible {
    var description: String { "usage: \(CommandLine.arguments[0]) FILE City|Country [PROPERTY COMPARISON VALUE]" }
}

func count<T: Object>(_ objects: Results<T>, _ question: [String]) throws -> Int {
    if question.isEmpty { return objects.count }
    let (property, comparison, text) = (question[0], question[1], question[2])
    let value: Any = if let number = Int(text) { number } else if let number = Double(text) { number } else { text }
    return try objects.filter("\(property) \(comparison) $0", value).count
}

func ask(_ arguments: [String]) throws -> Int {
    guard arguments.count == 3 || arguments.count == 6 else { throw Usage() }
    var configuration = Store.Configuration(path: arguments[1], models: [City.self, Country.self])
    configuration.access = .existing
    let store = try Store(configuration)
    let question = Array(arguments[3...])
    // What goes wrong in a property or in `count` is thrown here.
    return try Store.checked {
        switch arguments[2] {
        case "City": try count(store.objects(City.self), question)
        case "Country": try count(store.objects(Country.self), question)
        default: throw Usage()
        }
    }
}

do {
    print(try ask(CommandLine.arguments))
} catch {
    let line = "\(error)\n"
    _ = line.withCString { write(2, $0, strlen($0)) }
    exit(error is Usage ? 2 : 1)
}
