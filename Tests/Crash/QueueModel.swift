/// What a queue of asynchronous writes has to do, without threads, locks or a store.
///
/// Bodies are numbered in the order in which they are enqueued; each adds its number to the content.
struct QueueModel {
    enum Step: CaseIterable {
        /// Enqueue: a write; one that may be grouped; one that fails; a begin that leaves its transaction open; one
        /// that commits.
        case write, group, fail, open, begin
        case cancelFirst, cancelLast
        /// The acquirer gets the lock; gives it up again; a thread delivers; the committer ends a transaction.
        case acquire, park, run, end
        /// A write that is waited for.
        case sync

        var isEnqueue: Bool {
            switch self {
            case .write, .group, .fail, .open, .begin: true
            default: false
            }
        }
    }
    private enum Stage { case idle, ready, parked }
    private struct Body {
        let number: Int
        let kind: Step
        var hasCompletion: Bool { kind == .write || kind == .group || kind == .fail || kind == .begin }
    }
    private struct Ended {
        let number: Int
        let kind: Step
        var isTold = true
        var result: String?
    }
    private struct End {
        var adds: [Int] = []
        var tells: [Int] = []
        var failure: String?
    }

    private var waiting: [Body] = []
    private var stage = Stage.idle
    private var ends: [End] = []
    private var ended: [Ended] = []
    private(set) var kinds: [Step] = []
    private var syncs = 0
    /// What is committed.
    private(set) var content: [Int] = []
    /// What bodies and completions have done.
    private(set) var events: [String] = []

    var firstWaiting: Int? { waiting.first?.number }
    var isActive: Bool { !waiting.isEmpty || !ends.isEmpty || !ended.isEmpty || stage != .idle }
    var isDue: Bool { ended.first?.result != nil || stage != .idle }

    func canDo(_ step: Step) -> Bool {
        switch step {
        case .write, .group, .fail, .open, .begin: true
        case .cancelFirst: !waiting.isEmpty
        case .cancelLast: !kinds.isEmpty
        case .acquire: stage == .idle && !waiting.isEmpty && ends.isEmpty
        case .park: stage == .ready
        case .run: isDue
        case .end: !ends.isEmpty
        case .sync: ends.isEmpty
        }
    }

    mutating func make(_ step: Step) {
        switch step {
        case .write, .group, .fail, .open, .begin:
            waiting.append(Body(number: kinds.count, kind: step))
            kinds.append(step)
        case .cancelFirst: cancel(waiting[0].number)
        case .cancelLast: cancel(kinds.count - 1)
        case .acquire: stage = .ready
        case .park: stage = .parked
        case .run: run()
        case .end: end(ends.removeFirst())
        case .sync:
            content.append(1000 + syncs)
            syncs += 1
            if stage == .ready { stage = .idle }
        }
    }

    private mutating func cancel(_ number: Int) {
        if let index = waiting.firstIndex(where: { $0.number == number }) {
            waiting.remove(at: index)
            if waiting.isEmpty { stage = .idle }
        } else if let index = ended.firstIndex(where: { $0.number == number && $0.kind != .begin }) {
            ended[index].isTold = false
        }
    }

    private mutating func run() {
        while let first = ended.first, let result = first.result {
            ended.removeFirst()
            if first.isTold { events.append("\(first.number) \(result)") }
        }
        if stage == .ready { runBodies() }
        stage = .idle
    }

    private mutating func runBodies() {
        var commit = End()
        while true {
            let body = waiting.removeFirst(), isFirst = commit.tells.isEmpty
            events.append("\(body.number) runs")
            if body.hasCompletion { ended.append(Ended(number: body.number, kind: body.kind)) }
            switch body.kind {
            case .fail where isFirst: return ends.append(End(tells: [body.number], failure: "failed"))
            case .open where isFirst: return ends.append(End(failure: "failed"))
            case .fail:
                tell([body.number], "failed")
                return ends.append(commit)
            case .open: return ends.append(commit)
            default: break
            }
            commit.adds.append(body.number)
            commit.tells.append(body.number)
            if body.kind != .group || waiting.isEmpty { return ends.append(commit) }
        }
    }

    private mutating func end(_ end: End) {
        content += end.adds
        tell(end.tells, end.failure ?? "done")
    }

    private mutating func tell(_ numbers: [Int], _ result: String) {
        for index in ended.indices where numbers.contains(ended[index].number) { ended[index].result = result }
    }
}
