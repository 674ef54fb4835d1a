/// Rows of objects of a view that is its own, read as they are asked for.
final class RowsSource: ArrowSource {
    private let view: View
    private let rows: ObjectRows
    private let storeTag: UInt32
    private var isOver = false
    /// About so many rows a batch.
    static let batch = 1 << 16

    init(_ view: View, _ rows: ObjectRows, storeTag: UInt32) {
        self.view = view
        self.rows = rows
        self.storeTag = storeTag
    }

    func next() throws(StoreError) -> Table? {
        if isOver { return nil }
        return try view.serialised { () throws(StoreError) in
            // It may have been closed with its store.
            _ = try view.trees
            let table = try rows.batch(storeTag)
            isOver = table == nil
            return table
        }
    }

    func end() { view.close() }
}

extension ObjectRows {
    /// The next rows; nil: there are none.
    func batch(_ storeTag: UInt32) throws(StoreError) -> Table? {
        let columns = try emptyColumns(expecting: RowsSource.batch)
        while columns[0].count <= RowsSource.batch - RowBlocks.most {
            if try !append(to: columns) { break }
        }
        for column in columns { column.finish() }
        let rows = columns[0].count
        return rows == 0 ? nil : Table(columns, rows: rows, storeTag: storeTag)
    }
}
