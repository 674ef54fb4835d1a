import CObjStore
import Testing

/// What is observed, as its change sets make it: a copy that goes by positions, and reads what stands at those that are
/// new.
class ObservedCopy {
    let name: String
    fileprivate(set) var lines: [String] = []
    private(set) var told = 0
    fileprivate let read: (OpaquePointer) throws -> [String]
    var token: OpaquePointer?

    init(_ name: String, _ read: @escaping (OpaquePointer) throws -> [String]) { (self.name, self.read) = (name, read) }

    static let handler: objstore_change_handler = { changes, userdata in
        let copy = Unmanaged<ObservedCopy>.fromOpaque(userdata!).takeUnretainedValue()
        do {
            copy.told += 1
            var info = objstore_changes_info_init(), view: OpaquePointer?
            try ok(objstore_changes_get_info(changes, &info))
            try ok(objstore_changes_view(changes, .OBJSTORE_AFTER, &view))
            try copy.follow(changes, info.flags & UInt32(OBJSTORE_CHANGES_INITIAL) != 0, view!)
        } catch {
            Issue.record("\(copy.name): \(error)")
            return .OBJSTORE_USER_STATUS
        }
        return .OBJSTORE_OK
    }
    var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The program has shown something itself.
    func shows(_ lines: [String]) { self.lines = lines }

    /// What a fresh look shows.
    func real(_ view: OpaquePointer) throws -> [String] { try read(view) }

    fileprivate func follow(_ changes: OpaquePointer?, _ isInitial: Bool, _ view: OpaquePointer) throws {
        let after = try read(view)
        if isInitial {
            lines = after
            return
        }
        func positions(_ change: objstore_change) throws -> [Int] {
            let found = try Self.positions(changes, change)
            if change != .OBJSTORE_MOVES_AFTER { #expect(found == found.sorted(), "\(name)") }
            return found
        }
        let gone = try positions(.OBJSTORE_DELETIONS) + positions(.OBJSTORE_MOVES)
        let come = try positions(.OBJSTORE_INSERTIONS) + positions(.OBJSTORE_MOVES_AFTER)
        for at in gone.sorted(by: >) { lines.remove(at: at) }
        for at in come.sorted() { lines.insert(after[at], at: at) }
        for at in try positions(.OBJSTORE_MODIFICATIONS_AFTER) { lines[at] = after[at] }
    }

    static func positions(_ changes: OpaquePointer?, _ change: objstore_change) throws -> [Int] {
        var objects: UnsafePointer<objstore_object>?, indices: UnsafePointer<UInt64>?, count = 0
        try ok(objstore_changes_list(changes, change, &objects, &indices, &count))
        if count == 0 { return [] }
        let places = try #require(indices, "\(count) of \(change) have no positions")
        return (0..<count).map { Int(places[$0]) }
    }

    static func objects(_ changes: OpaquePointer?, _ change: objstore_change) throws -> [objstore_object] {
        var objects: UnsafePointer<objstore_object>?, count = 0
        try ok(objstore_changes_list(changes, change, &objects, nil, &count))
        return (0..<count).map { objects![$0] }
    }
}

/// The same of a class, whose change sets have objects and no positions.
final class ObservedClassCopy: ObservedCopy {
    private var lineOf: [Int64: String] = [:]
    private let line: (OpaquePointer, Int64) throws -> String

    init(
        _ name: String, _ line: @escaping (OpaquePointer, Int64) throws -> String,
        _ keys: @escaping (OpaquePointer) throws -> [Int64]
    ) {
        self.line = line
        super.init(name) { view in try keys(view).map { "\($0): \(try line(view, $0))" } }
    }

    fileprivate override func follow(_ changes: OpaquePointer?, _ isInitial: Bool, _ view: OpaquePointer) throws {
        if isInitial {
            for each in try read(view) {
                let parts = each.split(separator: ":", maxSplits: 1)
                lineOf[Int64(parts[0])!] = String(parts[1].dropFirst())
            }
        }
        for object in try Self.objects(changes, .OBJSTORE_DELETIONS) {
            #expect(lineOf.removeValue(forKey: object.key) != nil, "\(name)")
        }
        for change in [objstore_change.OBJSTORE_INSERTIONS, .OBJSTORE_MODIFICATIONS] {
            for object in try Self.objects(changes, change) {
                #expect((lineOf[object.key] == nil) == (change == .OBJSTORE_INSERTIONS), "\(name)")
                lineOf[object.key] = try line(view, object.key)
            }
        }
        lines = lineOf.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
    }
}

/// The same of results in sections: a line for the key of each, and then its objects.
final class ObservedSectionsCopy: ObservedCopy {
    typealias Section = (key: String, lines: [String])
    private var sections: [Section] = []
    private let readSections: (OpaquePointer) throws -> [Section]

    init(_ name: String, _ read: @escaping (OpaquePointer) throws -> [Section]) {
        readSections = read
        super.init(name) { view in ObservedSectionsCopy.flat(try read(view)) }
    }

    private static func flat(_ sections: [Section]) -> [String] { sections.flatMap { ["# \($0.key)"] + $0.lines } }

    fileprivate override func follow(_ changes: OpaquePointer?, _ isInitial: Bool, _ view: OpaquePointer) throws {
        let after = try readSections(view)
        if isInitial { sections = after } else { try follow(changes, after) }
        lines = Self.flat(sections)
    }

    /// In the order that the header says.
    private func follow(_ changes: OpaquePointer?, _ after: [Section]) throws {
        func places(_ changed: [objstore_change]) throws -> [(section: Int, index: Int)] {
            var found: [(section: Int, index: Int)] = []
            for change in changed {
                var numbers: UnsafePointer<UInt64>?, count = 0
                try ok(objstore_changes_sections(changes, change, &numbers, &count))
                let indices = try Self.positions(changes, change)
                #expect(indices.count == count)
                for (at, index) in indices.enumerated() { found.append((Int(numbers![at]), index)) }
            }
            return found.sorted { ($0.section, $0.index) < ($1.section, $1.index) }
        }
        for place in try places([.OBJSTORE_DELETIONS, .OBJSTORE_MOVES]).reversed() {
            sections[place.section].lines.remove(at: place.index)
        }
        for at in try Self.positions(changes, .OBJSTORE_SECTION_DELETIONS).reversed() {
            #expect(sections.remove(at: at).lines.isEmpty, "\(name)")
        }
        for at in try Self.positions(changes, .OBJSTORE_SECTION_INSERTIONS) {
            sections.insert((after[at].key, []), at: at)
        }
        for place in try places([.OBJSTORE_INSERTIONS, .OBJSTORE_MOVES_AFTER]) {
            sections[place.section].lines.insert(after[place.section].lines[place.index], at: place.index)
        }
        for place in try places([.OBJSTORE_MODIFICATIONS_AFTER]) {
            sections[place.section].lines[place.index] = after[place.section].lines[place.index]
        }
    }
}
