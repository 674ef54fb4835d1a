/// Creates and updates objects from nested values: by names or positions, with links, embedded objects and collections
/// nested in them.
///
/// ```
///  {"id": 7, "name": "Jane", "dogs": [["Buster", 5], Dog#3], "address": {"city": "Rome"}}
///
///  object ─► key known? ─┬ no  ─► what it links to ─► create ─┐
///                        └ yes ─► what it links to ─► update ─┴─► embedded objects, elements of lists, sets and maps
/// ```
/// A call is one step, whatever it makes: what was created is deleted when it fails, and before something that existed
/// is changed a savepoint begins.
final class Assembler {
    struct Options {
        var policy = UpsertPolicy.error
        /// A list has a value for every property.
        var isExact = false
        /// Names that the class does not have are passed over.
        var ignoresUnknown = false
        /// Says where a failure is; nil: the path of names and indexes does.
        var naming: ((StoreError, Assembler) -> StoreError)?
        /// Links to objects that do not exist yet wait here; nil: such a link is an error.
        var waiting: WaitingLinks?
        /// Called with the embedded object that a description became; its index is that of where it begins.
        var embedded: ((_ index: Int, _ object: ObjectID) -> Void)?
        /// Makes a value of the kind that a property wants of one of another kind; nil: it cannot. Of a mixed property,
        /// or a value inside a document, it is called for all.
        var convert: Convert?

        typealias Convert = (_ value: Value, _ kind: ValueKind, _ cls: ClassSchema, _ property: Int) throws(StoreError)
            -> Value?
    }

    let writer: ObjectWriter
    let names: StoredNames
    let declared: DeclaredOrder
    /// What was given; while what waited is connected, that.
    var flat: FlatValues
    var options: Options
    /// Index of the value that is being looked at.
    var current = 0
    /// How it is reached.
    var path: [Step] = []

    enum Step {
        /// Of a map.
        case name(String)
        case index(Int)
        /// By its name, or its place in a list of values.
        case property(ClassSchema, Int)
    }

    /// Objects that are being described, one in the other.
    private var depth = 0

    /// A failure says already where it came about.
    var isDescribed = false

    /// References in the mixed value that is being read to what is not there yet, by the index of the key.
    var missing: [Int: StoreError] = [:]
    /// While it is connected: what to say of those that did not come.
    var awaited: [Int: StoreError] = [:]

    private var created: [(classIndex: Int, key: Int64)] = []
    private let mark: OpLog.Mark
    private var savepoint: (id: UInt64, created: Int)?
    var documents: [ByteBuffer] = []
    private var lastOrder: (cls: ClassSchema, positions: [Int]?)?
    /// Several descriptions that refer to each other; nil: there is one.
    var graph: Graph?

    /// Of a transaction, serialised by the caller.
    init(
        _ writer: ObjectWriter, _ names: StoredNames, _ declared: DeclaredOrder, _ flat: FlatValues, _ options: Options
    ) {
        self.writer = writer
        self.names = names
        self.declared = declared
        self.flat = flat
        self.options = options
        mark = writer.transaction.ops.mark
    }

    var schema: Schema { writer.schema }

    func state(_ classIndex: Int) throws(StoreError) -> ClassState { try writer.transaction.state(classIndex) }

    // MARK: As a whole

