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

extension MixedLinks {
    /// Makes links of nodes that begin at `start` lead elsewhere, where `target` says so.
    static func redirect(
        _ start: UnsafeMutableRawPointer, _ count: Int, to target: (ObjectID) -> ObjectID?
    ) throws(StoreError) {
        try visitPlaces(try MixedNode(UnsafeRawPointer(start), count), left: MixedNode.maximumDepth) { place in
            // Of its class, with the tag and the key behind it.
            let link = UnsafeMutableRawPointer(mutating: place) + MixedNode.storeOffset - 4
            let object = ObjectID(
                classID: link.loadUnaligned(as: UInt32.self),
                storeTag: link.loadUnaligned(fromByteOffset: 4, as: UInt32.self),
                key: link.loadUnaligned(fromByteOffset: 8, as: Int64.self))
            guard let other = target(object) else { return }
            link.storeBytes(of: other.classID, as: UInt32.self)
            link.storeBytes(of: other.storeTag, toByteOffset: 4, as: UInt32.self)
            link.storeBytes(of: other.key, toByteOffset: 8, as: Int64.self)
        }
    }
}
