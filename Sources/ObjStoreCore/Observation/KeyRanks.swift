/// The keys of a result list, ascending, which knows the position of each and follows changes cheaply.
///
/// Chunks of up to 1024 keys and how many keys lie before each: a rank costs two binary searches, a change a
/// move within one chunk; after each batch the counts are summed again (one addition a chunk).
package struct KeyRanks {
    private static let capacity = 1024
    private var chunks: [[Int64]] = []
    private var sizes = ChunkSizes()
    package var count: Int { sizes.count }

    /// - Parameter keys: ascending.
    package init(_ keys: UnsafeBufferPointer<Int64>) {
        var index = 0
        while index < keys.count {
            let end = min(index + KeyRanks.capacity / 2, keys.count)
            chunks.append(Array(keys[index..<end]))
            index = end
        }
        sizes = ChunkSizes(chunks.map(\.count))
    }

    /// The last chunk that begins at or before the key; 0 where none does.
    private func chunk(of key: Int64) -> Int {
        var low = 0, high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if chunks[middle][0] <= key { low = middle + 1 } else { high = middle }
        }
        return max(0, low - 1)
    }

    /// How many smaller keys there are: the index of the key, if it is in the list.
    package func rank(_ key: Int64) -> Int {
        if chunks.isEmpty { return 0 }
        let index = chunk(of: key)
        return sizes.start(of: index) + chunks[index].placeAscending(key)
    }

    /// The key with a rank that there is.
    package subscript(rank: Int) -> Int64 {
        let chunk = sizes.chunk(of: rank)
        return chunks[chunk][rank - sizes.start(of: chunk)]
    }

    package func contains(_ key: Int64) -> Bool {
        !chunks.isEmpty && chunks[chunk(of: key)].hasAscending(key)
    }

    /// Both ascending; `removed` are in the list, `added` are not.
    package mutating func change(removing removed: [Int64], adding added: [Int64]) {
        if removed.isEmpty && added.isEmpty { return }
        for key in removed {
            let index = chunk(of: key), place = chunks[index].placeAscending(key)
            chunks[index].remove(at: place)
            sizes.change(index, by: -1)
            if chunks[index].isEmpty {
                chunks.remove(at: index)
                sizes.remove(index)
            }
        }
        for key in added {
            if chunks.isEmpty {
                chunks.append([key])
                sizes.change(0, by: 1)
                continue
            }
            let index = chunk(of: key)
            chunks[index].insert(key, at: chunks[index].placeAscending(key))
            sizes.change(index, by: 1)
            if chunks[index].count > KeyRanks.capacity { split(index) }
        }
        sizes.sum()
    }

    private mutating func split(_ index: Int) {
        // Appended keys fill their chunk; others halve it.
        let chunk = chunks[index]
        let at = index == chunks.count - 1 ? chunk.count - 1 : chunk.count / 2
        chunks[index] = Array(chunk[..<at])
        chunks.insert(Array(chunk[at...]), at: index + 1)
        sizes.split(index, second: chunk.count - at)
    }
}