    /// Runs a body that changes the store; what it did is undone when it fails.
    func run<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        do throws(StoreError) {
            let result = try body()
            if let waiting = options.waiting, !waiting.isShared { try connect(waiting) }
            if let savepoint { try writer.transaction.releaseSavepoint(savepoint.id) }
            return result
        } catch {
            undo()
            throw described(error)
        }
    }

    /// Something that existed is about to change, and more may follow.
    func willChange() throws(StoreError) {
        if savepoint == nil { savepoint = (try writer.transaction.beginSavepoint(), created.count) }
    }

    private func undo() {
        let transaction = writer.transaction.unsafelyUnwrapped
        do throws(StoreError) {
            var left = created.count
            if let savepoint {
                try transaction.rollBack(toSavepoint: savepoint.id)
                left = savepoint.created
            }
            for (classIndex, key) in created[..<left].reversed() {
                // Embedded objects go with their parent.
                if try transaction.state(classIndex).contains(key) { try transaction.delete(classIndex, key) }
            }
            transaction.ops.rollBack(to: mark)
        } catch {
            for (classIndex, _) in created { (try? transaction.state(classIndex))?.isBroken = true }
        }
    }

    // MARK: Objects

    /// What an object is made of, or gets.
    struct Parts {
        /// Properties of one value, links included, by id and position.
        var properties: [UInt32] = []
        var positions: [Int] = []
        var values: [Value] = []
        /// Embedded objects, lists, sets and maps: the property, and where its value begins.
        var later: [(property: Int, value: Int)] = []
        /// Links, and mixed values with links in them, that wait.
        var waiting: [(position: Int, what: WaitingLinks.Waiting)] = []
        /// Of the primary key: one, or that of each of its properties in their order; those that are not given are
        /// missing.
        var key: [(position: Int, value: Value)] = []

        init(properties: [UInt32] = [], positions: [Int] = [], values: [Value] = []) {
            self.properties = properties
            self.positions = positions
            self.values = values
        }

        init(atMost count: Int) {
            properties.reserveCapacity(count)
            positions.reserveCapacity(count)
            values.reserveCapacity(count)
        }
    }

    /// The object that a value describes: made or updated.
    ///
    /// - Parameters:
    ///   - isRoot: with a policy it must have a primary key; others that have none are created.
    ///   - by: it is known by this unique index, a position in the class, and not by its primary key.
    ///   - isAlone: nothing else is made or changed but what is nested in it.
    func object(
        _ classIndex: Int, _ start: Int, isRoot: Bool = false, by: Int? = nil, isAlone: Bool = false
    ) throws(StoreError) -> (key: Int64, outcome: UpsertOutcome) {
        try Stack.check()
        try enter(classIndex)
        defer { leave() }
        let state = try state(classIndex), cls = state.schema
        if options.policy != .error, cls.keyIndex == nil, by == nil, isRoot { throw cls.noPrimaryKey }
        let parts = try described(cls, start)
        if let existing = try naming(cls, { () throws(StoreError) in try existing(state, parts, by) }) {
            if options.policy == .error { throw try duplicate(state, parts, by) }
            if by != nil { try confirmKey(state, existing, parts) }
            return (existing, try update(state, existing, parts, isAlone: isAlone && created.isEmpty))
        }
        let isFree = by == nil && cls.primaryKey != nil && !parts.key.isEmpty
        return (try create(state, parts, isFree: isFree), .created)
    }

    /// Before an object that lies inside of others: no deeper than they can be written again.
    func enter(_ classIndex: Int) throws(StoreError) {
        guard depth < FlatValues.deepestObjects else {
            let cls = schema.classes[classIndex]
            throw StoreError(
                .outOfRange, "\(cls.name): more than \(FlatValues.deepestObjects) objects inside each other"
            ).at(class: cls.name)
        }
        depth += 1
    }

    func leave() { depth -= 1 }

    /// The object that has the values of the primary key, or of another unique index, that are given, or that a new
    /// object gets where they are left out.
    private func existing(_ state: ClassState, _ parts: Parts, _ by: Int?) throws(StoreError) -> Int64? {
        guard let position = by ?? state.schema.keyIndex else { return nil }
        if by == nil, state.schema.primaryKey != nil, let given = parts.key.first {
            return try state.find(primaryKey: given.value)
        }
        let index = state.schema.indexes[position]
        var values: [(position: Int, value: Value)] = []
        for property in index.properties {
            guard let value = try unique(state.schema, property, parts) else { return nil }
            values.append((property, value))
        }
        let key = try index.extract(0, into: state.lookUpKey) { (property) throws(StoreError) in
            values.first { $0.position == property }.unsafelyUnwrapped.value
        }
        // Nulls make no two objects the same.
        if index.isShared(key, state.lookUpKey) { return nil }
        return try state.indexes[position].find(key)
    }

    /// Nil: the store generates it.
    private func unique(_ cls: ClassSchema, _ position: Int, _ parts: Parts) throws(StoreError) -> Value? {
        if let given = parts.key.first(where: { $0.position == position }) { return given.value }
        if let given = parts.positions.firstIndex(of: position) {
            let value = parts.values[given]
            if cls.columns[position].kind != .mixed { try ValueCheck.check(value, for: position, of: cls, limit: .max) }
            return value
        }
        return cls.properties[position].isGenerated ? nil : try writer.missing(cls, position)
    }

    private func duplicate(_ state: ClassState, _ parts: Parts, _ by: Int?) throws(StoreError) -> StoreError {
        try state.taken(state.schema.indexes[(by ?? state.schema.keyIndex).unsafelyUnwrapped]) {
            (position) throws(StoreError) in
            try unique(state.schema, position, parts) ?? .null
        }
    }

    /// An object found by another value keeps its primary key, except in a migration.
    private func confirmKey(_ state: ClassState, _ existing: Int64, _ parts: Parts) throws(StoreError) {
        for part in parts.key where state.schema.isKeyPart(part.position) {
            if try !state.value(existing, part.position).isSame(as: part.value) {
                throw state.schema.keyImmutable(part.position)
            }
        }
    }

    /// - Parameter isFree: nobody has its primary key.
    func create(_ state: ClassState, _ given: Parts, isFree: Bool = false) throws(StoreError) -> Int64 {
        let cls = state.schema
        var parts = given
        // Not its default, which another object may have.
        for (position, _) in given.waiting {
            parts.properties.append(cls.propertyID(position))
            parts.positions.append(position)
            parts.values.append(.null)
        }
        // Taking it back would delete what it links to, too.
        if state.owning.contains(where: { !$0.isEmbedding }) { try willChange() }
        let key = try naming(cls) { () throws(StoreError) in
            try parts.values.withUnsafeBufferPointer { (values) throws(StoreError) in
                try parts.properties.withUnsafeBufferPointer { (properties) throws(StoreError) in
                    let row = try withUnsafePointer(to: Value.null) { (none) throws(StoreError) in
                        try writer.fullRow(cls, properties, values.baseAddress ?? none)
                    }
                    return try writer.changing(state) { () throws(StoreError) in
                        isFree ? try state.createUnchecked(row) : try state.create(row)
                    }
                }
            }
        }
        created.append((Int(cls.id), key))
        wait(cls, key, given, isNew: true)
        for part in parts.later { try fill(state, key, part.property, part.value, isNew: true) }
        try writer.spillIfLarge(state)
        return key
    }

    /// - Parameter isAlone: nothing was changed before.
    private func update(
        _ state: ClassState, _ key: Int64, _ parts: Parts, isAlone: Bool
    ) throws(StoreError) -> UpsertOutcome {
        if !isAlone || !parts.later.isEmpty || !parts.waiting.isEmpty { try willChange() }
        var outcome = UpsertOutcome.unchanged
        if try write(state, key, parts, all: options.policy == .all) || waitingChanges(parts) { outcome = .changed }
        wait(state.schema, key, parts, isNew: false)
        for part in parts.later where try fill(state, key, part.property, part.value, isNew: false) {
            outcome = .changed
        }
        try writer.spillIfLarge(state)
        return outcome
    }

    /// Writes the properties of one value; returns whether there was something to write.
    func write(_ state: ClassState, _ key: Int64, _ parts: Parts, all: Bool) throws(StoreError) -> Bool {
        try naming(state.schema) { () throws(StoreError) in
            try parts.values.withUnsafeBufferPointer { (values) throws(StoreError) in
                try parts.properties.withUnsafeBufferPointer { (properties) throws(StoreError) in
                    guard let base = values.baseAddress else { return false }
                    return try writer.updateExisting(state, key, all ? .all : .modified, properties, base) != .unchanged
                }
            }
        }
    }

    /// The property of an object that an error is about belongs to the path.
    private func naming<T>(_ cls: ClassSchema, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        do throws(StoreError) { return try body() } catch {
            if error.className == cls.name, let property = error.propertyName,
                let position = cls.propertyIndex(named: property)
            {
                path.append(.property(cls, position))
            }
            throw error
        }
    }

    // MARK: Properties

    /// Splits a description into its properties; objects that links describe are made.
    func described(_ cls: ClassSchema, _ start: Int) throws(StoreError) -> Parts {
        current = start
        let value = flat[start]
        var parts = Parts(atMost: value.kind == .map || value.kind == .list ? cls.properties.count : 0),
            given = Set<Int>()
        switch value.kind {
        case .map:
            var index = start + 1
            for number in 0..<Int(value.low) {
                current = index
                let name = flat[index]
                if let position = propertyPosition(cls, name, guess: number) {
                    guard given.insert(position).inserted else {
                        path.append(.property(cls, position))
                        throw cls.named(
                            StoreError(.invalidArgument, "\(cls.name).\(cls.properties[position].name) is given twice"),
                            position)
                    }
                    try add(&parts, cls, position, index + 1)
                } else {
                    try checkText(index, through: flat.end(index + 1), cls)
                    if options.ignoresUnknown {
                        index = flat.end(index + 1)
                        continue
                    }
                    let name = name.text
                    throw StoreError(.noSuchProperty, "class \(cls.name) does not have a property \(name)").at(
                        class: cls.name, property: FlatValues.name(flat[index]))
                }
                index = flat.end(index + 1)
            }
        case .list:
            let count = Int(value.low)
            guard count <= cls.properties.count else {
                throw StoreError(
                    .outOfRange, "more values (\(count)) than properties (\(cls.properties.count)) of class \(cls.name)"
                ).at(class: cls.name)
            }
            let order = order(of: cls)
            if options.isExact, count < cls.properties.count {
                let missing = cls.properties[order?[count] ?? count].name
                throw StoreError(
                    .missingValue,
                    """
                    \(count) values for the \(cls.properties.count) properties of class \(cls.name): that of \
                    \(missing) is missing
                    """
                ).at(class: cls.name, property: missing)
            }
            var index = start + 1
            for place in 0..<count {
                try add(&parts, cls, order?[place] ?? place, index)
                index = flat.end(index)
            }
        default:
            throw StoreError(
                .wrongType,
                """
                an object of class \(cls.name) is described by a map of its properties or a list of their values, not \
                by \(value.kind.indefinite) (\(value.text))
                """
            ).at(class: cls.name)
        }
        current = start
        return parts
    }

    /// That in which values without names are given; nil: that of the file.
    private func order(of cls: ClassSchema) -> [Int]? {
        if let lastOrder, lastOrder.cls === cls { return lastOrder.positions }
        lastOrder = (cls, declared.positions(cls))
        return lastOrder?.positions
    }

    /// What is passed over has valid texts, too.
    private func checkText(_ start: Int, through end: Int, _ cls: ClassSchema) throws(StoreError) {
        for index in start..<end
        where flat[index].kind == .string && !UTF8Check.isValid(flat[index].pointer, flat[index].count) {
            current = index
            throw StoreError(
                .invalidUTF8,
                index == start
                    ? "a name in an object of class \(cls.name) is not valid UTF-8" : "the text is not valid UTF-8"
            ).at(class: cls.name)
        }
    }

    /// The property of a name. Objects of one kind mostly have their names in one order.
    private func propertyPosition(_ cls: ClassSchema, _ name: Value, guess: Int) -> Int? {
        if guess < cls.properties.count, FlatValues.isSame(name, cls.properties[guess].name) { return guess }
        return names.propertyIndex(FlatValues.name(name), cls)
    }

    private func add(_ parts: inout Parts, _ cls: ClassSchema, _ position: Int, _ index: Int) throws(StoreError) {
        if graph != nil, flat[index].isNotGiven { return }
        path.append(.property(cls, position))
        current = index
        let column = cls.columns[position]
        if try isPlace(cls, position) {
            parts.later.append((position, index))
        } else {
            let value: Value
            if column.kind == .link {
                let link = try target(cls, position, index)
                if link.isWaiting {
                    // It gets its link later, and till then has the one it had, or none.
                    parts.waiting.append((position, .links([(nil, link)])))
                    path.removeLast()
                    return
                }
                value = link.value(cls, position, in: writer.storeTag)
            } else {
                value = try scalar(index, column.kind, cls, position)
                if !missing.isEmpty {
                    parts.waiting.append((position, .nested(try nested(index))))
                    path.removeLast()
                    return
                }
            }
            if cls.isOfKey(position) {
                // What is wrong with it is said where everything is checked.
                try ValueCheck.check(value, for: position, of: cls, limit: .max)
                parts.key.append((position, value))
            }
            parts.properties.append(cls.propertyID(position))
            parts.positions.append(position)
            parts.values.append(value)
        }
        path.removeLast()
    }

    /// Whether a property holds embedded objects, or is a collection.
    private func isPlace(_ cls: ClassSchema, _ position: Int) throws(StoreError) -> Bool {
        if cls.columns[position].kind != .link { return cls.columns[position].kind.isCollection }
        return schema.classes[ClassID.index(cls.columns[position].target)].isEmbedded
    }

    /// A value of the kind that a property wants, where it can be one.
    func scalar(_ index: Int, _ kind: ValueKind, _ cls: ClassSchema, _ position: Int) throws(StoreError) -> Value {
        let value = flat[index]
        current = index
        if kind == .mixed { return try mixed(index, cls, position) }
        if value.kind == kind && value.high & FlatValues.numberText == 0 || value.isNull { return value }
        if let convert = options.convert, let converted = try convert(value, kind, cls, position) { return converted }
        if let widened = value.widened(to: kind) { return widened }
        switch (value.kind, kind) {
        case (.int, .double), (.int, .float):
            throw cls.naming(StoreError(.outOfRange, "\(value.text) is not exactly \(kind.indefinite)"), position)
        case (.double, .float): throw cls.naming(StoreError(.outOfRange, "\(value.text) is beyond a float"), position)
        default: return value
        }
    }
}
