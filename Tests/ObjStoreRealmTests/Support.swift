import ObjStoreRealm
import Synchronization
import Testing

// The examples of Realm's documentation check themselves with XCTest's functions.
func XCTAssertEqual<T: Equatable>(_ a: T, _ b: T, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(a == b, sourceLocation: sourceLocation)
}
func XCTAssertNotEqual<T: Equatable>(_ a: T, _ b: T, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(a != b, sourceLocation: sourceLocation)
}

/// The code of every example of the documents, in which `Realm()` opens a store in memory of its own for each test.
/// What differs from the documents is the import alone, and that the classes are named.
@Suite(.serialized) enum RealmExamples {
    private static let number = Atomic<Int>(0)

    static func useRealm(of types: Object.Type...) {
        let number = number.add(1, ordering: .relaxed).newValue
        Realm.Configuration.defaultConfiguration = Realm.Configuration(
            inMemoryIdentifier: "examples \(number)", objectTypes: types)
    }
}
