/// Follows the paths of a query from one object after the other, in one version or a transaction.
final class PathRun {
    let trees: TreeAccess
    let schema: Schema
    /// By class, once they were needed.
    private var readers: [ClusterReader?]
    /// The object of each level, as a link.
    private var objects: [Value]
    /// Of the object that is asked about.
    private var row: RowPosition?
    /// Once a function was called.
    private var functions: FunctionRun?

    /// - Parameter properties: the ids of all that it looks at. Errors: `.noSuchProperty`, `.noSuchClass`: the version
    ///   does not have one of them.
    init(_ trees: TreeAccess, _ properties: [UInt32], levels: Int) throws(StoreError) {
        self.trees = trees
        schema = trees.schema
        for id in properties { _ = try schema.property(id) }
        readers = Array(repeating: nil, count: schema.classes.count)
        objects = Array(repeating: .null, count: levels)
    }

    /// The object that is asked about from now on.
    func begin(_ row: RowPosition, _ cls: ClassSchema) {
        self.row = row
        functions?.begin()
        objects[0] = Value(kind: .link, low: row.key, high: Int64(cls.classID))
    }

    /// The element of a collection of plain values that is asked about from now on.
    func begin(_ element: Value) {
        functions?.begin()
        objects[0] = element
    }

    // MARK: Values

    /// Calls `body` with all values, until it returns false; returns false then.
    func forEach(
        _ operand: PathOperand, _ body: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        if !operand.expands { return try forEach(operand.source, body) }
        return try forEach(operand.source) { (value) throws(StoreError) in
            value.kind == .document ? try forEachElement(.value(value), body) : try body(value)
        }
    }

    /// The only value.
    func value(_ source: PathSource) throws(StoreError) -> Value {
        var found = Value.null
        _ = try forEach(source) { (value) throws(StoreError) in
            found = value
            return false
        }
        return found
    }

    private func forEach(
        _ source: PathSource, _ body: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        switch source {
        case .constants(let values):
            for value in values where try !body(value) { return false }
            return true
        case .path(let path): return try forEachValue(path, body)
        case .count(let path, true):
            var count: Int64 = 0
            _ = try forEachItem(path) { (item) throws(StoreError) in
                if case .value(let value) = item { count += value.isNull ? 0 : 1 } else { count += try size(item) }
                return true
            }
            return try body(.int(count))
        case .count(let path, false):
            return try forEachItem(path) { (item) throws(StoreError) in
                guard case .value(let value) = item else { return try body(.int(try size(item))) }
                if value.kind == .document { return try body(.int(Int64(try MixedContainer(value).count))) }
                return try body(ValueProgram.length(value))
            }
        case .type(let path):
            return try forEachValue(path) { (value) throws(StoreError) in try body(.int(try PathRun.kinds(value))) }
        case .aggregate(let path, let aggregate, nil, let sums):
            return try forEachItem(path) { (item) throws(StoreError) in
                var summary = PathSummary(aggregate, sums)
                _ = try forEachElement(item) { (value) throws(StoreError) in try summary.add(value) }
                return try body(summary.value)
            }
        case .aggregate(let path, let aggregate, let member?, let sums):
            var summary = PathSummary(aggregate, sums)
            _ = try forEachValue(path) { (object) throws(StoreError) in
                objects[member.level] = object
                return try forEachValue(member) { (value) throws(StoreError) in try summary.add(value) }
            }
            return try body(summary.value)
        case .arithmetic(let operation, let left, let right):
            return try forEach(left) { (a) throws(StoreError) in
                try forEach(right) { (b) throws(StoreError) in try body(ValueProgram.compute(operation, a, b)) }
            }
        case .negated(let operand):
            return try forEach(operand) { (value) throws(StoreError) in try body(ValueProgram.negated(value)) }
        case .call(let call, let sources):
            let run = functions ?? FunctionRun(trees)
            functions = run
            return try withUnsafeTemporaryAllocation(of: Value.self, capacity: 2 * max(1, call.count)) {
                (values) throws(StoreError) in
                try forEachCall(call, sources[...], values, run, body)
            }
        }
    }

    /// Of all arguments; those before `sources` are in `values`, behind which there is room for as many.
    private func forEachCall(
        _ call: FunctionCall, _ sources: ArraySlice<PathSource>, _ values: UnsafeMutableBufferPointer<Value>,
        _ run: FunctionRun, _ body: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        let index = sources.startIndex
        guard let source = sources.first else {
            // A call changes its arguments.
            for place in 0..<call.count { values[call.count + place] = values[place] }
            return try body(try call.value(values.baseAddress.unsafelyUnwrapped + call.count, run))
        }
        return try forEach(source) { (value) throws(StoreError) in
            values[index] = value
            return try forEachCall(call, sources.dropFirst(), values, run, body)
        }
    }

