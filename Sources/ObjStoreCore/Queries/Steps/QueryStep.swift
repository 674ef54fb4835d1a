/// What a query does with the list of the objects that satisfy its condition: one step behind the other.
enum QueryStep: Sendable {
    /// Stable: where all keys are equal the order stays.
    case sort([SortKey])
    /// Of objects with the same values the first stays.
    case distinct([SortKey])
    case limit(Int)
    case offset(Int)
    /// Those that satisfy a condition, behind a step that has to come first.
    case filter(Predicate)

    /// Objects come in another order only, so that a condition means the same before it.
    var isSort: Bool { if case .sort = self { true } else { false } }

    /// A part of what is there.
    var isCut: Bool {
        switch self {
        case .limit, .offset: true
        case .sort, .distinct, .filter: false
        }
    }

    var callsFunctions: Bool {
        switch self {
        case .sort(let keys), .distinct(let keys): keys.contains { !$0.calls.isEmpty }
        case .filter(let predicate): predicate.callsFunctions
        case .limit, .offset: false
        }
    }
}

extension Range<Int> {
    /// Of what steps find, all.
    static var uncut: Range<Int> { 0..<Int.max }

    /// What an OFFSET or a LIMIT leaves of a part.
    mutating func cut(by step: QueryStep) {
        func end(_ count: Int) -> Int {
            let (place, isBeyond) = lowerBound.addingReportingOverflow(count)
            return isBeyond ? upperBound : Swift.min(upperBound, place)
        }
        switch step {
        case .offset(let count): self = end(count)..<upperBound
        case .limit(let count): self = lowerBound..<end(count)
        case .sort, .distinct, .filter: break
        }
    }
}

/// One value of each object: of a property, computed from several, or behind a path.
struct ObjectValue: Sendable {
    let program: ValueProgram
    /// Ids of the properties that the program uses.
    let properties: [UInt32]
    /// What it is, where a program does not say it.
    var path: PathValue?
    /// Of links: the class that they lead to, as an index in the schema; nil: any.
    var target: Int?

    var kind: ValueKind { program.kind }
    /// Of functions.
    var calls: [FunctionCall] { path?.calls ?? program.calls }
}

/// One value that objects are sorted by.
struct SortKey: Sendable {
    let of: ObjectValue
    var isDescending = false
    /// Of texts.
    var modifiers: QueryNode.Modifiers = []
    /// Of a string: its first letter is meant. For sections.
    var isFirstLetter = false

    var value: ValueProgram { of.program }
    var properties: [UInt32] { of.properties }
    var path: PathValue? { of.path }

    /// Of functions.
    var calls: [FunctionCall] { of.calls }
    var foldsCase: Bool { modifiers.contains(.ignoresCase) }
    var foldsAccents: Bool { modifiers.contains(.ignoresAccents) }
}

extension QueryRun {
    /// The list after all steps of the query.
    func apply(_ steps: ArraySlice<QueryStep>, to list: KeyBuffer) throws(StoreError) -> KeyBuffer {
        var list = list, steps = steps
        while let step = steps.popFirst() {
            switch step {
            case .sort(let keys):
                let order = try RowOrder(list, keys, trees, cls)
                let limit = QueryRun.end(of: steps)
                try order.sort(first: limit ?? list.count)
                list = try order.keys(limit ?? list.count)
            case .distinct(let keys):
                if let firsts = try firstOfEach(keys, list) {
                    list = firsts
                    continue
                }
                let order = try RowOrder(list, keys, trees, cls)
                try order.sort(first: list.count)
                list = try order.firstOfEach()
            case .limit(let count): list = try list.part(0..<min(count, list.count))
            case .offset(let count): list = try list.part(min(count, list.count)..<list.count)
            case .filter(let predicate):
                list = try RowTest(Query(query.classID, where: predicate), trees).kept(of: list)
            }
        }
        return list
    }

    /// How many of the first objects of a list the next steps look at; nil: all.
    static func end(of steps: ArraySlice<QueryStep>) -> Int? {
        var begin = 0
        for step in steps {
            switch step {
            case .offset(let count): begin = begin.addingReportingOverflow(count).partialValue
            case .limit(let count):
                let (end, isBeyond) = begin.addingReportingOverflow(count)
                return isBeyond || begin < 0 ? nil : end
            case .sort, .distinct, .filter: return nil
            }
            if begin < 0 { return nil }
        }
        return nil
    }

    /// How many are left of so many, where that needs no list; nil: it does.
    static func count(_ count: Int, after steps: [QueryStep]) -> Int? {
        var count = count
        for step in steps {
            switch step {
            case .sort: break
            case .limit(let limit): count = min(count, limit)
            case .offset(let offset): if !InjectedBug.active(.queryOffsetUncounted) { count -= min(count, offset) }
            case .distinct, .filter: return nil
            }
        }
        return count
    }
}

extension KeyBuffer {
    /// Itself, where that is all.
    func part(_ range: Range<Int>) throws(StoreError) -> KeyBuffer {
        if range == 0..<count { return self }
        let part = try KeyBuffer(expecting: range.count)
        for index in range { try part.append(keys[index]) }
        return part
    }
}
