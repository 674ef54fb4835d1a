/// What a condition about paths looks at, as the paths of an observer: followed backwards from what was written, they
/// lead to the objects of which it may have become true or false.
///
/// ```
///  ANY dogs.age > 3                           dogs, dogs.age
///  SUBQUERY(dogs, $d, $d.toy.size > 2)        dogs, dogs.toy, dogs.toy.size
///  @links.Dog.owner.@sum.weight > 100         @links.Dog.owner, @links.Dog.owner.weight
/// ```
/// The links themselves are among them: which objects are in a collection counts, too.
struct QueryPaths {
    private(set) var tree: ObservedPath
    private let schema: Schema
    /// Where the object of each level is: that of the query, and the elements of subqueries.
    private var levels: [Int: Place] = [:]

    /// The way to an object, and the link that leads on from it, as far as it is known whether anything follows.
    private struct Place {
        var way: [(step: ObservedPath.Step, target: Int)] = []
        var link: UInt32?
    }

    /// Whether that can be followed: it leads to objects of known classes, or to what mixed values link to, and calls
    /// no functions.
    static func canFollow(_ test: PathTest) -> Bool { !test.leadsFar && test.calls.isEmpty }
    static func canFollow(_ value: PathValue) -> Bool { !value.leadsFar && value.calls.isEmpty }

    init(of classIndex: Int, _ schema: Schema) {
        tree = ObservedPath(classIndex)
        self.schema = schema
        levels[0] = Place()
    }

    mutating func add(_ test: PathTest) { add(test.condition) }
    mutating func add(_ value: PathValue) { add(value.source) }
    /// Of the objects themselves, by their ids.
    mutating func add(_ properties: [UInt32]) { for id in properties { tree.add(QueryPaths.column(id)) } }

    private mutating func add(_ condition: PathCondition) {
        switch condition {
        case .truth: break
        case .not(let condition): add(condition)
        case .and(let left, let right), .or(let left, let right):
            add(left)
            add(right)
        case .comparison(let comparison):
            add(comparison.left.source)
            add(comparison.right.source)
        }
    }

    private mutating func add(_ source: PathSource) {
        switch source {
        case .constants: break
        case .path(let path), .count(let path, _), .type(let path): _ = add(path)
        case .aggregate(let path, _, let member, _):
            let end = add(path)
            guard let member else { return }
            let outer = levels.updateValue(end, forKey: member.level)
            _ = add(member)
            levels[member.level] = outer
        case .arithmetic(_, let left, let right):
            add(left)
            add(right)
        case .negated(let source): add(source)
        case .call(_, let arguments): for argument in arguments { add(argument) }
        }
    }

    private mutating func add(_ path: Path) -> Place {
        var place = levels[path.level] ?? Place()
        for step in path.steps {
            switch step {
            case .property(let id):
                enter(PropertyID.classIndex(id), &place)
                tree.add(place.way[...], column: QueryPaths.column(id))
                place.link = QueryPaths.column(id)
            case .filter(let condition, let level):
                let outer = levels.updateValue(place, forKey: level)
                add(condition)
                levels[level] = outer
            case .incoming(let id):
                let origin = PropertyID.classIndex(id)
                if place.link != nil, let (cls, position) = try? schema.property(id) {
                    enter(ClassID.index(cls.columns[position].target), &place)
                }
                place.way.append((.inverse(classIndex: origin, column: QueryPaths.column(id)), origin))
                tree.add(place.way[...], column: nil)
            case .member:
                if let column = place.link { tree.add(place.way[...], behindMixed: column) }
            case .elements, .at, .key, .allIncoming, .keys, .values, .length: break
            }
        }
        return place
    }

    /// What follows is about an object behind the link.
    private func enter(_ target: Int, _ place: inout Place) {
        guard let link = place.link else { return }
        place.way.append((.link(link), target))
        place.link = nil
    }

    private static func column(_ id: UInt32) -> UInt32 { (id & 0xffff) - 1 }
}

extension ObservedPath {
    /// - Parameter way: steps, and the class that each leads to.
    fileprivate mutating func add(_ way: ArraySlice<(step: Step, target: Int)>, behindMixed column: UInt32) {
        guard let first = way.first else { return add(behindMixed: column) }
        follow(first.step, to: first.target) { $0.add(way.dropFirst(), behindMixed: column) }
    }

    /// - Parameter way: steps, and the class that each leads to.
    fileprivate mutating func add(_ way: ArraySlice<(step: Step, target: Int)>, column: UInt32?) {
        guard let first = way.first else {
            if let column { add(column) }
            return
        }
        follow(first.step, to: first.target) { $0.add(way.dropFirst(), column: column) }
    }
}
