/// A stretch of an index: from the first object whose values begin with `from`, or come after them, to the last one
/// whose values begin with `to`, or come before. As many values as one likes; none: from its beginning, to its end.
package struct IndexStretch: Sendable {
    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        /// Without those that begin with `from`.
        package static let afterFrom = Flags(rawValue: 1)
        /// Without those that begin with `to`.
        package static let beforeTo = Flags(rawValue: 2)
        package static let all = Flags(rawValue: 3)
    }

    let indexID: UInt32
    let from: [OwnedValue]
    let to: [OwnedValue]
    let flags: Flags
    /// By what objects stand in the index, where sorting by it finds the same order; nil: it is not known.
    private(set) var order: [SortKey]?

    /// Values are copied.
    package init(
        _ indexID: UInt32, from: UnsafeBufferPointer<Value>, to: UnsafeBufferPointer<Value>, _ flags: Flags
    ) throws(StoreError) {
        self.indexID = indexID
        self.from = try from.map { (value) throws(StoreError) in try OwnedValue(copying: value) }
        self.to = try to.map { (value) throws(StoreError) in try OwnedValue(copying: value) }
        self.flags = flags
    }
}

extension IndexStretch {
    /// With the order of its index. Numbers that are none stand elsewhere there.
    func ordered(_ cls: ClassSchema, _ index: IndexSchema) -> IndexStretch {
        var ordered = self, order: [SortKey] = []
        for position in index.properties {
            let kind = cls.columns[position].kind
            switch kind {
            case .bool, .int, .timestamp, .string, .binary, .objectID, .uuid:
                let program = ValueProgram(steps: [.property(0)], kind: kind)
                order.append(SortKey(of: ObjectValue(program: program, properties: [cls.propertyID(position)])))
            default: return self
            }
        }
        ordered.order = order
        return ordered
    }
}

/// What indexes find.
extension TreeAccess {
    /// The object that has these values, one for each property of a unique index. None has null: null belongs to no
    /// object, except for a primary key of one property.
    func find(
        _ cls: ClassSchema, at position: Int, _ values: UnsafeBufferPointer<Value>
    ) throws(StoreError) -> Int64? {
        let index = cls.indexes[position]
        guard index.isUnique else {
            throw StoreError(
                .invalidArgument,
                "the index \(cls.name(of: index)) is not unique: several objects may have these values"
            ).at(class: cls.name)
        }
        guard values.count == index.properties.count else {
            throw StoreError(
                .invalidArgument, "\(values.count) values for an index of \(index.properties.count) properties"
            ).at(class: cls.name)
        }
        try check(values, cls, index)
        for (value, position) in zip(values, index.properties) where value.isNull && !cls.columns[position].nullable {
            throw cls.named(
                StoreError(
                    .wrongType,
                    """
                    \(cls.name).\(cls.properties[position].name) is \(cls.columns[position].kind.indefinite) and \
                    cannot be null: no object has null there
                    """
                ),
                position)
        }
        let keys = IndexKey()
        let key = try index.extract(0, into: keys) { (property) throws(StoreError) in
            values[index.properties.firstIndex(of: property).unsafelyUnwrapped]
        }
        if index.isShared(key, keys) || key.count > IndexKey.longest { return nil }
        return try find(cls, at: position, key: key)
    }

    /// O(log n).
    func count(in stretch: IndexStretch) throws(StoreError) -> Int {
        try within(stretch) { (reader, range) throws(StoreError) in try reader.count(in: range) }
    }

    /// The key of the first in the order of the index.
    func first(in stretch: IndexStretch) throws(StoreError) -> Int64? {
        try within(stretch) { (reader, range) throws(StoreError) in
            var first: Int64?
            try reader.forEach(in: range) { (key) throws(StoreError) in
                first = key
                return false
            }
            return first
        }
    }

    /// In the order of the index: `limit` of them at most.
    func keys(in stretch: IndexStretch, first limit: Int) throws(StoreError) -> KeyBuffer {
        try within(stretch) { (reader, range) throws(StoreError) in
            let count = min(limit, try reader.count(in: range)), keys = try KeyBuffer(expecting: count)
            if count == 0 { return keys }
            try reader.forEach(in: range) { (key) throws(StoreError) in
                try keys.append(key)
                return keys.count < count
            }
            return keys
        }
    }

