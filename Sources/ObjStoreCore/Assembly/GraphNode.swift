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
