import Testing

import ObjStoreCore

/// A collection tree beside arrays that say what must be in it.
final class CollectionSubject {
    enum Form: Sendable { case list, set, map }
    /// `addresses`: texts that begin alike, some in more bytes than an inner node keeps of them.
    enum Content: Sendable { case integers, small, texts, longTexts, addresses, anything }
    typealias Entry = (key: CollectionSample, value: CollectionSample)

    let form: Form
    let file = IndexFile()
    let space: WriteSpace
    let writer: CollectionWriter
    private(set) var model: [Int64: [Entry]] = [:]
    private var committed: [Int64: [Entry]] = [:]
    private var committedRoot = Ref.null
    private var live: [Int: Int] = [:]

    init(_ form: Form, tiny: Bool) {
        self.form = form
        space = file.space
        var limits = CollectionLimits.standard
        if tiny {
            limits.leafElements = 2
            limits.leafBytes = 160
            limits.innerChildren = 3
        }
        writer = CollectionWriter(
            space: space, root: .null, hasKeys: form == .map, isOrdered: form != .list, limits: limits)
    }

    var reader: CollectionReader { writer.reader }

    // MARK: Doing

    func insertAndRemove(_ insertion: [Int], _ removal: [Int], owners: Int64 = 1) throws {
        for rank in insertion {
            let owner = Int64(rank) % owners
            let at = (model[owner] ?? []).firstIndex { $0.value > .integer(Int64(rank)) } ?? (model[owner] ?? []).count
            try replace(owner, at..<at, [(.null, .integer(Int64(rank)))])
        }
        try compare()
        for rank in removal {
            let owner = Int64(rank) % owners
            let at = model[owner]!.firstIndex { $0.value == .integer(Int64(rank)) }!
            try replace(owner, at..<at + 1, [])
        }
        #expect(writer.root.isNull)
        file.arena.reset()
    }

    /// `positions` are among the owner's elements.
    func replace(_ owner: Int64, _ positions: Range<Int>, _ entries: [Entry]) throws {
        let start = try reader.range(owner).lowerBound
        let holder = SampleHolder()
        defer { withExtendedLifetime(holder) {} }
        try writer.replace(
            owner, start + positions.lowerBound..<start + positions.upperBound,
            with: entries.map { (holder.value($0.key), holder.value($0.value)) }[...])
        var all = model[owner] ?? []
        all.replaceSubrange(positions, with: entries)
        model[owner] = all.isEmpty ? nil : all
    }

    func step(_ random: inout IndexRandom, _ content: Content) throws {
        // Owners with many elements fill inner nodes of their own: only those keep what their keys have in common.
        let owner = Int64(content == .addresses ? random.below(2) : random.below(random.below(4) == 0 ? 3 : 40))
        let elements = model[owner] ?? []
        switch random.below(100) {
        case 0..<45: try insert(owner, &random, content, count: 1)
        case 45..<50: try insert(owner, &random, content, count: random.below(40))
        case 50..<75 where !elements.isEmpty:
            let at = random.below(elements.count)
            try replace(owner, at..<at + 1, [])
        case 75..<80 where !elements.isEmpty:
            let from = random.below(elements.count)
            try replace(owner, from..<from + random.below(elements.count - from + 1), [])
        case 80..<86 where !elements.isEmpty && form != .set:
            let at = random.below(elements.count)
            try replace(owner, at..<at + 1, [(elements[at].key, .random(&random, content))])
        case 86..<88 where content != .addresses || random.below(8) == 0:
            try writer.removeAll(owner)
            model[owner] = nil
        case 88..<92: try look(owner, &random, content)
        case 92: try compare()
        case 93: try commit()
        case 94: try savepoint(&random, content)
        case 95 where random.below(20) == 0:
            try writer.discardAll()
            model = [:]
        default: break
        }
    }

    private func insert(_ owner: Int64, _ random: inout IndexRandom, _ content: Content, count: Int) throws {
        let entries = (0..<count).map { _ in
            (
                key: form == .map ? CollectionSample.random(&random, content).shortened : .null,
                value: CollectionSample.random(&random, content)
            )
        }
        let elements = model[owner] ?? []
        if form == .list {
            let at = random.below(3) == 0 ? elements.count : random.below(elements.count + 1)
            return try replace(owner, at..<at, entries)
        }
        for entry in entries {
            let wanted = form == .map ? entry.key : entry.value
            let holder = SampleHolder()
            defer { withExtendedLifetime(holder) {} }
            let (position, found) = try reader.search(owner, holder.value(wanted))
            let start = try reader.range(owner).lowerBound, known = model[owner] ?? []
            let place = known.firstIndex { !((form == .map ? $0.key : $0.value) < wanted) } ?? known.count
            let exists = place < known.count && (form == .map ? known[place].key : known[place].value) == wanted
            try expect(found == exists, "search finds \(found), not \(exists)")
            try expect(
                position - start == place || known.isEmpty, "search finds place \(position - start), not \(place)")
            if exists {
                if form == .map { try replace(owner, place..<place + 1, [entry]) }
            } else {
                try replace(owner, place..<place, [entry])
            }
        }
    }

