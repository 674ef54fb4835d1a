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