    /// Its index, if its bounds fit that.
    ///
    /// Errors: `.noSuchIndex`; `.invalidArgument`: too many values; `.wrongType`, `.invalidUTF8`.
    func check(_ stretch: IndexStretch) throws(StoreError) -> (ClassSchema, position: Int) {
        let (cls, position) = try schema.index(stretch.indexID), index = cls.indexes[position]
        for values in [stretch.from, stretch.to] {
            guard values.count <= index.properties.count else {
                throw StoreError(
                    .invalidArgument, "\(values.count) values for an index of \(index.properties.count) properties"
                ).at(class: cls.name)
            }
            let plain = values.map(\.value)
            try plain.withUnsafeBufferPointer { (values) throws(StoreError) in try check(values, cls, index) }
        }
        return (cls, position)
    }

    /// What lies in an encoded index from one key on, and before another one; an empty one is its beginning, or its
    /// end. Bounds are valid inside `body` only.
    func within<T>(
        _ cls: ClassSchema, at position: Int, from: IndexKey, to: IndexKey, asksLong: Bool = false,
        _ body: (IndexReader, IndexRange) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let lower: IndexBound = from.value.count == 0 ? .start : try .before(from.value, kind: .binary)
        let upper: IndexBound? = to.value.count == 0 ? nil : try .before(to.value, kind: .binary)
        let longest = max(from.value.count, to.value.count)
        return try withIndex(cls, at: position, asksLong: asksLong || longest > IndexLimits.head) {
            (reader) throws(StoreError) in
            try body(reader, IndexRange(lower: lower, upper: upper))
        }
    }

    /// Bounds point to the bytes of the values: they are valid inside `body` only.
    ///
    /// - Parameter asksLong: as of `withIndex`, for other keys than the bounds.
    func within<T>(
        _ stretch: IndexStretch, asksLong: Bool = false, _ body: (IndexReader, IndexRange) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let (cls, position) = try check(stretch), index = cls.indexes[position]
        let isAfter = stretch.flags.contains(.afterFrom), isBefore = stretch.flags.contains(.beforeTo)
        if index.isEncoded {
            let from = IndexKey(), to = IndexKey()
            for (place, value) in stretch.from.enumerated() { try index.append(value.value, at: place, to: from) }
            for (place, value) in stretch.to.enumerated() { try index.append(value.value, at: place, to: to) }
            if isAfter { from.becomeEnd() }
            if !isBefore { to.becomeEnd() }
            return try within(cls, at: position, from: from, to: to, asksLong: asksLong, body)
        }
        let from = stretch.from.first?.value, to = stretch.to.first?.value
        let longest = max(from?.count ?? 0, to?.count ?? 0)
        return try withIndex(cls, at: position, asksLong: asksLong || longest > IndexLimits.head) {
            (reader) throws(StoreError) in
            try (from ?? .null).withIndexBytes { (first) throws(StoreError) in
                try (to ?? .null).withIndexBytes { (last) throws(StoreError) in
                    let lower: IndexBound =
                        from == nil
                        ? .start : isAfter ? try .after(first, kind: index.kind) : try .before(first, kind: index.kind)
                    let upper: IndexBound? =
                        to == nil
                        ? nil : isBefore ? try .before(last, kind: index.kind) : try .after(last, kind: index.kind)
                    return try body(reader, IndexRange(lower: lower, upper: upper))
                }
            }
        }
    }

    /// Values of the first properties of an index: of their kinds, or null.
    private func check(
        _ values: UnsafeBufferPointer<Value>, _ cls: ClassSchema, _ index: IndexSchema
    ) throws(StoreError) {
        for (value, position) in zip(values, index.properties) {
            if value.isNull { continue }
            if cls.columns[position].kind == .mixed {
                try MixedCell.admit(value, position, cls, limit: IndexKey.longest)
                try checkMixedStore(value, position, cls)
                continue
            }
            guard value.kind == cls.columns[position].kind else {
                throw cls.named(
                    StoreError(
                        .wrongType,
                        """
                        \(cls.name).\(cls.properties[position].name) is \(cls.columns[position].kind.indefinite), not \
                        \(value.kindAndText)
                        """
                    ), position)
            }
            if value.kind == .link { try checkTarget(value.givenObject, position, cls) }
            try ValueCheck.check(value, for: position, of: cls, limit: IndexKey.longest)
        }
    }
}
