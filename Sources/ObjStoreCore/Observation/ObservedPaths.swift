/// Which modifications an observer is told of: of which properties, and of what in the objects that links lead to.
///
/// ```
///  nothing said     every property, and what is written in objects up to four links away
///  "*"              every property of the object itself
///  "siblings"       that property: for a collection, what is in it
///  "owner.name"     the link, and the name of the object that it leads to
///  "owner.*"        the link, and every property of that object
/// ```
/// What is embedded in an object belongs to it: such a step is no link of the four.
package enum ObservedPaths: Sendable {
    /// Every property, and what is so many links away.
    case everything(depth: Int)
    indirect case some(ObservedPath)

    /// How far it goes where nothing is said.
    static let usualDepth = 4

    package static var usual: ObservedPaths { .everything(depth: usualDepth) }
    /// What is written in the object itself, and in what is embedded in it.
    static var own: ObservedPaths { .everything(depth: 0) }

    /// Adds the classes whose objects it leads to.
    func addClasses(from classIndex: Int, of schema: Schema, to classes: inout Set<UInt32>) {
        switch self {
        case .everything(let depth):
            if depth == 0 { return }
            for (index, distance) in schema.linkReach(from: classIndex).distances.enumerated()
            where Int(distance) <= depth {
                classes.insert(UInt32(index))
            }
        case .some(let path):
            path.addClasses(to: &classes)
            if path.leadsAnywhere { classes.formUnion((0..<schema.classes.count).map { UInt32($0) }) }
        }
    }

    /// Whether anything but the object's own properties is told of.
    func leadsAway(from classIndex: Int, of schema: Schema) -> Bool {
        switch self {
        case .everything(let depth): depth > 0 && schema.linkReach(from: classIndex).leadsAway
        case .some(let path): !path.steps.isEmpty || !path.mixed.isEmpty
        }
    }
}

/// What is observed of the objects of one class, and of those that their links lead to: a tree of key paths.
package struct ObservedPath: Sendable {
    enum Step: Sendable, Hashable {
        /// A link, or a collection of links, of the class; by the id of its column.
        case link(UInt32)
        /// The objects that lead here by a property of theirs.
        case inverse(classIndex: Int, column: UInt32)
    }

    let classIndex: Int
    /// Every property.
    private(set) var isWhole = false
    /// The ids of their columns: properties that were named, and not what lies behind them.
    private(set) var columns: Set<UInt32> = []
    private(set) var steps: [(step: Step, path: ObservedPath)] = []
    /// The ids of columns that have mixed values: what these link to, objects of any class.
    private(set) var mixed: Set<UInt32> = []

    /// Here, or behind a step.
    var leadsAnywhere: Bool { !mixed.isEmpty || steps.contains { $0.path.leadsAnywhere } }

    init(_ classIndex: Int) { self.classIndex = classIndex }

    /// These properties alone, by their positions.
    package init(_ cls: ClassSchema, _ positions: [Int]) {
        classIndex = Int(cls.id)
        columns = Set(positions.map { cls.columns[$0].id })
    }

    fileprivate func addClasses(to classes: inout Set<UInt32>) {
        classes.insert(UInt32(classIndex))
        for (_, path) in steps { path.addClasses(to: &classes) }
    }

    // MARK: Text

    /// - Parameter texts: names of properties, with a dot between; `*` at the end of one: every property there;
    ///   `@links.Class.property`, or what the program calls it: the objects that lead here.
    /// Errors: `.noSuchProperty`, `.noSuchClass`; `.wrongType`: what lies before a dot leads to no objects of a class;
    /// `.invalidArgument`: an empty one, and one that is too long.
    package init(
        parsing texts: [String], of cls: ClassSchema, _ schema: Schema, _ names: StoredNames
    ) throws(StoreError) {
        self.init(Int(cls.id))
        for text in texts {
            if let position = names.propertyIndex(text, cls) {
                columns.insert(cls.columns[position].id)
                continue
            }
            let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map {
                String(Substring($0))
            }
            guard parts.count <= ObservedPath.mostParts else {
                throw StoreError(
                    .invalidArgument, "a key path has \(parts.count) parts: at most \(ObservedPath.mostParts)")
            }
            do throws(StoreError) { try add(parts[...], schema, names) } catch {
                throw parts.count == 1 ? error : error.prefixed("key path \(text): ")
            }
        }
    }

    private static let mostParts = 64

    private static func noSuchProperty(_ name: String, _ cls: ClassSchema, _ names: StoredNames) -> StoreError {
        StoreError(.noSuchProperty, "class \(names.name(cls)) does not have a property \(name)").at(
            class: names.name(cls))
    }

    private mutating func add(
        _ parts: ArraySlice<String>, _ schema: Schema, _ names: StoredNames
    ) throws(StoreError) {
        let cls = schema.classes[classIndex], first = parts.first.unsafelyUnwrapped, rest = parts.dropFirst()
        if first == "*" && rest.isEmpty {
            isWhole = true
            return
        }
        if let position = names.propertyIndex(first, cls) {
            let column = cls.columns[position]
            if rest.isEmpty {
                columns.insert(column.id)
                return
            }
            guard column.target != 0 else {
                throw cls.named(
                    StoreError(
                        .wrongType,
                        """
                        \(names.name(cls)).\(first) is \(column.kind.indefinite), and leads to no objects of one \
                        class: no path goes on behind it
                        """), position)
            }
            return try add(.link(column.id), ClassID.index(column.target), rest, schema, names)
        }
        var origin: (cls: String, property: String)?, behind = rest
        if let inverse = names.inverse(first, cls) {
            origin = (inverse.cls, inverse.property)
        } else if first == "@links", rest.count >= 2 {
            origin = (rest[rest.startIndex], rest[rest.startIndex + 1])
            behind = rest.dropFirst(2)
        }
        guard let origin else { throw ObservedPath.noSuchProperty(first, cls, names) }
        guard let index = names.classIndex(origin.cls, schema) else {
            throw StoreError(.noSuchClass, "there is no class \(origin.cls)")
        }
        let other = schema.classes[index]
        guard let position = names.propertyIndex(origin.property, other) else {
            throw ObservedPath.noSuchProperty(origin.property, other, names)
        }
        guard other.columns[position].target == cls.classID else {
            throw other.named(
                StoreError(.wrongType, "\(names.name(other)).\(origin.property) is no link to \(names.name(cls))"),
                position)
        }
        try add(.inverse(classIndex: index, column: other.columns[position].id), index, behind, schema, names)
    }

    private mutating func add(
        _ step: Step, _ target: Int, _ rest: ArraySlice<String>, _ schema: Schema, _ names: StoredNames
    ) throws(StoreError) {
        try follow(step, to: target) { (path) throws(StoreError) in
            // An inverse by itself: who leads here.
            if !rest.isEmpty { try path.add(rest, schema, names) }
        }
    }

    // MARK: Growing

    mutating func add(_ column: UInt32) { columns.insert(column) }
    mutating func add(behindMixed column: UInt32) { mixed.insert(column) }

    /// Calls `body` with what is behind a step.
    mutating func follow<Failure: Error>(
        _ step: Step, to target: Int, _ body: (inout ObservedPath) throws(Failure) -> Void
    ) throws(Failure) {
        let place = steps.firstIndex { $0.step == step } ?? steps.count
        if place == steps.count { steps.append((step, ObservedPath(target))) }
        try body(&steps[place].path)
    }
}
