/// Objects as JSON text, which `JSONExport` writes.
extension View {
    /// How deep links can be followed.
    package static let deepestJSON = JSONExport.deepest

    /// Writes one object, as it is now.
    ///
    /// - Parameter depth: how many links are followed one after the other: 0 writes references only.
    package func write(_ object: ObjectID, depth: Int, to writer: JSONWriter) throws(StoreError) {
        try serialised { () throws(StoreError) in
            var export = JSONExport(try trees, store.names, store.order, writer)
            try export.object(try classOf(object, export.schema), object.key, depth)
        }
    }

    /// Writes the value of a property as it is in the text of its object, or what a path into mixed values leads
    /// to.
    package func write(
        _ object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep], depth: Int, to writer: JSONWriter
    ) throws(StoreError) {
        try serialised { () throws(StoreError) in
            let trees = try trees
            var export = JSONExport(trees, store.names, store.order, writer)
            let cls = try classOf(object, export.schema)
            if path.isEmpty { return try export.property(propertyID, of: object.key, cls, depth) }
            try trees.withMixed(cls, object.key, propertyID, path) { (node, cls, position) throws(StoreError) in
                try export.node(node, at: path, position, cls, depth)
            }
        }
    }
}

extension Results {
    /// Writes the objects that the results had when it began as an array, and calls `flush` with each piece of the
    /// text: outside of every lock, so that it may use the store. Of a view that moves each object is written as it is
    /// then, and left out where it is gone; a frozen view shows all of them at one time.
    package func writeJSON(
        depth: Int, _ options: JSONWriter.Options, _ flush: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let writer = JSONWriter(options)
        try writer.begin(.list)
        let list = list()
        for index in 0..<list.count {
            let object = object(list.keys[index])
            do throws(StoreError) { try view.write(object, depth: depth, to: writer) } catch {
                // It was deleted since; anything else that is missing is an error.
                guard error.code == .noSuchObject, view.kind != .frozen, try !view.exists(object) else { throw error }
            }
            if writer.text.count >= Results.pieceOfJSON {
                try flush(writer.text)
                writer.removeText()
            }
        }
        try writer.end()
        try flush(writer.text)
    }

    private static let pieceOfJSON = 1 << 16
}
