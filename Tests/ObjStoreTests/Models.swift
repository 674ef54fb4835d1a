import Glibc
import ObjStore
import Synchronization

enum Color: String, PersistableEnum { case brown, black, white }
enum Size: Int, PersistableEnum { case small = 1, large = 2 }

final class Dog: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted(indexed: true) var age = 0
    @Persisted var weight: Double?
}

/// Without a primary key.
final class Toy: Object {
    @Persisted var label = "ball"
    @Persisted var price: Double
}

/// One property of every type, required and optional.
final class Everything: Object {
    @Persisted(primaryKey: true) var key: String
    @Persisted var flag: Bool
    @Persisted var number: Int
    @Persisted var tiny: Int8
    @Persisted var short: Int16
    @Persisted var medium: Int32
    @Persisted var long: Int64
    @Persisted var real: Double
    @Persisted var text: String
    @Persisted var bytes: [UInt8]
    @Persisted var time: Timestamp
    @Persisted var color: Color
    @Persisted var size: Size
    @Persisted var flagOrNot: Bool?
    @Persisted var numberOrNot: Int?
    @Persisted var tinyOrNot: Int8?
    @Persisted var realOrNot: Double?
    @Persisted var textOrNot: String?
    @Persisted var bytesOrNot: [UInt8]?
    @Persisted var timeOrNot: Timestamp?
    @Persisted var colorOrNot: Color?
    @Persisted var sizeOrNot: Size?
}

/// The kennel, owners and other models of the acceptance scenarios, as far as this version can store them.
final class KennelDog: Object {
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var color = ""
}
final class WPerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
}
final class Team: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
}
final class Turtle: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String?
    @Persisted var age = 0
}
final class TurtleEnthusiast: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String?
    @Persisted var age = 0
}
final class TodoItem: Object {
    @Persisted(primaryKey: true) var id: String
    @Persisted var name: String
    @Persisted var status: String
    @Persisted var assignee: String
}

/// A folder of its own for each test, removed when the test is done.
final class Folder {
    let path: String

    init() {
        var template = Array("/tmp/objstore-swift-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    }

    func file(_ name: String = "test.objstore") -> String { path + "/" + name }

    deinit {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != "." && name != ".." { unlink(path + "/" + name) }
            }
            closedir(folder)
        }
        rmdir(path)
    }
}

func memoryStore(_ models: [Object.Type]) throws -> Store { try Store(Store.Configuration(.memory(), models: models)) }

/// Runs bodies on threads of their own and waits for all of them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
    final class Job: Sendable {
        let number: Int
        let body: @Sendable (Int) -> Void
        init(_ number: Int, _ body: @escaping @Sendable (Int) -> Void) {
            self.number = number
            self.body = body
        }
    }
    var threads: [pthread_t] = []
    for number in 0..<count {
        var thread = pthread_t()
        let job = Unmanaged.passRetained(Job(number, body)).toOpaque()
        let code = pthread_create(
            &thread, nil,
            { argument in
                let job = Unmanaged<Job>.fromOpaque(argument!).takeRetainedValue()
                job.body(job.number)
                return nil
            }, job)
        precondition(code == 0)
        threads.append(thread)
    }
    for thread in threads { pthread_join(thread, nil) }
}

/// Carries what is not `Sendable` to another thread, where the test knows better.
struct Carried<T>: @unchecked Sendable { let value: T }

/// Collects errors from any thread.
final class Errors: Sendable {
    private let list = Mutex<[ObjStoreError]>([])
    var all: [ObjStoreError] { list.withLock { $0 } }
    func add(_ error: ObjStoreError) { list.withLock { $0.append(error) } }

    /// All of them, once there are this many: another thread reports a write that was left after it has made room for
    /// the next one.
    func all(_ count: Int) async -> [ObjStoreError] {
        while all.count < count { await Task.yield() }
        return all
    }
}

/// The error of this code that a body throws; nil, and nothing else, where it throws none.
func code<R>(_ body: () throws -> R) -> ObjStoreError.Code? {
    do { _ = try body() } catch { return (error as? ObjStoreError)?.code ?? .internalError }
    return nil
}
