import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// Cases that libFuzzer makes, which looks for code that no case before has reached: its bytes are the decisions of
/// which a case is made elsewhere by chance, which store, what is changed in its files, what is done with them.
///
/// ```
///  byte 0   which of `Subject.small`
///  byte 1   bit 0: hashes count  ·  bits 1–2: what is done (`Use`)
///  then     changes, until the bytes end
/// ```
/// Where hashes count, all that is read must be what the store once was: each answer is an error, or that of one of its
/// versions; so is what was salvaged without a loss. Where they do not, as in a file forged on purpose, any
/// answer is right.
///
/// With OBJSTORE_FUZZ_JSON in the environment the bytes are a `JSONCase`, with OBJSTORE_FUZZ_NESTED the decisions of a
/// `NestedCase`, with OBJSTORE_FUZZ_QUERY a `QueryCase`.
enum LibFuzzer {
    private enum Use: Int {
        /// Opened, read, written, compacted, closed, opened again.
        case session
        /// Opened immutable, and read.
        case immutable
        /// Checked and salvaged as files that are not open anywhere.
        case files
        /// Opened and read, as `session` begins.
        case reading
    }

    private nonisolated(unsafe) static var subjects: [Subject] = []
    private static let mostChanges = 24
    /// A control: hashes are not compared where they count either, and what is read is not what the store was. Must be
    /// found.
    private static let isControl = getenv("OBJSTORE_FUZZ_CONTROL") != nil

    private typealias Callback = @convention(c) (UnsafePointer<UInt8>?, Int) -> Int32
    private typealias Driver =
        @convention(c) (
            UnsafeMutablePointer<Int32>, UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
            Callback
        ) -> Int32

    /// Makes the stores to begin with, then gives everything to libFuzzer, which this program must be linked with.
    static func run(_ words: [String]) -> Int32 {
        guard let symbol = dlsym(nil, "LLVMFuzzerRunDriver") else {
            print("built without libFuzzer: scripts/fuzz libfuzzer")
            return 2
        }
        let driver = unsafeBitCast(symbol, to: Driver.self)
        if isJSON { return drive(words, driver) { _ = JSONCase.run($0) } }
        if getenv("OBJSTORE_FUZZ_NESTED") != nil {
            return drive(words, driver) { bytes in
                var numbers = InputNumbers(bytes.bindMemory(to: UInt8.self))
                _ = NestedCase.run(&numbers)
            }
        }
        if getenv("OBJSTORE_FUZZ_QUERY") != nil { return drive(words, driver) { _ = QueryCase.run($0) } }
        do {
            subjects = try Subject.small(folder)
            for index in subjects.indices { try subjects[index].readHistory(folder + "/base") }
        } catch {
            print("the stores to begin with could not be made: \(error)")
            return 1
        }
        return drive(words, driver) { one($0.bindMemory(to: UInt8.self)) }
    }

    private static let isJSON = getenv("OBJSTORE_FUZZ_JSON") != nil
    private nonisolated(unsafe) static var body: (UnsafeRawBufferPointer) -> Void = { _ in }

    private static func drive(
        _ words: [String], _ driver: Driver, _ body: @escaping (UnsafeRawBufferPointer) -> Void
    ) -> Int32 {
        self.body = body
        var count = Int32(words.count)
        // Lives as long as the process.
        var list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: words.count + 1)
        for (index, word) in words.enumerated() { list[index] = strdup(word) }
        list[words.count] = nil
        return driver(&count, &list) { bytes, count in
            LibFuzzer.body(UnsafeRawBufferPointer(start: bytes, count: count))
            return 0
        }
    }

    private static func one(_ bytes: UnsafeBufferPointer<UInt8>) {
        var mutation = Mutation(random: InputNumbers(bytes))
        var subject = subjects[mutation.random.below(subjects.count)]
        let flags = mutation.random.below(256)
        let isChecked = flags & 1 != 0
        mutation.random.isRaw = !isChecked
        var changes = 0
        while !mutation.random.isExhausted, changes < mostChanges {
            mutation.changeFiles(&subject)
            changes += 1
        }
        InjectedBug.set(.hashUnchecked, !isChecked || isControl)
        let path = folder + "/case", use = Use(rawValue: flags >> 1 & 3)!
        subject.write(path)
        let transcript = isChecked ? Transcript() : nil
        if use == .files {
            if Target.store.salvage(path, folder + "/salvaged", transcript), let transcript {
                compare(transcript, subject)
            }
            return
        }
        do throws(StoreError) {
            try Session(
                path: path, isWriting: use == .session, mode: use == .immutable ? .immutable : .readWrite,
                rounds: use == .session ? 2 : 1,
                samples: Subject.samples, compacts: true, transcript: transcript
            ).run()
        } catch {
            if changes == 0 && (use != .immutable || subject.log == nil) {
                fatalError("\(subject.name), unchanged: \(error)")
            }
        }
        if let transcript { compare(transcript, subject) }
    }

    private static func compare(_ transcript: Transcript, _ subject: Subject) {
        let differences = subject.transcripts.map { transcript.differences(from: $0) }
        if let least = differences.min(by: { $0.count < $1.count }), !least.isEmpty {
            fatalError(
                """
                \(subject.name): an answer that none of its versions gives, \(least.count) of \
                \(transcript.answers.count): \(least.prefix(3))
                """
            )
        }
    }
}

extension Mutation {
    /// One change of any kind in one of the files.
    mutating func changeFiles(_ subject: inout Subject) {
        switch random.below(16) {
        case 0..<9: changeStore(&subject)
        case 9..<12: changePieces(&subject.store, header: 12288)
        case 12..<15 where subject.log != nil: changeLog(&subject)
        case 15 where subject.log != nil: changePieces(&subject.log!, header: 4096)
        default: changePieces(&subject.store, header: 12288)
        }
    }
}
