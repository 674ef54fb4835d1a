/// Makes links to lost objects null, and takes them out of lists and sets, when everything else is in the new store.
///
/// Only then is it known which objects there are: a link may lead to a class that is copied later, or to an object that
/// the log creates or deletes.
struct LinkSalvage {
    let target: SalvageTarget

    /// Objects whose link is about to become null, at most: memory is bounded.
    private static let window = 4096

    func run(_ classes: inout [ClassSalvage]) throws(StoreError) {
        for index in target.schema.classes.indices {
            let cls = target.schema.classes[index]
            for (position, property) in cls.properties.enumerated() {
                if property.kind == .mixed || property.elements?.kind == .mixed {
                    try clearMixed(index, position, &classes[index].lostValues)
                    continue
                }
                guard let linked = property.target else { continue }
                var lost = classes[index].lostValues[property.columnID] ?? LostKeys()
                lost.interrupt()
                var from: Int64? = 0
                while let first = from {
                    let (broken, next) = try collect(index, position, linked, from: first, &lost)
                    for key in broken {
                        if property.kind.isCollection {
                            let targets = try target.state(linked)
                            _ = try target.state(index).removeLinks(
                                key, position, where: .such { (key) throws(StoreError) in try !targets.contains(key) })
                        } else {
                            try target.state(index).replayUpdate(key, [(columnID: property.columnID, value: .null)])
                        }
                        try target.didChange()
                    }
                    from = next
                }
                if !lost.isEmpty { classes[index].lostValues[property.columnID] = lost }
            }
        }
    }

    /// Links in mixed values and elements to objects of whatever class become null, or leave their set.
    private func clearMixed(_ index: Int, _ position: Int, _ lostValues: inout [UInt32: LostKeys]) throws(StoreError) {
        let property = target.schema.classes[index].properties[position]
        var lost = lostValues[property.columnID] ?? LostKeys()
        lost.interrupt()
        var from: Int64? = 0
        while let first = from {
            let reader = try target.state(index).reader()
            var broken: [Int64] = []
            var next = try reader.seek(first)
            from = nil
            while let row = next {
                if try hasLostMixedLink(row, position, reader, index) {
                    broken.append(row.key)
                    if !lost.contains(row.key) { lost.append(row.key, "an object that they linked to is lost") }
                    if broken.count == LinkSalvage.window {
                        from = row.key + 1
                        break
                    }
                } else {
                    lost.interrupt()
                }
                next = try reader.next(row)
            }
            for key in broken {
                _ = try target.state(index).clearMixedLinks(key, position) { (link) throws(StoreError) in
                    try target.transaction.isGone(link)
                }
                try target.didChange()
            }
        }
        if !lost.isEmpty { lostValues[property.columnID] = lost }
    }

    private func hasLostMixedLink(
        _ row: RowPosition, _ position: Int, _ reader: ClusterReader, _ index: Int
    ) throws(StoreError) -> Bool {
        var isLost = false
        func look(_ value: Value) throws(StoreError) -> Bool {
            try MixedLinks.forEach(value) { (link) throws(StoreError) in
                isLost = try target.transaction.isGone(MixedTarget(link))
                return !isLost
            }
            return !isLost
        }
        if target.schema.classes[index].columns[position].kind == .mixed {
            _ = try look(try reader.value(row, position))
        } else {
            try target.state(index).elements(row, position).forEach { (_, value) throws(StoreError) in try look(value) }
        }
        return isLost
    }

    private func hasLostLink(
        _ row: RowPosition, _ position: Int, _ reader: ClusterReader, _ targets: ClassState, _ index: Int
    ) throws(StoreError) -> Bool {
        if target.schema.classes[index].columns[position].kind == .link {
            let value = try reader.value(row, position)
            return value.isNull ? false : try !targets.contains(value.low)
        }
        var isLost = false
        try target.state(index).elements(row, position).forEach { (_, value) throws(StoreError) in
            if !value.isNull { isLost = try !targets.contains(value.low) }
            return !isLost
        }
        return isLost
    }

    /// The next objects that link to nothing, and where to continue.
    private func collect(
        _ index: Int, _ position: Int, _ linked: Int, from first: Int64, _ lost: inout LostKeys
    ) throws(StoreError) -> (broken: [Int64], next: Int64?) {
        let targets = try target.state(linked), reader = try target.state(index).reader()
        let reason =
            """
            \(target.schema.classes[index].columns[position].kind == .link ? "the object" : "an object") of class \
            \(targets.schema.name) that they linked to is lost
            """
        var broken: [Int64] = []
        var next = try reader.seek(first)
        while let row = next {
            if try hasLostLink(row, position, reader, targets, index) {
                broken.append(row.key)
                if !lost.contains(row.key) { lost.append(row.key, reason) }
                if broken.count == LinkSalvage.window { return (broken, row.key + 1) }
            } else {
                lost.interrupt()
            }
            next = try reader.next(row)
        }
        return (broken, nil)
    }
}
