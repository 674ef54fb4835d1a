/// A flag for each element of a long sequence, which knows how many are set before each, and follows elements that come
/// and go.
///
/// ```
///  elements   a b c d │ e f g │ h i …      chunks of up to 1024
///  flags      1 0 1 1 │ 0 0 1 │ 1 1 …      one byte each
///  sizes      4         3       …          elements, and set flags, before each chunk: `ChunkSizes`
///  set        3         1       …
/// ```
package struct FlagList {
    private static let capacity = 1024
    private var chunks: [[UInt8]] = []
    private var sizes: ChunkSizes
    private var set: ChunkSizes

    package var count: Int { sizes.count }

    /// - Parameter flags: 1, or 0.
    package init(_ flags: [UInt8]) {
        for start in stride(from: 0, to: max(1, flags.count), by: FlagList.capacity / 2) {
            chunks.append(Array(flags[start..<min(start + FlagList.capacity / 2, flags.count)]))
        }
        sizes = ChunkSizes(chunks.map(\.count))
        set = ChunkSizes(chunks.map { FlagList.sum($0[...]) })
    }

    private static func sum(_ flags: ArraySlice<UInt8>) -> Int { flags.reduce(0) { $0 &+ Int($1) } }

    /// The place of an element; of their number: behind the last one.
    private func place(_ element: Int) -> (chunk: Int, index: Int) {
        let chunk = element == count ? chunks.count - 1 : sizes.chunk(of: element)
        return (chunk, element - sizes.start(of: chunk))
    }

    package subscript(element: Int) -> Bool {
        let place = place(element)
        return chunks[place.chunk][place.index] != 0
    }

    /// How many are set before an element.
    package func rank(_ element: Int) -> Int {
        let place = place(element)
        return set.start(of: place.chunk) + FlagList.sum(chunks[place.chunk][..<place.index])
    }

    /// The element that is set and has so many of those before it; there is one.
    package func place(ofSet rank: Int) -> Int {
        let chunk = set.chunk(of: rank)
        var left = rank - set.start(of: chunk), index = 0
        while chunks[chunk][index] == 0 || left > 0 {
            left -= Int(chunks[chunk][index])
            index += 1
        }
        return sizes.start(of: chunk) + index
    }

    package mutating func change(_ element: Int, to flag: Bool) {
        let place = place(element), old = chunks[place.chunk][place.index]
        chunks[place.chunk][place.index] = flag ? 1 : 0
        set.change(place.chunk, by: (flag ? 1 : 0) - Int(old))
        set.sum()
    }

    package mutating func remove(_ element: Int) {
        let place = place(element), old = chunks[place.chunk].remove(at: place.index)
        sizes.change(place.chunk, by: -1)
        set.change(place.chunk, by: -Int(old))
        if chunks[place.chunk].isEmpty && chunks.count > 1 {
            chunks.remove(at: place.chunk)
            sizes.remove(place.chunk)
            set.remove(place.chunk)
        }
        sizes.sum()
        set.sum()
    }

    package mutating func insert(_ flag: Bool, at element: Int) {
        let (chunk, index) = place(element)
        chunks[chunk].insert(flag ? 1 : 0, at: index)
        sizes.change(chunk, by: 1)
        set.change(chunk, by: flag ? 1 : 0)
        if chunks[chunk].count > FlagList.capacity {
            let half = chunks[chunk].count / 2, second = Array(chunks[chunk][half...])
            chunks[chunk].removeSubrange(half...)
            chunks.insert(second, at: chunk + 1)
            sizes.split(chunk, second: second.count)
            set.split(chunk, second: FlagList.sum(second[...]))
        }
        sizes.sum()
        set.sum()
    }
}
