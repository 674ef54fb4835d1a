/// A query of plain values, asked once: of the trees of one version, or of a transaction.
///
/// ```
///  elements ──► those of which the first conditions are true: candidates ──► list of their numbers ──► steps
/// ```
/// Steps get the list, as those of objects get a list of keys. Bytes lie in the version until all is done.
struct ValueRun {
    private let query: ValueQuery
    private let trees: TreeAccess
    private let cls: ClassSchema
    private let position: Int

    /// Errors: `.wrongStore`; `.noSuchClass`, `.noSuchProperty`: the version is older than these, or they were dropped.
    init(_ query: ValueQuery, _ trees: TreeAccess) throws(StoreError) {
        if query.storeTag != trees.storeTag { throw StoreError(.wrongStore, "the query is of another store") }
        self.query = query
        self.trees = trees
        cls = try trees.schema.cls(query.collection.owner.classID)
        position = try cls.collectionOfValues(query.collection.propertyID)
    }

    var isOfMap: Bool { query.isOfMap }

    /// Of the class of the owner: the property.
    var mask: [UInt64] {
        var mask = [UInt64](repeating: 0, count: ClassChanges.maskWords(cls))
        mask[position >> 6] = 1 << UInt64(position & 63)
        return mask
    }

    /// Nil: the owner is not there any more. They hold as long as the version.
    func elements() throws(StoreError) -> CollectionElements? {
        let reader = try trees.objects(cls)
        guard let row = try reader.find(query.collection.owner.key) else { return nil }
        return try trees.elements(row, cls, position, reader)
    }

    /// An element as queries see it.
    func value(_ element: Value) throws(StoreError) -> Value { try cls.out(element, position) }

    func tests(_ predicates: [Predicate]) throws(StoreError) -> [ElementTest] {
        try predicates.map { (predicate) throws(StoreError) in try ElementTest(predicate, trees) }
    }

    /// Nothing, where the owner is not there any more.
    ///
    /// - Parameter asked: nil: those of the query.
    func found(_ asked: [QueryStep]? = nil) throws(StoreError) -> FoundValues {
        guard let elements = try elements() else { return try FoundValues.nothing() }
        let isMap = isOfMap, reader = try trees.objects(cls)
        var steps = (asked ?? query.steps)[...], tests: [ElementTest] = []
        while case .filter(let predicate) = steps.first {
            tests.append(try ElementTest(predicate, trees))
            steps = steps.dropFirst()
        }
        let limit = QueryRun.end(of: steps) ?? .max
        var values: [Value] = [], keys: [Value] = [], number: Int64 = 0
        let places = KeyBuffer()
        if limit > 0 {
            try elements.forEach { (key, element) throws(StoreError) in
                if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(1) }
                let value = try cls.out(element, position), place = number
                number += 1
                for test in tests where try !test.holds(value) { return true }
                try values.tryAppend(value)
                if isMap { try keys.tryAppend(key) }
                try places.append(place)
                return values.count < limit
            }
        }
        let list = try KeyBuffer(expecting: values.count)
        for index in values.indices { try list.append(Int64(index)) }
        let left = try apply(steps, to: list, of: values, reader)
        return try FoundValues(left, values, places, isMap ? keys : nil)
    }

    /// How many elements it looks at.
    func total() throws(StoreError) -> Int { try elements()?.count() ?? 0 }

    private func apply(
        _ steps: ArraySlice<QueryStep>, to list: KeyBuffer, of values: [Value], _ reader: ClusterReader
    ) throws(StoreError) -> KeyBuffer {
        var list = list, steps = steps
        while let step = steps.popFirst() {
            switch step {
            case .sort(let keys):
                let order = try order(list, keys, values, reader), limit = QueryRun.end(of: steps) ?? list.count
                try order.sort(first: limit)
                list = try order.keys(limit)
            case .distinct(let keys):
                let order = try order(list, keys, values, reader)
                try order.sort(first: list.count)
                list = try order.firstOfEach()
            case .limit(let count): list = try list.part(0..<min(count, list.count))
            case .offset(let count): list = try list.part(min(count, list.count)..<list.count)
            case .filter(let predicate):
                let test = try ElementTest(predicate, trees), kept = KeyBuffer()
                for index in 0..<list.count where try test.holds(values[Int(list.keys[index])]) {
                    try kept.append(list.keys[index])
                }
                list = kept
            }
        }
        return list
    }

    private func order(
        _ list: KeyBuffer, _ keys: [SortKey], _ values: [Value], _ reader: ClusterReader
    ) throws(StoreError) -> RowOrder {
        var columns: [SortColumn] = []
        for key in keys {
            guard let path = key.path else { throw StoreError(.internalError, "a value is sorted by no path") }
            let run = try PathRun(trees, path.properties, levels: path.levels)
            let known = try FunctionValues(list.count)
            for index in 0..<list.count {
                run.begin(values[Int(list.keys[index])])
                let value = try run.value(path.source)
                if path.calls.isEmpty { known.append(lasting: value) } else { try known.append(value) }
            }
            columns.append(try SortColumn(key, of: known, list, reader, cls))
        }
        return try RowOrder(list, columns, reader)
    }
}

