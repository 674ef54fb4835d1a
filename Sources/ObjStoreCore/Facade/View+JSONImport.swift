/// Creating objects from JSON text: the elements of a `JSONReader`, each given to an `Assembler`.
extension View {
    /// Makes a value of the kind that a property wants of one that JSON has: of a string, say, a timestamp; nil: it
    /// cannot. Called while the transaction is in use: must not use the store.
    package typealias JSONConvert = JSONConversion.Convert

    /// Creates one object from a text that is a map of names or a list of values; names that a class does not have are
    /// passed over.
    package func create(
        _ classID: UInt32, json source: JSONReader.Source, _ options: JSONOptions, _ policy: UpsertPolicy,
        _ convert: JSONConvert?
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        try checkCreatable(classID)
        let reader = JSONReader(
            source, elements: false, options: options, textLimit: shared.database.options.valueLimit)
        guard try reader.next() else { throw StoreError(.internalError, "a JSON text without a value") }
        return try create(classID, reader, policy, convert)
    }

    /// Creates an object for each element of an array, all or none; an element's link may lead to a later one. Calls
    /// `body` with each. Reads the text as it goes.
    package func createAll(
        _ classID: UInt32, json source: JSONReader.Source, _ options: JSONOptions, _ policy: UpsertPolicy,
        _ convert: JSONConvert?,
        _ body: (ObjectID, UpsertOutcome) -> Void
    ) throws(StoreError) {
        try checkCreatable(classID)
        try atOnce { () throws(StoreError) in
            let reader = JSONReader(
                source, elements: true, options: options, textLimit: shared.database.options.valueLimit)
            let waiting = WaitingLinks(isShared: true)
            while try reader.next() {
                let (object, outcome) = try create(classID, reader, policy, convert, waiting)
                body(object, outcome)
            }
            try connect(waiting)
        }
    }

    /// The same of a file, which is read as it goes. `.notFound`, `.io`.
    package func createAll(
        _ classID: UInt32, jsonFile path: String, _ options: JSONOptions, _ policy: UpsertPolicy,
        _ convert: JSONConvert?,
        _ body: (ObjectID, UpsertOutcome) -> Void
    ) throws(StoreError) {
        try checkCreatable(classID)
        try JSONReader.Source.withFile(path, shared.database.machine) { (source) throws(StoreError) in
            try createAll(classID, json: source, options, policy, convert, body)
        }
    }

    /// Class and property of a property id. Serialised by the caller, as in a `JSONConvert`.
    package func names(_ propertyID: UInt32) -> (cls: String, property: String)? {
        do throws(StoreError) {
            let cls = try schema.cls(UInt32(truncatingIfNeeded: PropertyID.classIndex(propertyID) + 1))
            return (cls.name, cls.properties[try cls.position(propertyID)].name)
        } catch {
            return nil
        }
    }

    /// Before anything is read.
    private func checkCreatable(_ classID: UInt32) throws(StoreError) {
        if kind != .transaction { throw notInWrite }
        try serialised { () throws(StoreError) in
            let cls = try schema.cls(classID)
            if cls.isEmbedded { throw cls.embeddedError }
        }
    }

    private func create(
        _ classID: UInt32, _ reader: JSONReader, _ policy: UpsertPolicy, _ convert: JSONConvert?,
        _ waiting: WaitingLinks? = nil
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        var options = Assembler.Options(policy: policy, ignoresUnknown: true)
        options.waiting = waiting
        options.convert = { (value, kind, cls, position) throws(StoreError) in
            do throws(StoreError) {
                return try JSONConversion.converted(value, kind, cls.propertyID(position), convert)
            } catch {
                throw cls.naming(error, position)
            }
        }
        options.naming = { error, assembler in reader.naming(error, value: assembler.place) }
        return try create(classID, from: reader.values, options)
    }
}
