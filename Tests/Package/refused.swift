// What the compiler says of a type that cannot be persisted, and of a condition that cannot be asked. examples.sh
// looks for the text of each comment among the errors of its line.
import Foundation
import ObjStore

enum Colour: String { case red, green }
struct Code: FailableCustomPersistable {
    let persistableValue: String
    init?(persistedValue: String) {
        if persistedValue.isEmpty { return nil }
        persistableValue = persistedValue
    }
}
class Person: Object {
    @Persisted var name = ""
    @Persisted var count = 0
    @Persisted var boss: Person?
    @Persisted var friends: List<Person>
    @Persisted var tags: MutableSet<String>
    @Persisted var notes: Map<String, Int>
    @Persisted(originProperty: "boss") var staff: LinkingObjects<Person>
}

class Refused: Object {
    @Persisted var a: UInt  // integers are stored with a sign: declare it as Int
    @Persisted var b: UInt8  // integers are stored with a sign: declare it as Int16
    @Persisted var c = UInt64(1)  // integers are stored with a sign: declare it as Int, or as Decimal128
    @Persisted var d: [String]  // declare it as List<String>
    @Persisted var e = [1, 2]  // declare it as List<Int>
    @Persisted var f: [Person]  // declare it as List<…> of this class
    @Persisted var g: [String]?  // declare it as List<String>
    @Persisted var h: [[UInt8]]  // declare it as List<…>
    @Persisted var i: [Date] = []  // declare it as List<Date>
    @Persisted var j: [String: Int] = [:]  // declare it as Map<String, …>, or as AnyValue
    @Persisted var k: Set<String> = []  // declare it as MutableSet<…>
    @Persisted var l: Character = "x"  // declare it as String
    @Persisted var m: URL  // conform to 'Persistable'
    @Persisted var n = Decimal(1)  // declare it as Decimal128
    @Persisted var o: Person  // a link is optional
    @Persisted var p: Colour  // conform to 'Persistable'
    @Persisted var q: Any  // cannot conform to 'Persistable'
    @Persisted var r: List<[String]>  // declare it as List<String>
    @Persisted var s: UInt?  // integers are stored with a sign: declare it as Int
    @Persisted var t: URL?  // conform to '_OptionalPersistable'
    @Persisted var u: Decimal?  // declare it as Decimal128
    @Persisted var v: Character?  // declare it as String
    @Persisted var w: Substring?  // declare it as String
    @Persisted var x: [String: Int]?  // declare it as Map<String, …>, or as AnyValue
    @Persisted var y: Set<String>?  // declare it as MutableSet<…>
    @Persisted var z: AnyValue?  // an AnyValue can be .none
    @Persisted var ab: List<String>?  // a list is empty rather than nil
    @Persisted var ac: List<URL>  // conform to protocol 'CollectionElement'
    @Persisted var ad: List<UInt8>  // declare it as Int16
    @Persisted var ae: List<[String: Int]>  // declare it as Map<String, …>, or as AnyValue
    @Persisted var af: List<List<Int>>  // lists in each other are List<AnyValue>
    @Persisted var ag: [UInt16]  // declare it as List<Int32>
    @Persisted var ah: [URL] = []  // declare it as List<String>
    @Persisted var ai: Map<String, UInt>  // integers are stored with a sign
    @Persisted var aj: List<Code>  // conform to protocol 'CollectionElement'
    @Persisted var code = Code(persistedValue: "a")!
    @Persisted(unique: true) var other: Code?
    @Persisted var bytes: [UInt8] = []
    @Persisted var many: List<[UInt8]>
    @Persisted var some: [UInt8]?
}

class View: Projection<Person> {
    @Projected(\Person.name) var name
    @Projected(\Person.nme) var other  // member 'nme'
    @Projected(\Code.persistableValue) var code  // requires that 'Code' inherit from 'Object'
    @Projected(\Person.friends.projectTo.nme) var names: ProjectedCollection<String>  // member 'nme'
}

struct NoObject {
    @Persisted var a = 1  // @Persisted works in classes derived from Object only
}

func ask(_ store: Store, _ ann: Person) {
    let people = store.objects(Person.self)
    _ = people.where { $0.name == "Ada" && $0.count + 1 > 2 || !$0.name.starts(with: "B") }
    _ = people.where { $0.nme == "Ada" }  // no dynamic member 'nme'
    _ = people.where { $0.name == "Ada" && ($0.count < 3 || $0.boss.nme == "Bea") }  // no dynamic member 'nme'
    _ = people.where { $0.count == "one" }  // cannot convert value of type 'String' to expected argument type 'Int'
    _ = people.where { $0.count == nil }  // 'nil' is not compatible with expected argument type 'Int'
    _ = people.where { $0.count == $0.name }  // and 'String' be equivalent
    _ = people.where { $0.name + 1 == 2 }  // cannot convert value of type 'Query<String>'
    _ = people.where { $0.name }  // cannot convert value of type 'Query<String>' to closure result type 'Query<Bool>'
    _ = people.where { $0.boss < ann }  // requires that 'Person' conform to 'OrderedQueryOperand'
    _ = people.where { $0.count.links(to: ann) }  // requires that 'Int' conform to '_LinkHolder'
    _ = people.where { $0.count.contains("x") }  // no exact matches in call to instance method 'contains'
    _ = people.sorted(by: \Person.nme)  // no member 'nme'
    let views = store.objects(View.self)
    _ = views.where { $0.name == "Ada" && $0.boss.name == "Bea" }
    _ = views.where { $0.other == "Ada" }  // no dynamic member 'other'
}
