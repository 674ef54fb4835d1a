#if canImport(Glibc)
import Glibc
#endif
import Testing
import WholeModel

/// Random histories over the whole object model, against a naive one. `WHOLE_SEED=N` runs one seed, `WHOLE_SEEDS=N` the
/// first N.
@Suite struct WholeModelTests {
    private static let seeds: [UInt64] = {
        func number(_ name: String) -> UInt64? { getenv(name).flatMap { UInt64(String(cString: $0)) } }
        if let seed = number("WHOLE_SEED") { return [seed] }
        return Array(1...(number("WHOLE_SEEDS") ?? 7))
    }()

    @Test(arguments: seeds)
    func randomHistories(seed: UInt64) throws {
        let folder = TestFolder(), history = WholeHistory(seed: seed, path: folder["db"])
        do {
            for _ in 0..<6 { try history.live(transactions: 6, steps: 30) }
        } catch {
            Issue.record("seed \(seed): \(error)\n\(history.place)")
        }
        #expect(history.compared > 20)
    }
}