    private static func kinds(_ value: Value) throws(StoreError) -> Int64 {
        let kind = value.kind == .document ? try MixedNode(value.pointer, value.count).kind : value.kind
        return 1 &<< Int64(kind.rawValue)
    }

    /// What a path reaches, of a collection at its end the elements.
    private func forEachValue(
        _ path: Path, _ body: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        try forEachItem(path) { (item) throws(StoreError) in
            if case .value(let value) = item { return try body(value) }
            return try forEachElement(item, body)
        }
    }

    // MARK: Following a path

    /// What a step has reached: a value, or a collection as a whole.
    enum Item {
        case value(Value)
        /// `target`: the class id of links.
        case collection(CollectionElements, target: UInt32)
        case keys(CollectionElements)
        /// Of a map inside of a mixed value.
        case documentKeys(Value)
        /// The objects that link to one: by that property; nil: by any.
        case origins(of: Value, by: UInt32?)
        /// A collection that is not there.
        case nothing
    }

    private func forEachItem(
        _ path: Path, _ body: (Item) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        let object = objects[path.level]
        // The row of the object itself is known.
        guard path.level == 0, case .property(let id) = path.steps.first, let row else {
            return try follow(path, 0, .value(object), body)
        }
        let cls = schema.classes[PropertyID.classIndex(id)]
        return try follow(path, 1, try read(id, cls, row), body)
    }

    private func follow(
        _ path: Path, _ number: Int, _ item: Item, _ body: (Item) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        guard number < path.steps.count else { return try body(item) }
        let next: Item
        switch path.steps[number] {
        case .elements:
            return try forEachElement(item) { (value) throws(StoreError) in
                try follow(path, number + 1, .value(value), body)
            }
        case .filter(let condition, let level):
            try Stack.check()
            func look(_ value: Value) throws(StoreError) -> Bool {
                objects[level] = value
                guard try holds(condition) else { return true }
                return try follow(path, number + 1, .value(value), body)
            }
            // What another filter has left, or what lies behind a link of each element, comes one by one.
            if case .value(let value) = item, value.kind != .document { return value.isNull ? true : try look(value) }
            return try forEachElement(item, look)
        case .property(let id): next = try property(id, of: item)
        case .at(let index): next = .value(try element(index, of: item))
        case .key(let key): next = .value(try value(ofKey: key, item))
        case .member(let name): next = try member(name, of: item)
        case .incoming(let id): next = PathRun.origins(of: item, by: id)
        case .allIncoming: next = PathRun.origins(of: item, by: nil)
        case .keys:
            switch item {
            case .collection(let elements, _) where elements.kind == .map: next = .keys(elements)
            case .value(let value) where try PathRun.isMap(value): next = .documentKeys(value)
            default: next = .nothing
            }
        case .values:
            switch item {
            case .value(let value) where value.kind != .document: next = .nothing
            default: next = item
            }
        case .length:
            if case .value(let value) = item, !value.isNull {
                next = .value(ValueProgram.length(value))
            } else {
                next = .value(.int(0))
            }
        }
        return try follow(path, number + 1, next, body)
    }

    private static func origins(of item: Item, by id: UInt32?) -> Item {
        if case .value(let object) = item, !object.isNull { return .origins(of: object, by: id) }
        return .nothing
    }

    private static func isMap(_ value: Value) throws(StoreError) -> Bool {
        value.kind == .document ? try MixedNode(value.pointer, value.count).kind == .map : false
    }

    /// A property of the object that an item is a link to.
    func property(_ id: UInt32, of item: Item) throws(StoreError) -> Item {
        if case .value(let link) = item, link.kind == .link, let row = try row(of: link, id) {
            return try read(id, row)
        }
        let cls = schema.classes[PropertyID.classIndex(id)]
        let position = try cls.position(id)
        return cls.columns[position].kind.isCollection ? .nothing : .value(.null)
    }

    /// Of an object, by a link to it; `id`: of one of its properties. Nil: it does not exist.
    func row(of link: Value, _ id: UInt32) throws(StoreError) -> RowPosition? {
        let cls = schema.classes[PropertyID.classIndex(id)]
        return try trees.find(cls, link.low, try reader(cls))
    }

    func read(_ id: UInt32, _ row: RowPosition) throws(StoreError) -> Item {
        try read(id, schema.classes[PropertyID.classIndex(id)], row)
    }

