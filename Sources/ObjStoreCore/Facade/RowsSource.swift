/// Rows of objects of a view that is its own, read as they are asked for.
final class RowsSource: ArrowSource {
    private let view: View
    private let classID: UInt32
    private let rows: ObjectRows
    private let storeTag: UInt32
    private var isOver = false
    /// Rows that it has read are gone: there is nothing behind an error.
    private var failure: StoreError?
    /// About so many rows a batch.
    static let batch = 1 << 16

    init(_ view: View, _ classID: UInt32, _ rows: ObjectRows, storeTag: UInt32) {
        self.view = view
        self.classID = classID
        self.rows = rows
        self.storeTag = storeTag
    }

    func next() throws(StoreError) -> Table? {
        if isOver { return nil }
        if let failure { throw failure }
        do throws(StoreError) {
            // The view may have been closed with its store.
            let table = try view.asking(classID, false) { (_) throws(StoreError) in try rows.batch(storeTag) }
            isOver = table == nil
            return table
        } catch {
            failure = error
            throw error
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
