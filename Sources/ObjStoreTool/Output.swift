internal import ArgumentParser
internal import ObjStore

// The tables of the other half of Foundation would make the tool eight times as large.
#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
#if canImport(Glibc)
internal import Glibc
#endif

/// What the tool prints: reports on standard output, everything else on standard error.
enum Output {
    /// Takes standard input, output and error where they are closed: the next file that is opened would be taken for
    /// them. Writing to such an output fails, to such an error does nothing.
    static func takeClosedOnes() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// On standard output, with a new line behind it unless it ends itself. A report that was not delivered is as if
    /// nothing had been found out.
    static func report(_ text: String, ends: Bool = true) throws(ExitCode) {
        var rest = Array((ends ? text + "\n" : text).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else {
                complain("objstore: the report cannot be written: \(String(cString: strerror(errno)))")
                throw Tool.Outcome.impossible
            }
            rest = rest.dropFirst(count)
        }
    }

    static func complain(_ text: String) { say(text + "\n") }

    /// On standard error. If that is closed the output is not wanted.
    private static func say(_ text: String) {
        var text = text
        text.withUTF8 { bytes in _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count) }
    }

    /// Runs an operation, with its progress on standard error where that is a terminal. What it throws ends the tool.
    static func performing(
        _ file: String, _ body: (Store.FileProgress) throws(ObjStoreError) -> FileReport
    ) throws -> FileReport {
        let isTerminal = isatty(STDERR_FILENO) != 0
        var shown = -1
        do {
            defer { if shown >= 0 { say("\r\u{1b}[K") } }
            return try body { done, total in
                let percent = total == 0 ? 100 : Int(done * 100 / total)
                if isTerminal, percent != shown {
                    shown = percent
                    say("\r\(file): \(percent) %")
                }
                return true
            }
        } catch {
            complain("objstore: \(error.message)")
            throw Tool.Outcome.impossible
        }
    }

    static func show(_ report: FileReport, json: Bool, goal: String, otherwise: String) throws(ExitCode) {
        if json { return try Output.report(Output.json(report)) }
        var lines = report.findings + report.notes.map { "note: \($0)" }
        for cls in report.classes {
            let lost = cls.lost.map { $0 == 0 ? "" : ", \($0) lost" } ?? ", nobody knows how many lost"
            lines.append("class \(cls.name): \(cls.objects) objects\(lost)")
            for (property, count) in cls.lostValues { lines.append("    \(property): \(count) values lost") }
        }
        lines.append(report.isComplete ? goal : "\(otherwise): \(report.findings.count) findings")
        try Output.report(lines.joined(separator: "\n"))
    }

    private struct Report: Encodable {
        struct Class: Encodable {
            let name: String
            let objects: Int
            /// Null: unknown.
            let lost: Int?
            let lostValues: [String: Int]

            enum CodingKeys: String, CodingKey {
                case name, objects, lost
                case lostValues = "lost_values"
            }

            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(name, forKey: .name)
                try container.encode(objects, forKey: .objects)
                try container.encode(lost, forKey: .lost)
                try container.encode(lostValues, forKey: .lostValues)
            }
        }
        let complete: Bool
        let findings: [String]
        let notes: [String]
        let classes: [Class]
    }

    private static func json(_ report: FileReport) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let value = Report(
            complete: report.isComplete, findings: report.findings, notes: report.notes,
            classes: report.classes.map { cls in
                Report.Class(
                    name: cls.name, objects: cls.objects, lost: cls.lost,
                    lostValues: Dictionary(cls.lostValues.map { ($0.property, $0.count) }, uniquingKeysWith: +))
            })
        // Strings and numbers always have a form in JSON.
        return String(decoding: try! encoder.encode(value), as: UTF8.self)
    }
}