    private func reader(_ cls: ClassSchema) throws(StoreError) -> ClusterReader {
        if let reader = readers[Int(cls.id)] { return reader }
        let reader = try trees.objects(cls)
        readers[Int(cls.id)] = reader
        return reader
    }

    private func read(_ id: UInt32, _ cls: ClassSchema, _ row: RowPosition) throws(StoreError) -> Item {
        try read(try cls.position(id), cls, row)
    }

    private func read(_ position: Int, _ cls: ClassSchema, _ row: RowPosition) throws(StoreError) -> Item {
        let reader = try reader(cls), spec = cls.columns[position]
        if spec.kind.isCollection {
            return .collection(try trees.elements(row, cls, position, reader), target: spec.target)
        }
        let value = try reader.plainValue(row, position)
        // A column of links does not say the class.
        return .value(
            spec.kind == .link && !value.isNull ? Value(kind: .link, low: value.low, high: Int64(spec.target)) : value)
    }

    // MARK: Collections

    /// Calls `body` with all elements of a collection, the values of a map, until it returns false; returns false then.
    /// A single value has none.
    func forEachElement(
        _ item: Item, _ body: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        var goesOn = true
        switch item {
        case .nothing: break
        case .value(let value):
            guard value.kind == .document else { break }
            let container = try MixedContainer(value)
            for index in 0..<container.count where try !body(try container.node(index).value()) { return false }
        case .documentKeys(let value):
            let container = try MixedContainer(value)
            for index in 0..<container.count {
                let key = try container.key(index)
                if try !body(.string(key.baseAddress, key.count)) { return false }
            }
        case .collection(let elements, let target):
            try elements.forEach { (_, value) throws(StoreError) in
                goesOn = try body(try PathRun.plain(value, target))
                return goesOn
            }
        case .keys(let elements):
            try elements.forEach { (key, _) throws(StoreError) in
                goesOn = try body(key)
                return goesOn
            }
        case .origins(let object, let id?):
            goesOn = try forEachOrigin(of: object, by: id, body)
        case .origins(let object, nil):
            let target = ClassID.index(UInt32(truncatingIfNeeded: object.high))
            for link in schema.incoming[target] where goesOn {
                let cls = schema.classes[link.classIndex]
                goesOn = try forEachOrigin(of: object, by: cls.propertyID(link.property), body)
            }
        }
        return goesOn
    }

    /// An element as a value of its own.
    private static func plain(_ element: Value, _ target: UInt32) throws(StoreError) -> Value {
        switch element.kind {
        case .mixed: try MixedNode(element.pointer, element.count).value()
        case .link: Value(kind: .link, low: element.low, high: Int64(target))
        default: element
        }
    }

    /// The objects that have a link in a property, by its index or inverse.
    private func forEachOrigin(
        of object: Value, by id: UInt32, _ body: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        let cls = schema.classes[PropertyID.classIndex(id)], position = try cls.position(id)
        let classID = Int64(cls.classID), target = Value(kind: .link, low: object.low)
        var goesOn = true
        func take(_ key: Int64) throws(StoreError) -> Bool {
            goesOn = try body(Value(kind: .link, low: key, high: classID))
            return goesOn
        }
        if cls.mixedPosition(of: position) != nil {
            try forEachMixedOrigin(of: object, cls, position) { (owner, links) throws(StoreError) in
                for _ in 0..<links where goesOn { _ = try take(owner) }
                return goesOn
            }
        } else if cls.columns[position].kind.isCollection {
            try trees.inverse(cls, position).forEachLink(to: object.low, take)
        } else {
            _ = try trees.withIndex(cls, position, finding: target) { (index) throws(StoreError) in
                try index.forEach(.equal, target, take)
            }
        }
        return goesOn
    }

    /// How many elements a collection has.
    private func size(_ item: Item) throws(StoreError) -> Int64 {
        switch item {
        case .nothing: return 0
        case .value(let value): return value.kind == .document ? Int64(try MixedContainer(value).count) : 0
        case .documentKeys(let value): return Int64(try MixedContainer(value).count)
        case .collection(let elements, _), .keys(let elements): return Int64(try elements.count())
        case .origins(let object, let id?): return Int64(try countOrigins(of: object, by: id))
        case .origins(let object, nil):
            var count = try mixedOrigins(of: object)
            for link in schema.incoming[ClassID.index(UInt32(truncatingIfNeeded: object.high))] {
                let id = schema.classes[link.classIndex].propertyID(link.property)
                count += try countOrigins(of: object, by: id)
            }
            return Int64(count)
        }
    }

