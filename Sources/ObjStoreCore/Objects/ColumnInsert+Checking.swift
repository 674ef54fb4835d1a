/// Every value of every row is checked before the first is written.
extension ColumnInsert {
    /// Every value of every row; nothing is changed.
    func validate() throws(StoreError) {
        if rows == 0 { return }
        for (index, column) in columns.enumerated() {
            let position = positions[index], spec = cls.columns[position]
            guard column.kind == spec.kind, !spec.kind.isCollection else {
                throw cls.named(
                    StoreError(.wrongType, "\(path(position)) is of type \(spec.kind), not \(column.kind)"), position)
            }
            if !spec.kind.isBytes, column.offsets != nil || column.valuesBytes != 0 {
                let what =
                    column.offsets != nil ? "offsets is not NULL" : "values_bytes is \(column.valuesBytes), not 0"
                throw cls.named(
                    StoreError(
                        .invalidArgument, "\(path(position)): \(what), and a column of kind \(spec.kind) has none"),
                    position)
            }
            if column.validity != nil, !spec.nullable { try validateNoNulls(column, position) }
            switch spec.kind {
            case .string, .binary, .mixed: try validateText(column, position)
            case .timestamp:
                guard column.values != nil else { throw noValues(position) }
                for row in 0..<rows where !column.isNull(row) {
                    let nanoseconds = column.value(row).high
                    if nanoseconds < 0 || nanoseconds > 999_999_999 {
                        throw refuse(
                            .outOfRange, position, row: row, "nanoseconds are 0 to 999999999, not \(nanoseconds)")
                    }
                }
            case .link:
                guard column.values != nil else { throw noValues(position) }
                try validateLinks(column, position)
            default: guard column.values != nil else { throw noValues(position) }
            }
            if let enumeration = writer.enumerations?.find(position, cls)?.values {
                try validate(column, position, enumeration)
            }
        }
    }

    private func validate(_ column: InputColumn, _ position: Int, _ enumeration: Enumeration) throws(StoreError) {
        for row in 0..<rows where !column.isNull(row) && !enumeration.has(column.value(row)) {
            throw refuse(.outOfRange, position, row: row, enumeration.refuse(column.value(row), "").message)
        }
    }

    private func noValues(_ position: Int) -> StoreError {
        cls.named(StoreError(.invalidArgument, "\(path(position)): values is NULL"), position)
    }

    private func validateNoNulls(_ column: InputColumn, _ position: Int) throws(StoreError) {
        for row in 0..<rows where column.isNull(row) {
            throw refuse(.notNullable, position, row: row, "it cannot be null")
        }
    }

    private func validateLinks(_ column: InputColumn, _ position: Int) throws(StoreError) {
        let targets = try writer.linkTargets(position, cls)
        var row = 0
        do throws(StoreError) {
            while row < rows {
                if !column.isNull(row) { try writer.checkExists(column.value(row).low, position, cls, targets) }
                row += 1
            }
        } catch {
            throw StoreError(error.code, "row \(row), \(error.message)").at(
                class: error.className, property: error.propertyName, position: row)
        }
    }

    private func validateText(_ column: InputColumn, _ position: Int) throws(StoreError) {
        guard let offsets = column.offsets else {
            throw cls.named(StoreError(.invalidArgument, "\(path(position)): offsets is NULL"), position)
        }
        guard column.valuesBytes <= UInt64(Int64.max) else {
            throw cls.named(
                StoreError(.invalidArgument, "\(path(position)): values_bytes is \(column.valuesBytes)"), position)
        }
        guard column.values != nil || column.valuesBytes == 0 else { throw noValues(position) }
        var limit = writer.valueLimit
        if cls.indexPosition(of: position) != nil { limit = min(limit, IndexKey.longest) }
        if cls.isOfKey(position) { limit = min(limit, ClassSchema.longestKey) }
        var last = offsets[0]
        guard last >= 0 else { throw refuse(.outOfRange, position, row: 0, "its offset is \(last)") }
        // Plain text is looked at as a whole.
        var isString = cls.columns[position].kind == .string
        if isString, let values = column.values, offsets[rows] >= last, offsets[rows] <= Int64(column.valuesBytes),
            UTF8Check.isASCII(values + Int(last), Int(offsets[rows] - last))
        {
            isString = false
        }
        let isMixed = cls.columns[position].kind == .mixed
        for row in 0..<rows {
            let next = offsets[row &+ 1]
            guard next >= last, next <= Int64(column.valuesBytes) else {
                throw refuse(
                    .outOfRange, position, row: row, "offsets \(last) and \(next) of \(column.valuesBytes) bytes")
            }
            let count = Int(next &- last)
            if !column.isNull(row) {
                if count > limit {
                    throw refuse(
                        .valueTooLarge, position, row: row, "\(count) bytes are more than the limit of \(limit)")
                }
                if isString, count > 0, !UTF8Check.isValid(column.values.unsafelyUnwrapped + Int(last), count) {
                    throw refuse(.invalidUTF8, position, row: row, "the text is not valid UTF-8")
                }
                if isMixed { try validateMixed(column.value(row), position, row) }
            }
            last = next
        }
    }

    private func validateMixed(_ cell: Value, _ position: Int, _ row: Int) throws(StoreError) {
        do throws(StoreError) { try MixedCell.check(cell) } catch {
            throw refuse(.invalidArgument, position, row: row, error.message)
        }
        do throws(StoreError) {
            try MixedLinks.forEach(cell) { (link) throws(StoreError) in
                // The bytes are the caller's, and go into the file as they are.
                guard link.givenObject.storeTag == 0 else {
                    throw StoreError(
                        .invalidArgument, "\(path(position)): a link in a column says no store: its store_tag is 0")
                }
                return true
            }
            try writer.checkMixedLinks(cell, position, cls)
        } catch {
            throw StoreError(error.code, "row \(row), \(error.message)").at(
                class: cls.name, property: cls.properties[position].name, position: row)
        }
    }
}
