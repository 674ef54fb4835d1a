/// What a queue of asynchronous writes has to do, without threads, locks or a store.
///
/// Bodies and requests are numbered in the order in which they are enqueued; each adds its number to the content.
struct QueueModel {
    enum Step: CaseIterable {
        /// Enqueue: a write; one that may be grouped; one that fails; a begin that leaves its transaction open; one
        /// that commits; a request; a request of a transaction that is shared with nothing.
        case write, group, fail, open, begin, request, alone
        case cancelFirst, cancelLast
        /// The acquirer gets the lock; gives it up again; a thread delivers; the committer ends a transaction.
        case acquire, park, run, end
        /// A write that is waited for.
        case sync
        /// The first, a request, is claimed. Its transaction is committed, as one that may be grouped, or undone.
        case claim, commit, pass, undo

        var isEnqueue: Bool { Step.enqueues.contains(self) }
        private static let enqueues: Set = [Step.write, .group, .fail, .open, .begin, .request, .alone]

        /// All with bodies; and with requests, and a few bodies between them.
        static let ofBodies: [Step] = [
            .write, .group, .fail, .open, .begin, .cancelFirst, .cancelLast, .acquire, .park, .run, .end, .sync,
        ]
        static let ofRequests: [Step] = [
            .group, .fail, .request, .alone, .cancelFirst, .cancelLast, .acquire, .park, .run, .end, .sync, .claim,
            .commit, .pass, .undo,
        ]
    }
    private enum Stage { case idle, ready, parked, claimed }
    private struct Body {
        let number: Int
        let kind: Step
        var hasCompletion: Bool { kind == .write || kind == .group || kind == .fail || kind == .begin }
        var isRequest: Bool { kind == .request || kind == .alone }
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
        /// Requests whose outcome is claimed.
        var outcomes: [Int] = []
        var failure: String?
        var isEmpty: Bool { tells.isEmpty && outcomes.isEmpty }
    }

    private var waiting: [Body] = []
    private var stage = Stage.idle
    /// What the transaction that is ready, or claimed, has already.
    private var members = End()
    private var claimed: (body: Body, isCancelled: Bool)?
    /// Was told last that its turn has come.
    private var told: Int?
    private var ends: [End] = []
    private var ended: [Ended] = []
    private(set) var kinds: [Step] = []
    private var syncs = 0
    /// What is committed.
    private(set) var content: [Int] = []
    /// What bodies, completions and requests have done and been told.
    private(set) var events: [String] = []

    var firstWaiting: Int? { waiting.first?.number }
    var claimedNumber: Int? { claimed?.body.number }
    var isActive: Bool { !waiting.isEmpty || !ends.isEmpty || !ended.isEmpty || stage != .idle }
    var isDue: Bool {
        ended.first?.result != nil || (stage == .ready || stage == .parked) && waiting.first?.isRequest == false
    }

    func canDo(_ step: Step) -> Bool {
        switch step {
        case .write, .group, .fail, .open, .begin, .request, .alone: true
        case .cancelFirst: !waiting.isEmpty
        case .cancelLast: !kinds.isEmpty
        case .acquire: stage == .idle && !waiting.isEmpty && ends.isEmpty
        case .park: stage == .ready
        case .run: isDue
        case .end: !ends.isEmpty
        case .sync: ends.isEmpty && stage != .claimed && members.isEmpty
        case .claim: (stage == .ready || stage == .parked) && waiting.first?.isRequest == true
        case .commit, .pass, .undo: stage == .claimed
        }
    }

    mutating func make(_ step: Step) {
        switch step {
        case .write, .group, .fail, .open, .begin, .request, .alone:
            waiting.append(Body(number: kinds.count, kind: step))
            kinds.append(step)
        case .cancelFirst: cancel(waiting[0].number)
        case .cancelLast: cancel(kinds.count - 1)
        case .acquire: begin()
        case .park:
            stage = members.isEmpty ? .parked : .idle
            endMembers()
        case .run: run()
        case .end: end(ends.removeFirst())
        case .sync:
            content.append(1000 + syncs)
            syncs += 1
            if stage == .ready { stage = .idle }
        case .claim:
            if stage == .parked { stage = .idle } else { claimed = (waiting.removeFirst(), false) }
            if claimed != nil { stage = .claimed }
        case .commit, .pass: commitClaimed(isPassed: step == .pass)
        case .undo:
            claimed = nil
            stage = .idle
            endMembers()
        }
        if stage == .ready, let first = waiting.first, first.isRequest, told != first.number {
            told = first.number
            events.append("\(first.number) ready")
        }
        // Each is claimed as soon as it is known.
        events += outcomes
        outcomes = []
    }
    private var outcomes: [String] = []

    private mutating func begin() {
        stage = .ready
        told = nil
    }

    /// What a transaction has is committed, if it has something.
    private mutating func endMembers() {
        if !members.isEmpty { ends.append(members) }
        members = End()
    }

    private mutating func cancel(_ number: Int) {
        if let index = waiting.firstIndex(where: { $0.number == number }) {
            waiting.remove(at: index)
            switch stage {
            case .ready where waiting.isEmpty || waiting[0].kind == .alone && !members.isEmpty:
                stage = .idle
                endMembers()
            case .parked where waiting.first?.isRequest != false: stage = .idle
            default: break
            }
        } else if claimed?.body.number == number {
            claimed?.isCancelled = true
        } else if let index = ended.firstIndex(where: { $0.number == number && $0.kind != .begin }) {
            ended[index].isTold = false
        }
    }

    private mutating func run() {
        while let first = ended.first, let result = first.result {
            ended.removeFirst()
            if first.isTold { events.append("\(first.number) \(result)") }
        }
        if stage == .parked, waiting.first?.isRequest == false { stage = .idle }
        while stage == .ready, waiting.first?.isRequest == false { runBody() }
    }

    private mutating func runBody() {
        let body = waiting.removeFirst()
        events.append("\(body.number) runs")
        if body.hasCompletion { ended.append(Ended(number: body.number, kind: body.kind)) }
        switch body.kind {
        case .fail where members.isEmpty: ends.append(End(tells: [body.number], failure: "failed"))
        case .open where members.isEmpty: ends.append(End(failure: "failed"))
        case .fail: tell([body.number], "failed")
        case .open: break
        default:
            members.adds.append(body.number)
            members.tells.append(body.number)
            if body.kind == .group, let next = waiting.first, next.kind != .alone { return }
        }
        stage = .idle
        endMembers()
    }

    private mutating func commitClaimed(isPassed: Bool) {
        let (body, isCancelled) = claimed!
        claimed = nil
        stage = .idle
        if isCancelled {
            if members.isEmpty {
                ends.append(End(outcomes: [body.number], failure: "failed"))
            } else {
                outcomes.append("\(body.number) outcome failed")
            }
            return endMembers()
        }
        members.adds.append(body.number)
        members.outcomes.append(body.number)
        if isPassed, body.kind != .alone, let next = waiting.first, next.kind != .alone {
            stage = .ready
        } else {
            endMembers()
        }
    }

    private mutating func end(_ end: End) {
        content += end.adds
        tell(end.tells, end.failure ?? "done")
        outcomes += end.outcomes.map { "\($0) outcome \(end.failure ?? "done")" }
    }

    private mutating func tell(_ numbers: [Int], _ result: String) {
        for index in ended.indices where numbers.contains(ended[index].number) { ended[index].result = result }
    }
}
