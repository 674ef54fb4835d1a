/// A way from an object, or from an element that a subquery is about, to values: through links, embedded objects,
/// collections, inverses and nested documents. By ids, so that it means the same in every version.
///
/// `friends.address.city` is `property(friends) elements property(address) property(city)`: it reaches as many values
/// as there are friends. A collection at its end is reached as a whole, so that it can be counted.
struct Path: Sendable {
    enum Step: Sendable {
        /// Of an object. Behind a link that is null a value is null, and a collection has no elements.
        case property(UInt32)
        /// The elements of a collection, or of a list or map of a mixed value.
        case elements
        /// Those elements for which a condition is true; inside of it each is the object of a level.
        case filter(PathCondition, level: Int)
        /// An element of a list; from its end where negative. Null where there is none.
        case at(Int64)
        /// The value of a key of a map. Null where there is none.
        case key(Value)
        /// Of a mixed value: what the map has for the key, or the property of the linked object.
        case member(Value)
        /// The objects that have a link in a property, as often as they have it.
        case incoming(UInt32)
        /// All that link to it.
        case allIncoming
        /// Of a map.
        case keys, values
        /// Of a text or a binary among the elements of a collection; of null 0.
        case length
    }

    /// Where it begins: 0 is the object that is asked about, others are elements of subqueries.
    let level: Int
    var steps: [Step]
}

/// One side of a comparison: a value of an object, or many.
indirect enum PathSource: Sendable {
    case constants([Value])
    /// What it reaches; of a collection at its end the elements.
    case path(Path)
    /// How many elements; the length of a text. Of objects all that are reached together.
    case count(Path, ofObjects: Bool)
    /// What kind of value, as a set of kinds: the bit 1 << kind.
    case type(Path)
    /// Of each collection that is reached; with `member` of what that is for each of their elements, over all.
    case aggregate(Path, QueryAggregate, member: Path?, sums: PathSum)
    case arithmetic(Arithmetic, PathSource, PathSource)
    case negated(PathSource)
    /// With its arguments, of which one may be many.
    case call(FunctionCall, [PathSource])
}

/// How the values of an aggregate are added up.
enum PathSum: Sendable { case ints, doubles, decimals }

struct PathOperand: Sendable {
    var source: PathSource
    /// Nil: there is one value, or ANY is meant.
    var quantifier: Quantifier?
    /// A mixed value that is a list or a map counts as its elements.
    var expands = false
}

/// `Q1 left op Q2 right`: for Q1 of the left values it holds that for Q2 of the right ones they relate. An object: it
/// has many parts, which would be copied for each value.
final class PathComparison: Sendable {
    enum Relation: Sendable {
        /// `apart`: a text is never equal to a binary.
        case comparison(Comparison, apart: Bool)
        /// With a text or a binary that is the same for all objects.
        case pattern(Shared<TextPattern>, of: ValueKind)
        /// With a text of the object.
        case text(TextPattern.Operation, QueryNode.Modifiers)
        /// `==[c]` and its like, of values that need not be texts.
        case folded(Comparison, QueryNode.Modifiers)
        /// Of kinds.
        case type(isEqual: Bool)
        /// It has words.
        case search(Shared<TextSearch>)
        /// A place lies in a shape; the right side says nothing.
        case within(Shared<GeoShape>, GeoProperties)
    }

    /// What a relation needs: one reference, which is less to copy.
    final class Shared<Content: Sendable>: Sendable {
        let content: Content
        init(_ content: Content) { self.content = content }
    }

    /// Whether collections are compared as wholes: pair by pair, and as many on both sides.
    enum Extent: Sendable {
        case values, wholes
        /// As wholes where the mixed value of one side is a list.
        case wholesOfLists(leftIsMixed: Bool)
    }

    let left: PathOperand
    let relation: Relation
    let right: PathOperand
    let extent: Extent
    /// Of a right side that is one constant, which it is.
    let constant: Value?

    init(left: PathOperand, relation: Relation, right: PathOperand, extent: Extent = .values) {
        (self.left, self.relation, self.right, self.extent) = (left, relation, right, extent)
        if case .constants(let values) = right.source, values.count == 1, right.quantifier == nil, !right.expands {
            constant = values[0]
        } else {
            constant = nil
        }
    }

    /// With mixed values, on the one side or the other, that count as their elements.
    func expanding(left isLeft: Bool) -> PathComparison {
        var left = left, right = right
        left.expands = isLeft
        right.expands = !isLeft
        return PathComparison(left: left, relation: relation, right: right, extent: extent)
    }
}

/// A condition about paths, true or false for an object.
indirect enum PathCondition: Sendable {
    case truth(Bool)
    case not(PathCondition)
    case and(PathCondition, PathCondition)
    case or(PathCondition, PathCondition)
    case comparison(PathComparison)
}

/// A condition about paths as a part of a predicate.
package final class PathTest: Sendable {
    let condition: PathCondition
    /// Ids of the properties that it looks at, of any classes.
    let properties: [UInt32]
    /// Those of other classes, too, as links of mixed values lead to.
    let leadsAnywhere: Bool
    /// And farther: not only one link behind a mixed value.
    let leadsFar: Bool
    /// How many levels of objects it has, with that of the object itself.
    let levels: Int
    /// Of functions.
    let calls: [FunctionCall]
    /// The same, where one pass answers it for all objects.
    let origins: OriginTest?
    /// Constants that were made for it.
    private let constants: [OwnedValue]

    /// The comparison at a node.
    init(of index: Int, _ binder: QueryBinder) throws(StoreError) {
        var paths = PathBinder(binder)
        condition = try paths.comparison(index)
        (properties, levels, constants) = (paths.properties, paths.most, paths.constants)
        calls = paths.calls
        (leadsAnywhere, leadsFar) = (paths.leadsAnywhere, paths.leadsFar)
        origins = calls.isEmpty ? try binder.originTest(index) : nil
    }

    /// The condition at a node, which is about elements of a collection: see `QueryBinder.element`.
    init(ofElements index: Int, _ binder: QueryBinder) throws(StoreError) {
        var paths = PathBinder(binder)
        condition = try paths.condition(index)
        (properties, levels, constants) = (paths.properties, paths.most, paths.constants)
        calls = paths.calls
        (leadsAnywhere, leadsFar) = (paths.leadsAnywhere, paths.leadsFar)
        origins = nil
    }
}

/// One value of an object that lies behind a path.
final class PathValue: Sendable {
    let source: PathSource
    let kind: ValueKind
    /// Of links: the class that they lead to, as an index in the schema; nil: any.
    let target: Int?
    let properties: [UInt32]
    /// As of `PathTest`.
    let leadsAnywhere: Bool
    let leadsFar: Bool
    let levels: Int
    /// Constants that were made for it.
    private let constants: [OwnedValue]
    /// Of functions.
    let calls: [FunctionCall]

    /// Of the value at a node.
    init(of index: Int, _ binder: QueryBinder) throws(StoreError) {
        var paths = PathBinder(binder)
        let side = try paths.side(index)
        if side.isConstant {
            throw binder.error(.invalidQuery, index, "\(binder.described(index)) is the same for all elements")
        }
        guard !side.isMany, side.operand.quantifier == nil else {
            throw binder.error(.invalidQuery, index, "\(binder.described(index)) is not one value of each object")
        }
        (source, kind, target) = (side.operand.source, side.kind, side.target)
        (properties, leadsAnywhere, levels) = (paths.properties, paths.leadsAnywhere, paths.most)
        leadsFar = paths.leadsFar
        (constants, calls) = (paths.constants, paths.calls)
    }
}
