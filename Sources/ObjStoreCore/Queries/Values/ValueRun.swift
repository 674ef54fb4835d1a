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

    /// Nothing, where the owner is not there any more.
    func found() throws(StoreError) -> FoundValues {
        let reader = try trees.objects(cls)
        guard let row = try reader.find(query.collection.owner.key) else { return try FoundValues.nothing() }
        let elements = try trees.elements(row, cls, position, reader), isMap = elements.kind == .map
        var steps = query.steps[...], tests: [ElementTest] = []
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
    func total() throws(StoreError) -> Int {
        let reader = try trees.objects(cls)
        guard let row = try reader.find(query.collection.owner.key) else { return 0 }
        return try trees.elements(row, cls, position, reader).count()
    }

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
private struct ElementTest {
    private let condition: PathCondition
    private let run: PathRun

    init(_ predicate: Predicate, _ trees: TreeAccess) throws(StoreError) {
        guard case .paths(let test) = predicate.nodes.first else {
            throw StoreError(.internalError, "a condition about values is no test of paths")
        }
        condition = test.condition
        run = try PathRun(trees, test.properties, levels: test.levels)
    }

    func holds(_ value: Value) throws(StoreError) -> Bool {
        run.begin(value)
        return try run.holds(condition)
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
