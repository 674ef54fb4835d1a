extension IncomingLink {
    /// How many such links lead to an object, by their index or inverse.
    func count(to key: Int64, _ reader: IndexReader) throws(StoreError) -> Int {
        isCollection ? try reader.linkCount(to: key) : try reader.count(.equal, Value(kind: .link, low: key))
    }
}
