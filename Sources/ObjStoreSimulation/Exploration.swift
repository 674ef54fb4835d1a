/// Enumerates every history of a scenario that deviates at most `bound` times from the default course: a
/// preemption, a kill, a power cut or an error counts as one deviation each.
package struct Exploration {
    package var bound = 1
    /// Stops after this many histories.
    package var limit = Int.max
    /// Takes every n-th first deviation, from the i-th on, to share the work.
    package var part = (index: 0, of: 1)
    /// Choices that are never varied; the last three events (write-back error, eviction, spurious wake-up)
    /// are not either: they are for random histories.
    package var fixed: Set<ChoiceKind> = [.workload, .stall, .split, .garbage, .sharedAfterCut, .whichFile]
    package init() {}

    package struct Result {
        package var histories = 0
        package var steps = 0
        package var violation: String?
        /// The choices that led to it: `Choices(script:)` with `startRecording` at the same place repeats it.
        package var script: [Int32] = []
    }

    /// `history` builds a world on the choices, sets its scenario up, calls `startRecording`, runs it, ends it,
    /// and returns what it found and how many steps it took.
    package func run(_ history: (Choices) -> (violation: String?, steps: Int)) -> Result {
        var result = Result()
        /// The first `length` choices of a history that was run, then another one; histories share their arrays.
        struct Branch {
            var base: [Int32]
            var length: Int
            var option: Int32
            var deviations: Int
        }
        var stack: [Branch] = []
        var first = 0
        var next: Branch? = Branch(base: [], length: 0, option: -1, deviations: 0)
        while let branch = next, result.histories < limit {
            let script = branch.option < 0 ? [] : Array(branch.base[..<branch.length]) + [branch.option]
            let choices = Choices(script: script)
            let outcome = history(choices)
            result.histories += 1
            result.steps += outcome.steps
            if let violation = outcome.violation {
                result.violation = violation
                result.script = choices.record.map { $0.taken }
                return result
            }
            let record = choices.record
            let taken = record.map { $0.taken }
            for index in min(script.count, record.count)..<record.count {
                let choice = record[index]
                if fixed.contains(choice.kind) { continue }
                let cost = choice.kind == .cutMode ? 0 : 1
                if branch.deviations + cost > bound { continue }
                let options = choice.kind == .event ? Int(choice.options) - 3 : Int(choice.options)
                for option in 0..<options where option != Choices.standard(choice.kind) {
                    if script.isEmpty {
                        first += 1
                        if first % part.of != part.index { continue }
                    }
                    stack.append(
                        Branch(base: taken, length: index, option: Int32(option), deviations: branch.deviations + cost))
                }
            }
            next = stack.popLast()
        }
        return result
    }
}