    /// How many links in a property lead to an object, by its index or inverse.
    private func countOrigins(of object: Value, by id: UInt32) throws(StoreError) -> Int {
        let cls = schema.classes[PropertyID.classIndex(id)], position = try cls.position(id)
        if cls.mixedPosition(of: position) != nil {
            var count = 0
            try forEachMixedOrigin(of: object, cls, position) { (_, links) in
                count += links
                return true
            }
            return count
        }
        let link = IncomingLink(
            classIndex: Int(cls.id), property: position, isCollection: cls.columns[position].kind.isCollection)
        if link.isCollection { return try link.count(to: object.low, trees.inverse(cls, position)) }
        let target = Value(kind: .link, low: object.low)
        return try trees.withIndex(cls, position, finding: target) { (index) throws(StoreError) in
            try link.count(to: object.low, index)
        } ?? 0
    }

    /// How many links in values of mixed properties lead to an object.
    private func mixedOrigins(of object: Value) throws(StoreError) -> Int {
        var count = 0
        for origin in schema.mixedOrigins {
            let id = schema.classes[origin.classIndex].propertyID(origin.property)
            count += try countOrigins(of: object, by: id)
        }
        return count
    }

    /// The objects that link to one in a mixed property, or a collection of mixed elements, with how many links they
    /// have; until `body` returns false.
    private func forEachMixedOrigin(
        of object: Value, _ cls: ClassSchema, _ position: Int,
        _ body: (_ owner: Int64, _ links: Int) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let target = MixedTarget(object), reader = try reader(cls)
        let owners = try trees.mixedInverse(cls, position).owners(of: target)
        for index in 0..<owners.count {
            guard let row = try trees.find(cls, owners.keys[index], reader) else { continue }
            var links = 0
            func look(_ value: Value) throws(StoreError) -> Bool {
                try MixedLinks.forEach(value) { (link) throws(StoreError) in
                    if MixedTarget(link) == target { links += 1 }
                    return true
                }
                return true
            }
            if cls.columns[position].kind == .mixed {
                _ = try look(try reader.plainValue(row, position))
            } else {
                try trees.elements(row, cls, position, reader).forEach { (_, value) throws(StoreError) in
                    try look(value)
                }
            }
            guard try body(owners.keys[index], links) else { return }
        }
    }

    private func element(_ index: Int64, of item: Item) throws(StoreError) -> Value {
        switch item {
        case .collection(let elements, let target) where elements.kind == .list:
            let count = try elements.count(), place = index < 0 ? Int64(count) + index : index
            guard place >= 0, place < count else { return .null }
            return try PathRun.plain(try elements.element(at: Int(place)).value, target)
        case .value(let value) where value.kind == .document:
            let container = try MixedContainer(value)
            let place = index < 0 ? Int64(container.count) + index : index
            guard container.kind == .list, place >= 0, place < container.count else { return .null }
            return try container.node(Int(place)).value()
        default: return .null
        }
    }

    private func value(ofKey key: Value, _ item: Item) throws(StoreError) -> Value {
        switch item {
        case .collection(let elements, let target) where elements.kind == .map:
            guard let value = try elements.value(of: key) else { return .null }
            return try PathRun.plain(value, target)
        case .value(let value) where try PathRun.isMap(value):
            let container = try MixedContainer(value)
            let (index, found) = try container.search(UnsafeRawBufferPointer(start: key.pointer, count: key.count))
            return found ? try container.node(index).value() : .null
        default: return .null
        }
    }

    /// A name behind a mixed value.
    private func member(_ name: Value, of item: Item) throws(StoreError) -> Item {
        guard case .value(let link) = item, link.kind == .link else { return .value(try value(ofKey: name, item)) }
        let cls = schema.classes[ClassID.index(UInt32(truncatingIfNeeded: link.high))]
        let text = String(decoding: UnsafeRawBufferPointer(start: name.pointer, count: name.count), as: UTF8.self)
        guard let position = cls.propertyIndex(named: text),
            let row = try trees.find(cls, link.low, try reader(cls))
        else { return .value(.null) }
        return try read(position, cls, row)
    }

    // MARK: Conditions

    func holds(_ condition: PathCondition) throws(StoreError) -> Bool {
        switch condition {
        case .truth(let truth): truth
        case .not(let inner): try !holds(inner)
        case .and(let left, let right): try holds(left) ? try holds(right) : false
        case .or(let left, let right): try holds(left) ? true : try holds(right)
        case .comparison(let comparison): try holds(comparison)
        }
    }
}

extension MixedContainer {
    /// Of a document.
    init(_ value: Value) throws(StoreError) { try self.init(MixedNode(value.pointer, value.count)) }
}
