internal import ObjStore

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A table on its way out: as lines of text, JSON or CSV.
struct Printed {
    private let names: [String]
    private let rows: [[Cell]]

    /// What is in a cell, and how it is shown.
    private enum Cell {
        case null
        case number(String)
        /// NaN or an infinity: JSON has none.
        case special(String)
        case text(String)
        /// As JSON.
        case value(String)
    }

    init(_ table: Table, names: [String]) {
        self.names = names
        let columns = table.columns
        rows = (0..<table.count).map { row in columns.map { Printed.cell(table, row, $0) } }
    }

    private static func cell(_ table: Table, _ row: Int, _ column: String) -> Cell {
        switch table.plain(row, column) {
        case nil, AnyValue.none?: .null
        case .int(let number): .number("\(number)")
        case .float(let number): number.isFinite ? .number("\(number)") : .special("\(number)")
        case .double(let number): number.isFinite ? .number("\(number)") : .special("\(number)")
        case .decimal128(let number): .text("\(number)")
        case .bool(let truth): .number("\(truth)")
        case .string(let text): .text(text)
        case .date(let time): .text("\(time)")
        case .objectId(let id): .text("\(id)")
        case .uuid(let id): .text("\(id)")
        case let other?: (try? other.json(format: .extended)).map { .value($0) } ?? .text("\(other)")
        }
    }

    func text(_ form: Query.Form) -> String {
        switch form {
        case .csv: csv
        case .json: json
        case .table, .explain: lines
        }
    }

    private var lines: String {
        func shown(_ cell: Cell) -> String {
            switch cell {
            case .null: ""
            case .number(let text), .special(let text), .value(let text): text
            case .text(let text): text.replacing("\n", with: "⏎").replacing("\t", with: "⇥")
            }
        }
        let cells = rows.map { $0.map(shown) }
        let widths = names.indices.map { column in
            max(names[column].count, cells.map { $0[column].count }.max() ?? 0)
        }
        let isRight = names.indices.map { column in
            rows.allSatisfy { row in
                switch row[column] {
                case .null, .number, .special: true
                case .text, .value: false
                }
            }
        }
        func line(_ cells: [String]) -> String {
            var line = ""
            for (column, cell) in cells.enumerated() {
                let blank = String(repeating: " ", count: widths[column] - cell.count)
                if column > 0 { line += "  " }
                line += isRight[column] ? blank + cell : column == cells.count - 1 ? cell : cell + blank
            }
            return line + "\n"
        }
        let rule = line(widths.map { String(repeating: "─", count: $0) })
        let count = "\(rows.count) row\(rows.count == 1 ? "" : "s")\n"
        return line(names) + rule + cells.map(line).joined() + count
    }

    private var csv: String {
        func field(_ text: String) -> String {
            text.utf8.contains { $0 == 0x2c || $0 == 0x22 || $0 == 0x0a || $0 == 0x0d }
                ? "\"\(text.replacing("\"", with: "\"\""))\"" : text
        }
        func shown(_ cell: Cell) -> String {
            switch cell {
            case .null: ""
            // So that it is no null.
            case .text(""): "\"\""
            case .number(let text), .special(let text), .text(let text), .value(let text): field(text)
            }
        }
        return ([names.map(field)] + rows.map { $0.map(shown) }).map { $0.joined(separator: ",") + "\r\n" }.joined()
    }

    private var json: String {
        func quoted(_ text: String) -> String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = .withoutEscapingSlashes
            // Strings always have a form in JSON.
            return String(decoding: try! encoder.encode(text), as: UTF8.self)
        }
        let keys = names.map(quoted)
        let objects = rows.map { row in
            let fields = zip(keys, row).map { key, cell in
                switch cell {
                case .null: "\(key): null"
                case .number(let text), .value(let text): "\(key): \(text)"
                case .special(let text), .text(let text): "\(key): \(quoted(text))"
                }
            }
            return "{" + fields.joined(separator: ", ") + "}"
        }
        return objects.isEmpty ? "[]\n" : "[" + objects.joined(separator: ",\n ") + "]\n"
    }
}
