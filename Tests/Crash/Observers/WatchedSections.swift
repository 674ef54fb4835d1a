import ObjStoreCore

/// What says the section of an object: for the library, and for plain loops.
struct WatchedSections: Sendable {
    /// As queries have it.
    let path: String
    let order: Sections.Flags
    /// The key of the one section that is observed.
    let one: Int64?
    /// Of the section of an object; -1: null.
    let key: @Sendable (WatchedContent, Int64) -> Int64
    /// The answer without sections.
    let list: WatchedKind.Content

    func copy(_ model: WatchedContent, _ owner: Int64) -> SectionedCopy {
        SectionedCopy(of: list(model, owner), order, one: one) { key(model, $0) }
    }
}

extension WatchedKind {
    /// The same in sections.
    fileprivate func inSections(
        by path: String, _ order: Sections.Flags = [], one: Int64? = nil,
        key: @escaping @Sendable (_ content: WatchedContent, _ object: Int64) -> Int64
    ) -> WatchedKind {
        let name = "\(name.isEmpty ? "all" : name) by \(path)\(one.map { ", of \($0)" } ?? "")"
        var kind = WatchedKind(name: name, kind: kind, way: way, paths: paths, needs: needs, content: content)
        if path == "mark", self.kind == .item, !needs.contains(path) { kind.needs.append(path) }
        let sections = WatchedSections(path: path, order: order, one: one, key: key, list: content)
        kind.sections = sections
        kind.content = { model, owner in sections.copy(model, owner).objects }
        return kind
    }

    static let sectioned: [WatchedKind] = [
        everything.inSections(by: "mark", .ascending, key: mark),
        everything.inSections(by: "tag.number", key: tagNumber),
        everything.inSections(by: "tag.mark", one: 1) { model, item in
            model.tag(of: model[.item, item]!)?.mark ?? -1
        },
        asked(.item, "~number < 60 SORT(~number DESC)") { model in
            model.sorted(model.keys(.item) { $0.number < 60 }, .item) { $0.number > $1.number }
        }.inSections(by: "mark", key: mark),
        asked(.item, "SORT(mark ASC, ~number DESC)") { model in
            model.sorted(model.keys(.item), .item) { ($0.mark, $1.number) < ($1.mark, $0.number) }
        }.inSections(by: "tag.number", .descending, key: tagNumber),
        asked(.item, "SORT(tag.number ASC)", paths: ["part"]) { model in
            model.sorted(model.keys(.item), .item) { a, b in
                (model.tag(of: a)?.number ?? -1) < (model.tag(of: b)?.number ?? -1)
            }
        }.inSections(by: "mark", key: mark),
        asked(.item, "SORT(~number ASC) LIMIT(6)") { model in
            Array(model.sorted(model.keys(.item), .item) { $0.number < $1.number }.prefix(6))
        }.inSections(by: "mark", .descending, key: mark),
        asked(.item, "SORT(~number DESC)") { model in
            model.sorted(model.keys(.item), .item) { $0.number > $1.number }
        }.inSections(by: "mark", .ascending, one: 2, key: mark),
        asked(.item, "tag.number > 20", paths: ["part", "tag"]) { model in
            model.keys(.item) { (model.tag(of: $0)?.number ?? 0) > 20 }
        }.inSections(by: "part.number") { model, item in model.part(of: model[.item, item]!)?.number ?? -1 },
        asked(.item, "SORT(mark DESC) DISTINCT(~number)") { model in
            var numbers: Set<Int64> = []
            return model.sorted(model.keys(.item), .item) { $0.mark > $1.mark }.filter {
                numbers.insert(model[.item, $0]!.number).inserted
            }
        }.inSections(by: "~number / 20", .ascending) { model, item in model[.item, item]!.number / 20 },
        parts[0].inSections(by: "mark", key: mark),
        asked(.tag, "SORT(number ASC)") { model in model.sorted(model.keys(.tag), .tag) { $0.number < $1.number } }
            .inSections(by: "mark", .descending) { model, tag in model[.tag, tag]!.mark },
        asked(.tag, "number < 80") { $0.keys(.tag) { $0.number < 80 } }
            .inSections(by: "items.@count") { model, tag in Int64(model[.tag, tag]!.items.count) },
    ]

    private static let everything = asked(.item, "") { $0.keys(.item) }
    private static let mark: @Sendable (WatchedContent, Int64) -> Int64 = { $0[.item, $1]!.mark }
    private static let tagNumber: @Sendable (WatchedContent, Int64) -> Int64 = { model, item in
        model.tag(of: model[.item, item]!)?.number ?? -1
    }
}

extension WatchedReader {
    func wantedSections(_ content: WatchedContent) -> SectionedCopy? {
        guard let sections = kind.sections else { return nil }
        return exists(in: content) ? sections.copy(content, owner) : SectionedCopy(of: [], [], one: sections.one)
    }

    /// Whether he has what a version has.
    func isSectioned(as content: WatchedContent) -> Bool {
        guard let sectioned, let wanted = wantedSections(content) else { return true }
        return sectioned.isSame(as: wanted)
    }

    /// Does what a change set says.
    func applySections(_ changes: ChangeSet) -> String? {
        let problem = sectioned!.take(changes) { self.section($0) }
        copy = sectioned!.objects
        return problem.map { "sections: \(name), \($0)" }
    }

    /// Texts are those of marks.
    private func section(_ key: Value) -> Int64 {
        switch key.kind {
        case .null: return -1
        case .string: return Int64(String(key).dropFirst()) ?? .min
        default: return key.low
        }
    }

    /// Which sections came and went, and that objects have moved whose sections are others, and as few of the others as
    /// possible.
    func checkSections(_ changes: ChangeSet, _ step: WatchedStep, _ before: SectionedCopy) -> String? {
        let after = sectioned!, told = changes.sections!.keys
        let old = before.keys, new = after.keys
        let deleted = told.deleted.map(section), inserted = told.inserted.map(section)
        let elsewhere = Set(deleted).intersection(inserted)
        if Set(deleted) != Set(old).subtracting(new).union(elsewhere)
            || Set(inserted) != Set(new).subtracting(old).union(elsewhere)
        {
            return "sections: \(name): \(deleted) and \(inserted) are told of \(before), now \(after)"
        }
        let least = WatchedReader.leastMoves(old.filter(new.contains), new.filter(old.contains))
        if elsewhere.count > least {
            return "moves: \(name): sections \(elsewhere.sorted()) stand elsewhere, where \(least) would do"
        }
        if Set(copy).count < copy.count || Set(before.objects).count < before.objects.count { return nil }
        let moved = Set(changes.moved)
        var sections: [Int64: Int64] = [:], unforced = moved
        for (key, objects) in before.sections { for object in objects { sections[object] = key } }
        for (key, objects) in after.sections {
            for object in objects {
                guard let was = sections[object], was != key || elsewhere.contains(key) else { continue }
                if unforced.remove(object) == nil {
                    return "moves: \(name): \(object) is in section \(key), and has not moved"
                }
            }
            guard !elsewhere.contains(key), let was = before.sections.first(where: { $0.key == key }) else { continue }
            let here = unforced.filter(objects.contains)
            if let problem = checkMoves(here, step, from: was.objects, to: objects, changes.isCompared) {
                return problem
            }
            unforced.subtract(here)
        }
        return unforced.isEmpty ? nil : "moves: \(name): \(unforced.sorted()) are told"
    }
}
