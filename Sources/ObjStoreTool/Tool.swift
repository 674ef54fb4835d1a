internal import ArgumentParser
internal import CArguments
internal import CObjStore
internal import ObjStore

/// `objstore`, the command-line tool: asks, checks and salvages stores. It is built on the Swift interface and has no
/// logic of its own.
@main
struct Tool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "objstore",
        abstract: "Asks, checks and salvages the files of objstore databases.",
        version: "\(OBJSTORE_VERSION_MAJOR).\(OBJSTORE_VERSION_MINOR).\(OBJSTORE_VERSION_PATCH)",
        subcommands: [Query.self, Verify.self, Salvage.self])

    /// How a command ends, for scripts.
    enum Outcome {
        /// Sound; everything could be read.
        static let good = ExitCode(0)
        /// Damaged; something was lost.
        static let damaged = ExitCode(1)
        /// No store, or one that cannot be read at all, or wrong arguments: nothing was done. Or the report could not
        /// be written.
        static let impossible = ExitCode(2)
    }

    static func main() {
        Output.takeClosedOnes()
        do { try run(ca_count() > 1 ? (1..<ca_count()).map { String(cString: ca_at($0)) } : []) } catch {
            exit(withError: error)
        }
    }

    private static func run(_ arguments: [String]) throws(ExitCode) {
        // Without a command the usage is printed; nothing was found sound.
        guard !arguments.isEmpty else {
            Output.complain(helpMessage())
            throw Outcome.impossible
        }
        do {
            var command = try parseAsRoot(arguments)
            try command.run()
        } catch let code as ExitCode {
            throw code
        } catch {
            // Help and version. Wrong arguments have a code of their own in the parser.
            if exitCode(for: error) == .success { return try Output.report(fullMessage(for: error)) }
            Output.complain(fullMessage(for: error))
            throw Outcome.impossible
        }
    }
}

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks a store and tells every finding.",
        discussion: """
            Reads everything that the newest version consists of, also where the store cannot be opened, and changes \
            nothing. The exit status is 0 where it is sound, 1 where it is damaged, and 2 where it is no store or \
            cannot be read, or where the report could not be written.
            """)

    @Argument(help: "The store's file.", completion: .file()) var file: String
    @Flag(help: "Print the report as JSON.") var json = false

    func run() throws {
        let report = try Output.performing(file) { (progress) throws(ObjStoreError) in
            try Store.verify(atPath: file, progress: progress)
        }
        try Output.show(report, json: json, goal: "sound", otherwise: "damaged")
        throw report.isComplete ? Tool.Outcome.good : Tool.Outcome.damaged
    }
}

struct Salvage: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Makes a new store of what can be read of a damaged one.",
        discussion: """
            The damaged store is never written. No value in the new one is a wrong one: what its hashes do not prove \
            is lost, and the report says so. A lost value becomes null, or the property's default. The exit status \
            is 0 where everything could be read, 1 where something was lost, and 2 where there is no new store: FILE \
            is no store, nothing of it can be read, or something is at NEW; or where the new store is there, but the \
            report could not be written.
            """)

    @Argument(help: "The damaged store's file.", completion: .file()) var file: String
    @Argument(help: "Where the new store is made; nothing may be there.", completion: .file()) var new: String
    @Flag(help: "Print the report as JSON.") var json = false

    func run() throws {
        let report = try Output.performing(file) { (progress) throws(ObjStoreError) in
            try Store.salvage(from: file, to: new, progress: progress)
        }
        try Output.show(report, json: json, goal: "complete", otherwise: "something was lost")
        throw report.isComplete ? Tool.Outcome.good : Tool.Outcome.damaged
    }
}
