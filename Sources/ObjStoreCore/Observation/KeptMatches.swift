/// What is kept of an observed query that calls functions of the program: the objects that satisfy its condition.
///
/// ```
///  near(x, y) < 50 SORT(name ASC) LIMIT(10)
///
///  known      3  7  9          7 was written, 12 is new, 9 is gone
///  asked         7    12       the function is called for these, once each
///  matches    3  7    12  ──► SORT, LIMIT ──► the answer, which is compared with the one before
/// ```
/// What a function gave once holds until something is written that the condition reads of the object: a function that
/// gives something else another time makes no answer that nobody was told of.
extension ObserverScope {
    var keepsMatches: Bool {
        query.callsFunctions && query.origin.isObjects && TouchedObjects.suffice(for: query, evenCalling: true)
    }

    /// The objects that satisfy the condition after a step, ascending, by those before it. Nil: all have to be asked.
    private func matches(_ known: KeyBuffer, after reader: ChangeReader) throws(StoreError) -> KeyBuffer? {
        guard try reader.from.schemaRef() == reader.to.schemaRef(),
            let touched = try TouchedObjects(reader).keys(of: query)
        else { return nil }
        let test = try RowTest(query, .version(reader.to))
        var asked = Set(touched), gone: [Int64] = []
        if let changes = reader.classes[classID] {
            gone = changes.deleted
            asked.formUnion(changes.inserted)
            for (row, key) in changes.modified.enumerated()
            where test.columns.map({ changes.hasWritten($0, in: row) }) != false {
                asked.insert(key)
            }
        }
        // What leads from them leads there from nothing any more.
        asked.subtract(gone)
        if asked.isEmpty && gone.isEmpty { return known }
        let matches = try KeyBuffer(expecting: known.count + asked.count)
        var place = 0
        func keep(before key: Int64) throws(StoreError) {
            while place < known.count, known.keys[place] < key {
                if !gone.hasAscending(known.keys[place]) { try matches.append(known.keys[place]) }
                place += 1
            }
        }
        for key in asked.sorted() {
            try keep(before: key)
            if place < known.count, known.keys[place] == key { place += 1 }
            if try test.holds(key) { try matches.append(key) }
        }
        try keep(before: .max)
        return matches
    }

    /// The same, and what the steps of the query make of them.
    ///
    /// - Parameter known: nil: all have to be asked.
    func askedAgain(
        _ known: KeyBuffer?, after reader: ChangeReader
    ) throws(StoreError) -> (matches: KeyBuffer, list: KeyBuffer) {
        try asking { () throws(StoreError) in
            let run = try QueryRun(query, .version(reader.to))
            let matches =
                if let known, let found = try matches(known, after: reader) { found } else {
                    try run.satisfying(first: .max)
                }
            return (matches, try run.apply(query.steps[...], to: matches))
        }
    }
}