/// Asks a condition about elements.
struct ElementTest {
    /// Comparisons of the element itself with a constant need no path.
    private indirect enum Condition {
        case truth(Bool)
        case not(Condition)
        case and(Condition, Condition)
        case or(Condition, Condition)
        case element(PathComparison.Relation, Value)
        case path(PathComparison)

        init(_ condition: PathCondition) {
            switch condition {
            case .truth(let truth): self = .truth(truth)
            case .not(let inner): self = .not(Condition(inner))
            case .and(let left, let right): self = .and(Condition(left), Condition(right))
            case .or(let left, let right): self = .or(Condition(left), Condition(right))
            case .comparison(let comparison):
                let left = comparison.left
                guard case .values = comparison.extent, !left.expands, left.quantifier == nil,
                    case .path(let path) = left.source, path.level == 0, path.steps.isEmpty,
                    let constant = comparison.constant
                else {
                    self = .path(comparison)
                    return
                }
                if case .within = comparison.relation {
                    self = .path(comparison)
                } else {
                    self = .element(comparison.relation, constant)
                }
            }
        }
    }

    private let condition: Condition
    private let run: PathRun

    init(_ predicate: Predicate, _ trees: TreeAccess) throws(StoreError) {
        guard case .paths(let test) = predicate.nodes.first else {
            throw StoreError(.internalError, "a condition about values is no test of paths")
        }
        condition = Condition(test.condition)
        run = try PathRun(trees, test.properties, levels: test.levels)
    }

    func holds(_ value: Value) throws(StoreError) -> Bool {
        run.begin(value)
        return try holds(condition, value)
    }

    private func holds(_ condition: Condition, _ value: Value) throws(StoreError) -> Bool {
        switch condition {
        case .truth(let truth): truth
        case .not(let inner): try !holds(inner, value)
        case .and(let left, let right): try holds(left, value) ? try holds(right, value) : false
        case .or(let left, let right): try holds(left, value) ? true : try holds(right, value)
        case .element(let relation, let constant): try PathRun.relate(value, relation, constant)
        case .path(let comparison): try run.holds(comparison)
        }
    }
}

extension AggregateKind {
    /// The same in paths.
    var ofPaths: QueryAggregate {
        switch self {
        case .sum: .sum
        case .minimum: .minimum
        case .maximum: .maximum
        case .average: .average
        }
    }
}

extension FoundValues {
    /// Over the values; nulls and NaN do not count. Of nothing the sum is 0, the others are null. Bytes are those of
    /// this object.
    ///
    /// Errors: `.wrongType`: values of the kind have none; `.outOfRange`: a sum of ints leaves 64 bits.
    func aggregate(_ aggregate: AggregateKind, of kind: ValueKind) throws(StoreError) -> Value {
        let isExtreme = aggregate == .minimum || aggregate == .maximum
        guard kind.isNumber || kind == .mixed || isExtreme && kind != .binary else {
            throw StoreError(.wrongType, "its elements are of kind \(kind): there is no \(aggregate) of them")
        }
        let sums: PathSum = kind == .int ? .ints : kind == .decimal128 || kind == .mixed ? .decimals : .doubles
        var summary = PathSummary(aggregate.ofPaths, sums)
        for index in 0..<count { _ = try summary.add(value(index)) }
        let result = summary.value
        if aggregate == .sum, result.isNull {
            throw StoreError(.outOfRange, "its elements add up to more than fits in 64 bits")
        }
        return result
    }
}
