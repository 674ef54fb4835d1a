/// Whether two queries ask the same, as far as that is seen at little cost: false is no promise.
extension Query {
    /// Nil: it is compared with nothing.
    var questionHash: Int? {
        guard origin.isObjects else { return nil }
        var hasher = Hasher()
        hasher.combine(classID)
        if let tests = plainTests {
            for test in tests { test.hash(into: &hasher) }
        } else {
            guard let text = try? text() else { return nil }
            hasher.combine(text)
        }
        return hasher.finalize()
    }

    func asksTheSame(as other: Query) -> Bool {
        if self === other { return true }
        guard classID == other.classID, origin.isObjects, other.origin.isObjects else { return false }
        switch (plainTests, other.plainTests) {
        case (let mine?, let others?):
            return mine.count == others.count && zip(mine, others).allSatisfy { $0.isSame(as: $1) }
        case (nil, nil):
            guard let mine = try? text(), let others = try? other.text() else { return false }
            return mine == others
        default: return false
        }
    }

    /// A condition of comparisons with constants, and how much of what it finds; nil: something else.
    private var plainTests: [PlainPart]? {
        var parts: [PlainPart] = []
        for node in predicate.nodes {
            switch node {
            case .test(let test): if test.hasTargets { return nil } else { parts.append(.test(test)) }
            case .truth(let truth): parts.append(.number(truth ? 1 : 2))
            case .not: parts.append(.number(3))
            case .and: parts.append(.number(4))
            case .or: parts.append(.number(5))
            case .values, .paths: return nil
            }
        }
        for step in steps {
            switch step {
            case .limit(let count): parts += [.number(6), .number(count)]
            case .offset(let count): parts += [.number(7), .number(count)]
            case .sort, .distinct, .filter: return nil
            }
        }
        return parts
    }
}

private enum PlainPart {
    case number(Int)
    case test(ColumnTest)

    func hash(into hasher: inout Hasher) {
        switch self {
        case .number(let number): hasher.combine(number)
        case .test(let test):
            hasher.combine(test.propertyID)
            hasher.combine(test.value.low)
            if test.value.kind.isBytes {
                hasher.combine(bytes: UnsafeRawBufferPointer(start: test.value.pointer, count: test.value.count))
            }
        }
    }

    func isSame(as other: PlainPart) -> Bool {
        switch (self, other) {
        case (.number(let a), .number(let b)): a == b
        case (.test(let a), .test(let b)):
            a.propertyID == b.propertyID && a.comparison == b.comparison && a.isInside == b.isInside
                && a.value.isSame(as: b.value)
        default: false
        }
    }
}
