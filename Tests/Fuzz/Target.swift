import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// What a case is given to.
enum Target: String, CaseIterable {
    case store, log, signature, json, nested

    /// Cases of this target cost so many times what the cheapest do.
    var weight: Int { self == .store || self == .log ? 2 : 1 }

    /// Runs one case; returns what the library said, in a word.
    func run(_ seed: UInt64, _ subjects: [Subject], _ folder: String) -> String {
        var mutation = Mutation(random: RandomNumbers(seed: seed &* 0x9e37_79b9))
        switch self {
        case .store:
            let clean = subjects.filter { $0.log == nil }
            var subject = clean[Int(seed % UInt64(clean.count))]
            for _ in 0..<(1 + mutation.random.below(4)) { mutation.changeStore(&subject) }
            return answer(subject, folder, compacts: seed % 8 == 0)
        case .log:
            let unclean = subjects.filter { $0.log != nil }
            var subject = unclean[Int(seed % UInt64(unclean.count))]
            for _ in 0..<(1 + mutation.random.below(6)) { mutation.changeLog(&subject) }
            return answer(subject, folder, compacts: seed % 8 == 0)
        case .signature: return signature(&mutation.random)
        case .nested: return NestedCase.run(&mutation.random)
        case .json: return JSONCase.random(&mutation.random).withUnsafeBytes { JSONCase.run($0) }
        }
    }

    private func answer(_ subject: Subject, _ folder: String, compacts: Bool) -> String {
        let path = folder + "/case"
        subject.write(path)
        // Before anybody recovers it.
        salvage(path, folder + "/salvaged")
        do throws(StoreError) { try Session(path: path, isWriting: true, compacts: compacts).run() } catch { return "\(error.code)" }
        return "sound"
    }

    /// Checked and salvaged as files; what a salvage makes must be a store that opens. Returns whether nothing was lost.
    @discardableResult
    func salvage(_ path: String, _ target: String, _ transcript: Transcript? = nil) -> Bool {
        for suffix in ["", "-log", "-lock"] { unlink(target + suffix) }
        var findings = 0
        let result: StoreFiles.Salvaged
        do throws(StoreError) {
            _ = try StoreFiles.verify(path, progress: { (_, _) throws(StoreError) in }) { (_) throws(StoreError) in findings += 1 }
            result = try StoreFiles.salvage(path, to: target, progress: { (_, _) throws(StoreError) in }) { (_) throws(StoreError) in findings += 1 }
        } catch {
            return false
        }
        do throws(StoreError) {
            try Session(path: target, isWriting: false, rounds: transcript == nil ? 2 : 1, samples: transcript == nil ? 50 : Subject.samples, transcript: transcript).run()
        } catch {
            fatalError("what was salvaged of \(path) is damaged: \(error)")
        }
        return result.losses == 0
    }

    private func signature(_ random: inout some NumberSource) -> String {
        let words = ["bool", "i64", "f64", "time", "str", "bin", "key", "event", "?", ",", "->", "status", "void", " ", "\t", "-", ">", "x", "é", "\0"]
        var text: [UInt8] = []
        for _ in 0..<random.below(random.chance(0.1) ? 300 : 12) { text += Array(words[random.below(words.count)].utf8) }
        if random.chance(0.5) { text += Array("-> status".utf8) }
        for _ in 0..<random.below(3) where !text.isEmpty { text[random.below(text.count)] = UInt8(truncatingIfNeeded: random.next()) }
        return text.withUnsafeBytes { bytes in
            do throws(StoreError) {
                _ = try Signature(parsing: bytes)
                return "parsed"
            } catch {
                return "\(error.code)"
            }
        }
    }
}

extension Mutation {
    mutating func changeStore(_ subject: inout Subject) {
        // Every extent as often as any other: nodes are small, and most of a file is in parts of leaves.
        if random.chance(0.05) {
            change(&subject.store, random.chance(0.5) ? 0..<512 : 4096..<4608, within: 0..<8192)
        } else {
            change(&subject.store, subject.extents[random.below(subject.extents.count)], within: 12288..<max(12288, subject.store.count))
        }
    }

    mutating func changeLog(_ subject: inout Subject) {
        // Up to where the last record ends.
        let end = max(8192, subject.log!.lastIndex { $0 != 0 } ?? 0)
        let record = 4096 + random.below(max(1, (end - 4096) / 512)) * 512
        change(&subject.log!, record..<record + 512, within: 4096..<end)
    }
}
