internal import CSystem

/// A text, or a binary, that others are compared with: what an operator of a query has on its right side. Made once for
/// a query, asked for each row, by several threads at once; nothing is allocated then.
///
/// Folding is simple case folding (CaseTable); accents are removed from the canonical decomposition (BaseUnits).
package struct TextPattern: @unchecked Sendable {
    package enum Operation: UInt8, Sendable {
        case equal
        /// By code point, of what folding leaves.
        case less, lessOrEqual, greater, greaterOrEqual
        case beginsWith, endsWith, contains
        /// `*`: any characters. `?`: one of them, with its marks if accents are removed. A backslash takes the meaning
        /// from `*`, `?` and itself, and is a character before anything else.
        case like
    }

    /// What a text is seen as.
    enum Form {
        /// Bytes, of which nothing is folded.
        case plain
        case bytes, scalars, bases
    }

    let operation: Operation
    let form: Form
    let foldsCase: Bool
    /// Of the form `plain`, or where `isBytewise`: then they are folded.
    let bytes: UnsafeRawBufferPointer
    /// What contains it has these bytes, or is not ASCII.
    let isBytewise: Bool
    let ends: EndBytes
    /// What everything that fits begins with, where that is known.
    let beginning: HeadBytes?
    /// Of LIKE: a part between its stars that everything that fits contains, the longest one of two bytes or more.
    var part: TextPattern? { memory.longestPart }
    /// `count` units, and the end behind them.
    let units: UnsafePointer<UInt32>
    let count: Int
    /// For `count` + 1 prefixes of the units: how many units the longest one has that is shorter, and ends it.
    let borders: UnsafePointer<UInt32>
    private let memory: PatternMemory

    /// Copies the pattern. It is valid UTF-8, or anything where `isBinary`: then ASCII letters alone are folded, and
    /// nothing is an accent.
    ///
    /// Errors: `.outOfMemory`.
    package init(
        _ operation: Operation, _ pattern: UnsafeRawBufferPointer, foldsCase: Bool, foldsAccents: Bool,
        isBinary: Bool = false
    ) throws(StoreError) {
        let (operation, pattern) = operation == .like ? TextPattern.simplified(pattern) : (operation, pattern)
        self.operation = operation
        self.foldsCase = foldsCase
        form =
            if isBinary {
                foldsCase || operation == .like ? .bytes : .plain
            } else if foldsAccents {
                .bases
            } else {
                foldsCase || operation == .like ? .scalars : .plain
            }
        // No form has more units than there are bytes.
        let room = (pattern.count &+ 1) &* MemoryLayout<UInt32>.stride
        memory = PatternMemory(try Memory.allocate(2 &* room &+ pattern.count))
        let units = memory.start.bindMemory(to: UInt32.self, capacity: pattern.count &+ 1)
        self.units = UnsafePointer(units)
        let copy = UnsafeMutableRawBufferPointer(start: memory.start + 2 &* room, count: pattern.count)
        copy.copyMemory(from: pattern)
        bytes = UnsafeRawBufferPointer(copy)
        switch form {
        case .plain, .bytes: count = TextPattern.fill(units, bytes, operation) { ByteUnits($0, foldsCase: foldsCase) }
        case .scalars:
            let foldsCase = foldsCase && !InjectedBug.active(.queryFoldHalf)
            count = TextPattern.fill(units, bytes, operation) { ScalarUnits($0, foldsCase: foldsCase) }
        case .bases: count = TextPattern.fill(units, bytes, operation) { BaseUnits($0, foldsCase: foldsCase) }
        }
        let borders = (memory.start + room).bindMemory(to: UInt32.self, capacity: pattern.count &+ 1)
        self.borders = UnsafePointer(borders)
        isBytewise =
            operation == .contains && TextPattern.fold(copy, units, count, isText: form == .scalars || form == .bases)
        ends = count > 0 ? EndBytes(copy[0], copy[count &- 1], foldsCase: foldsCase) : EndBytes(0, 0, foldsCase: false)
        TextPattern.findBorders(units, count, borders)
        let hasBeginning = operation == .like || operation == .beginsWith || operation == .equal
        let areBytes = form == .plain || form == .bytes || form == .scalars && !foldsCase
        beginning =
            hasBeginning ? HeadBytes(units, count, foldsCase: foldsCase, areBytes: areBytes) : nil
        if operation == .like {
            memory.longestPart = try TextPattern.longestPart(units, count, foldsCase, foldsAccents, isBinary)
        }
    }

    /// A part of a pattern that is ASCII, and has no `*` or `?` in it.
    private static func longestPart(
        _ units: UnsafePointer<UInt32>, _ count: Int, _ foldsCase: Bool, _ foldsAccents: Bool, _ isBinary: Bool
    ) throws(StoreError) -> TextPattern? {
        var longest = 0..<0, start = 0
        for index in 0...count where index == count || units[index] >= 0x80 {
            if index - start > longest.count { longest = start..<index }
            start = index + 1
        }
        if longest.count < 2 { return nil }
        let bytes = try Memory.allocate(UInt8.self, longest.count)
        defer { bytes.deallocate() }
        for (index, place) in longest.enumerated() { bytes[index] = UInt8(truncatingIfNeeded: units[place]) }
        return try TextPattern(
            .contains, UnsafeRawBufferPointer(start: bytes, count: longest.count), foldsCase: foldsCase,
            foldsAccents: foldsAccents, isBinary: isBinary)
    }

    /// A pattern of LIKE with stars at its ends alone is another operation, and a faster one.
    private static func simplified(_ pattern: UnsafeRawBufferPointer) -> (Operation, UnsafeRawBufferPointer) {
        let many = UInt8(ascii: "*")
        var start = 0, end = pattern.count
        while start < end, pattern[start] == many { start &+= 1 }
        while end > start, pattern[end &- 1] == many { end &-= 1 }
        let middle = UnsafeRawBufferPointer(rebasing: pattern[start..<end])
        for byte in middle where byte == many || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "\\") {
            return (.like, pattern)
        }
        // Stars alone count as one before the end.
        if start == 0 { return (end < pattern.count ? .beginsWith : .equal, middle) }
        return (end < pattern.count || middle.isEmpty ? .contains : .endsWith, middle)
    }

    /// Writes the units of a pattern, and the end behind them. Returns how many there are.
    private static func fill<Units: TextUnits>(
        _ target: UnsafeMutablePointer<UInt32>, _ pattern: UnsafeRawBufferPointer, _ operation: Operation,
        _ cursor: (UnsafeRawBufferPointer) -> Units
    ) -> Int {
        var count = 0
        func add(_ unit: UInt32) {
            target[count] = unit
            count &+= 1
        }
        func add(_ start: Int, _ end: Int) {
            var text = cursor(UnsafeRawBufferPointer(rebasing: pattern[start..<end]))
            while true {
                let unit = text.next()
                if unit == TextUnit.end { return }
                add(unit)
            }
        }
        var start = 0
        if operation == .like {
            func isSpecial(_ byte: UInt8) -> Bool {
                byte == UInt8(ascii: "*") || byte == UInt8(ascii: "?") || byte == UInt8(ascii: "\\")
            }
            var index = 0
            while index < pattern.count {
                let byte = pattern[index]
                if !isSpecial(byte) {
                    index &+= 1
                } else if byte != UInt8(ascii: "\\") {
                    add(start, index)
                    let isMany = byte == UInt8(ascii: "*")
                    // Several stars are one.
                    if !isMany || count == 0 || target[count &- 1] != TextUnit.many {
                        add(isMany ? TextUnit.many : TextUnit.one)
                    }
                    index &+= 1
                    start = index
                } else if index &+ 1 < pattern.count, isSpecial(pattern[index &+ 1]) {
                    add(start, index)
                    start = index &+ 1
                    index &+= 2
                } else {
                    index &+= 1
                }
            }
        }
        add(start, pattern.count)
        target[count] = TextUnit.end
        return count
    }

    /// Makes bytes of the units, if each of them is one.
    private static func fold(
        _ bytes: UnsafeMutableRawBufferPointer, _ units: UnsafePointer<UInt32>, _ count: Int, isText: Bool
    ) -> Bool {
        if count != bytes.count { return false }
        for index in 0..<count where isText && units[index] >= 0x80 { return false }
        for index in 0..<count { bytes[index] = UInt8(truncatingIfNeeded: units[index]) }
        return true
    }

    /// Knuth, Morris and Pratt: after so many units that fit, and one that does not, so many fit still.
    private static func findBorders(
        _ units: UnsafePointer<UInt32>, _ count: Int, _ borders: UnsafeMutablePointer<UInt32>
    ) {
        borders[0] = 0
        if count == 0 { return }
        borders[1] = 0
        var border = 0
        for index in 1..<count {
            while border > 0, units[index] != units[border] { border = Int(borders[border]) }
            if units[index] == units[border] { border &+= 1 }
            borders[index &+ 1] = UInt32(truncatingIfNeeded: border)
        }
    }
}

/// Memory of a pattern, freed with the last copy of it.
private final class PatternMemory {
    let start: UnsafeMutableRawPointer
    /// Written before anybody else knows of it.
    var longestPart: TextPattern?
    init(_ start: UnsafeMutableRawPointer) { self.start = start }
    deinit { start.deallocate() }
}
