/// One description in an array of several that refer to each other (`View.create(graph:)`), and what is made of it.
package struct GraphNode {
    package enum Target {
        /// An object of a class, known by its primary key.
        case object(classID: UInt32)
        /// An object known by a unique index.
        case indexed(indexID: UInt32)
        /// What a property of an object gets, as `View.set(_:_:from:_:embedded:)` takes it.
        case property(ObjectID, UInt32)
        /// An embedded object in a property of its parent: its place there, as
        /// `View.createEmbedded(in:_:at:_:_:)` takes it, and then what describes it.
        case element(ObjectID, UInt32)
    }

    package var target: Target
    /// Of an object: the application wants it to be updated, and not only what leads to it, so that without a primary
    /// key a policy is an error.
    package var isRoot: Bool
    /// The application wrote the values: every failure says where in them it came about. Of others that is said where
    /// it is deeper than one property, which messages name anyway.
    package var isDescribed: Bool

    package init(_ target: Target, isRoot: Bool = false, isDescribed: Bool = false) {
        self.target = target
        self.isRoot = isRoot
        self.isDescribed = isDescribed
    }

    /// What became of one: the object, or that of the property.
    package struct Made {
        package var object: ObjectID
        package var outcome: UpsertOutcome
    }
}

/// References among the descriptions of one array. No class has the id 0, so that nothing that an application has can
/// be mistaken for one.
///
/// ```
/// link, class id 0, store tag nodeTag    object key n ≥ 0    what node n becomes
///                                                     -1    in a list of an object's values: this one is not given
/// ```
extension Value {
    static let nodeTag: UInt32 = 0x6564_6f6e

    /// A link to what a node becomes.
    package static func node(_ number: Int) -> Value {
        .link(ObjectID(classID: 0, storeTag: nodeTag, key: Int64(number)))
    }

    /// In the place of a value that is not given.
    package static var notGiven: Value { node(-1) }

    var isNode: Bool { kind == .link && high == Int64(Value.nodeTag) << 32 }
    var isNotGiven: Bool { isNode && low == -1 }
}
