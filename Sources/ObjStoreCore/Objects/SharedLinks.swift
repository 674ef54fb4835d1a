/// Links to objects that are about to be deleted together, where a collection has several of them.
///
/// ```
///  delete Dog#1 … Dog#9000            one after the other: 9,000 walks through the list
///  Person#3.dogs  [#1, #7, #2, …]     together: one
/// ```
/// A collection that has one of them only is left to the deletion of that one, as is a set, in which it is looked up.
extension WriteTransaction {
    /// - Parameter keys: ascending. Those that have links themselves and are deleted, too, are left alone.
    func removeSharedLinks(to keys: KeyBuffer, of state: ClassState, fromMixed: Bool) throws(StoreError) {
        if keys.count < 2 { return }
        let targets = try NumberSet(keys), classID = state.schema.classID
        for link in state.incoming where link.isCollection {
            let origin = try self.state(link.classIndex)
            if origin.schema.columns[link.property].kind == .set { continue }
            let owners = try WriteTransaction.shared(keys, but: origin === state ? targets : nil) {
                (key) throws(StoreError) in
                try origin.owners(ofLinksTo: key, link.property, without: nil)
            }
            try removeLinks(to: .such { targets.contains($0) }, origin, link.property, of: owners)
            try spillIfLarge()
        }
        if !fromMixed { return }
        for place in schema.mixedOrigins {
            let origin = try self.state(place.classIndex), inverse = origin.mixedInverses[place.position]
            if try !inverse.leads(to: classID) { continue }
            let owners = try WriteTransaction.shared(keys, but: origin === state ? targets : nil) {
                (key) throws(StoreError) in
                try inverse.reader().owners(of: MixedTarget(classID: classID, key: key), without: nil)
            }
            for index in 0..<owners.count {
                _ = try origin.clearMixedLinks(owners.keys[index], place.property) {
                    $0.classID == classID && targets.contains($0.key)
                }
            }
            try spillIfLarge()
        }
    }

    /// The owners with links to at least two of the targets, ascending.
    private static func shared(
        _ targets: KeyBuffer, but gone: NumberSet?, _ owners: (Int64) throws(StoreError) -> KeyBuffer
    ) throws(StoreError) -> KeyBuffer {
        let all = KeyBuffer(), shared = KeyBuffer()
        for index in 0..<targets.count {
            let some = try owners(targets.keys[index])
            for index in 0..<some.count where gone?.contains(some.keys[index]) != true {
                try all.append(some.keys[index])
            }
        }
        try all.sort()
        for index in 0..<all.count where index > 0 && all.keys[index] == all.keys[index - 1] {
            if shared.count == 0 || shared.keys[shared.count - 1] != all.keys[index] {
                try shared.append(all.keys[index])
            }
        }
        return shared
    }
}