    private func look(_ owner: Int64, _ random: inout IndexRandom, _ content: Content) throws {
        let elements = model[owner] ?? []
        let range = try reader.range(owner)
        try expect(range.count == elements.count, "owner \(owner) has \(range.count) elements, not \(elements.count)")
        if elements.isEmpty { return }
        let at = random.below(elements.count)
        let (key, value) = try reader.entry(at: range.lowerBound + at)
        try expect(CollectionSample(value) == elements[at].value, "value \(at) of \(owner)")
        if form == .map { try expect(CollectionSample(key) == elements[at].key, "key \(at) of \(owner)") }
    }

    private func savepoint(_ random: inout IndexRandom, _ content: Content) throws {
        let mark = space.mark(), root = writer.root, before = model
        for _ in 0..<random.below(12) { try step(&random, content, insideSavepoint: true) }
        if random.below(2) == 0 {
            space.rollBack(to: mark)
            writer.begin(root: root)
            model = before
        } else {
            space.release(mark)
        }
        try compare()
    }

    private func step(_ random: inout IndexRandom, _ content: Content, insideSavepoint: Bool) throws {
        let owner = Int64(random.below(40)), count = model[owner]?.count ?? 0
        if random.below(3) > 0 { return try insert(owner, &random, content, count: 1 + random.below(5)) }
        if count > 0 {
            let from = random.below(count)
            try replace(owner, from..<from + random.below(count - from + 1), [])
        }
    }

    /// A commit: what it changed is compared with what the models say, and what it freed with what was reachable.
    func commit() throws {
        let old = CollectionReader(source: file.source, root: committedRoot), oldVersion = file.version - 1
        let root = try file.commit { (placer) throws(StoreError) in try self.writer.flush(into: placer) }
        let new = CollectionReader(source: file.source, root: root)
        var changed: [Int64] = []
        try CollectionComparison.forEachChangedOwner(from: old, of: oldVersion, to: new) { changed.append($0) }
        let owners = Set(model.keys).union(committed.keys)
        let expected = owners.filter { !Self.same(model[$0] ?? [], committed[$0] ?? []) }.sorted()
        try expect(changed == expected, "changed owners \(changed), not \(expected)")
        var reached: [Int: Int] = [:]
        try new.forEachExtent { extent in
            precondition(reached[extent.unit] == nil, "two extents at \(extent.unit)")
            reached[extent.unit] = extent.units
        }
        for freed in space.freed {
            let units = live.removeValue(forKey: freed.unit)
            try expect(units == freed.units, "freed \(freed.units) units at \(freed.unit), where \(units ?? 0) were")
        }
        for (unit, units) in live {
            try expect(reached[unit] == units, "an extent at \(unit) is neither freed nor reached")
        }
        live = reached
        committed = model
        committedRoot = root
        space.begin(file.source, version: 0, spillLimit: .max)
        writer.begin(root: root)
        try compare()
    }

    private static func same(_ a: [Entry], _ b: [Entry]) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { $0.key == $1.key && $0.value == $1.value }
    }

    // MARK: Comparing

    func compare() throws {
        try reader.checkInvariants(hasKeys: form == .map, isOrdered: form != .list)
        try expect(try reader.count() == model.values.reduce(0) { $0 + $1.count }, "count of all")
        var position = 0
        for owner in model.keys.sorted() {
            let elements = model[owner]!
            try expect(try reader.range(owner) == position..<position + elements.count, "range of \(owner)")
            var cursor = try reader.cursor(at: position)
            for (index, element) in elements.enumerated() {
                if index > 0 { try expect(try cursor.advance(), "the tree ends early") }
                try expect(CollectionSample(try cursor.value) == element.value, "value \(index) of \(owner)")
                if form == .map { try expect(CollectionSample(cursor.key) == element.key, "key \(index) of \(owner)") }
            }
            position += elements.count
        }
        for absent in [Int64(1000), 41] where model[absent] == nil {
            try expect(try reader.range(absent).isEmpty, "an owner without elements")
        }
    }

    private struct Difference: Error, CustomStringConvertible { var description: String }
    private func expect(_ condition: Bool, _ text: @autoclosure () -> String) throws {
        if !condition { throw Difference(description: text()) }
    }
}

/// A value as the tests think of it, ordered without the engine's help: by kind, then by value.
enum CollectionSample: Hashable, Comparable {
    case null, bool(Bool), integer(Int64), double(Double), text([UInt8]), binary([UInt8]), time(Int64, Int32), uuid(
        [UInt8])

    private var rank: Int {
        switch self {
        case .null: 0
        case .bool: 1
        case .integer: 2
        case .double: 4
        case .text: 6
        case .binary: 7
        case .time: 8
        case .uuid: 10
        }
    }

    static func < (a: CollectionSample, b: CollectionSample) -> Bool {
        switch (a, b) {
        case (.bool(let x), .bool(let y)): return !x && y
        case (.integer(let x), .integer(let y)): return x < y
        case (.double(let x), .double(let y)): return x < y
        case (.text(let x), .text(let y)), (.binary(let x), .binary(let y)), (.uuid(let x), .uuid(let y)):
            return comesBefore(x, y)
        case (.time(let s, let n), .time(let t, let m)): return s < t || s == t && n < m
        default: return a.rank < b.rank
        }
    }

    init(_ value: Value) {
        func bytes() -> [UInt8] {
            value.count == 0 ? [] : [UInt8](UnsafeRawBufferPointer(start: value.pointer!, count: value.count))
        }
        switch value.kind {
        case .null: self = .null
        case .bool: self = .bool(value.low != 0)
        case .double: self = .double(value.asDouble)
        case .string: self = .text(bytes())
        case .binary: self = .binary(bytes())
        case .timestamp: self = .time(value.low, Int32(value.high))
        case .uuid:
            self = .uuid(
                [UInt8](unsafeUninitializedCapacity: 16) {
                    ValueCell.store(value, $0.baseAddress!); $1 = 16
                })
        default: self = .integer(value.low)
        }
    }

    static func random(_ random: inout IndexRandom, _ content: CollectionSubject.Content) -> CollectionSample {
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(97 + random.below(4)) } }
        switch content {
        case .integers:
            return .integer(random.below(10) == 0 ? Int64(bitPattern: random.next()) : Int64(random.below(2000)) - 1000)
        case .small: return random.below(2) == 0 ? .null : .bool(random.below(2) == 0)
        case .texts: return .text(bytes(random.below(random.below(10) == 0 ? 200 : 8)))
        case .addresses:
            let host =
                [UInt8]("https://www.example.org/".utf8) + [UInt8](repeating: 47, count: random.below(8) == 0 ? 100 : 0)
            return .text(random.below(60) == 0 ? bytes(random.below(3)) : host + bytes(random.below(12)))
        case .longTexts: return .text(bytes(random.below(4) == 0 ? 400 + random.below(3000) : random.below(12)))
        case .anything:
            switch random.below(9) {
            case 0: return .null
            case 1: return .bool(random.below(2) == 0)
            case 2: return .double(Double(random.below(1000)) / 8)
            case 3: return .text(bytes(random.below(20)))
            case 4: return .binary(bytes(random.below(5)))
            case 5: return .time(Int64(random.below(1 << 40)), Int32(random.below(1_000_000_000)))
            case 6: return .uuid((0..<16).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            default: return .integer(Int64(bitPattern: random.next()) >> Int64(random.below(60)))
            }
        }
    }

    /// As a key of a map: texts of at most 300 bytes.
    var shortened: CollectionSample {
        if case .text(let bytes) = self { return .text(Array(bytes.prefix(300))) }
        return self
    }
}

/// Keeps the bytes of values alive, and overwrites them when it goes.
final class SampleHolder {
    private var kept: [UnsafeMutableRawBufferPointer] = []

    func value(_ sample: CollectionSample) -> Value {
        switch sample {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .integer(let value): return .int(value)
        case .double(let value): return .double(value)
        case .time(let seconds, let nanoseconds): return .timestamp(seconds: seconds, nanoseconds: nanoseconds)
        case .uuid(let bytes): return bytes.withUnsafeBytes { .uuid($0.baseAddress!) }
        case .text(let bytes): return .string(keep(bytes), bytes.count)
        case .binary(let bytes): return .binary(keep(bytes), bytes.count)
        }
    }

    private func keep(_ bytes: [UInt8]) -> UnsafeRawPointer? {
        if bytes.isEmpty { return nil }
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        copy.copyBytes(from: bytes)
        kept.append(copy)
        return UnsafeRawPointer(copy.baseAddress!)
    }

    deinit {
        for buffer in kept {
            buffer.initializeMemory(as: UInt8.self, repeating: 0xdd)
            buffer.deallocate()
        }
    }
}
