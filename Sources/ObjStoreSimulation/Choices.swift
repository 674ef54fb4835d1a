/// What is chosen; a replay or an enumeration can tell the kinds apart.
package enum ChoiceKind: UInt8, Sendable {
    /// Which task runs next; 0 = the one that ran last.
    case schedule
    /// Whether the task is then held up for long; index into `Profile.stalls`.
    case stall
    /// 0 nothing, 1 power cut, 2... kill of a process, then write-back error, eviction, spurious wake-up.
    case event
    /// Which file a write-back error hits.
    case whichFile
    /// 0 fine, 1 error after a part, 2 killed in the middle, 3 error although everything was written.
    case write
    /// How many sectors of a failing write were written.
    case part
    /// Whether a write is seen in two pieces, and where it is cut (0 = in one).
    case split
    case sync
    case read
    /// Open, rename, remove, reserve, truncate, folder sync: 0 fine, 1 error.
    case metadata
    case outOfSpace
    /// 0 each sector by itself, 1 nothing unsynced survives, 2 everything does.
    case cutMode
    /// Which possible value a sector, a size or a folder has after a power cut.
    case cut
    /// Shared memory after a power cut: 0 as it was, 1 zero, 2 garbage, 3 a mixture.
    case sharedAfterCut
    case garbage
    /// Which possible value a sector has after a failed write-back.
    case loss
    /// Choices of the workload: never a deviation.
    case workload
}

/// How often what happens in a random history; all chances are per occasion, 0...1.
package struct Profile: Sendable {
    /// Power cut, kill, write-back error or eviction after a step.
    package var eventChance = 0.008
    /// The same within `clusterSteps` steps after an injected fault: faults come in clusters.
    package var clusterFactor = 10.0
    package var clusterSteps = 8
    /// An error of a write or sync, a kill inside of a write.
    package var faultChance = 0.01
    package var readFaultChance = 0.0
    package var metadataFaultChance = 0.0
    package var outOfSpaceChance = 0.0
    /// A write of several sectors is seen in two pieces.
    package var splitChance = 0.1
    /// The task that ran last runs on.
    package var stickiness = 0.7
    /// A task is held up for one of `stalls` steps.
    package var stallChance = 0.02
    package var stalls = [0, 10, 60, 200]
    package var spuriousChance = 0.002

    package init() {}

    /// One of the mixtures that found the most in the protocol model: three rates of events, two of faults,
    /// four of stickiness, three of stalls; three in ten histories are nearly quiet.
    /// `stepsPerAction` stretches everything that counts steps for code that takes finer ones.
    package static func random(_ seed: UInt64, stepsPerAction: Int = 1) -> Profile {
        var random = RandomNumbers(seed: seed &+ 0x5157)
        var p = Profile()
        let quiet = random.chance(0.3), scale = Double(stepsPerAction)
        p.eventChance = (quiet ? 0.002 : [0.004, 0.012, 0.02][random.below(3)]) / scale
        p.faultChance = quiet ? 0 : [0.004, 0.02][random.below(2)]
        p.metadataFaultChance = p.faultChance / 4
        p.stickiness = 1 - (1 - [0.0, 0.3, 0.7, 0.9][random.below(4)]) / scale
        p.stallChance = [0, 0.02, 0.06][random.below(3)] / scale
        p.stalls = [0, 10 * stepsPerAction, 60 * stepsPerAction, 200 * stepsPerAction]
        p.clusterSteps = 8 * stepsPerAction
        p.spuriousChance = [0, 0.01][random.below(2)] / scale
        return p
    }
}

/// Small, fast and the same everywhere (SplitMix64).
package struct RandomNumbers: Sendable {
    private var state: UInt64
    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
    package mutating func below(_ n: Int) -> Int { Int(next().multipliedFullWidth(by: UInt64(n)).high) }
    package mutating func chance(_ p: Double) -> Bool {
        p > 0 && Double(next() >> 11) < p * 9007199254740992.0
    }
}

/// Where all non-determinism of a world comes from: a seed with a profile, or a list of choices.
///
/// The list is that of a recorded history (exact replay) or a prefix, after which everything takes its
/// default course: the task that ran last runs on, nothing fails, a power cut loses what is unsynced.
package final class Choices {
    package struct Choice: Sendable {
        package let kind: ChoiceKind
        package let options: Int32
        package let taken: Int32
    }

    package let profile: Profile
    /// Every choice between two or more options since `startRecording`.
    package private(set) var record: [Choice] = []
    package private(set) var isRecording = false
    private var random: RandomNumbers
    private let script: [Int32]?
    private var position = 0

    /// A random history.
    package init(seed: UInt64, profile: Profile, recording: Bool = false) {
        self.profile = profile
        random = RandomNumbers(seed: seed)
        script = nil
        isRecording = recording
    }

    /// A given history. Until `startRecording` everything takes its default course.
    package init(script: [Int32], profile: Profile = Profile(), recording: Bool = false) {
        self.profile = profile
        random = RandomNumbers(seed: 1)
        self.script = script
        isRecording = recording
    }

    /// In a list's default course a power cut that treats each sector by itself leaves every other one as it was.
    package var tears = false
    private var torn = 0

    /// Of a history whose course is written down: what happens at a choice, or nil for the default course. Consulted
    /// before the list, in histories that have one; choices of the workload included.
    package var decide: ((ChoiceKind, _ options: Int) -> Int?)?

    package func startRecording() { isRecording = true }
    package var isRandom: Bool { script == nil }

    package static func standard(_ kind: ChoiceKind) -> Int { kind == .cutMode ? 1 : 0 }

    /// `hot`: soon after a fault. `lossy`: some file has lost written data.
    func pick(_ kind: ChoiceKind, _ options: Int, hot: Bool, lossy: Bool) -> Int {
        var taken: Int
        if let script {
            taken = Choices.standard(kind)
            if tears && kind == .cut {
                torn += 1
                taken = torn % 2 == 0 ? 0 : options - 1
            }
            if isRecording {
                if position < script.count { taken = Int(script[position]) }
                position += 1
            }
            if let decided = decide?(kind, options) { taken = decided }
            if taken >= options { taken = 0 }
        } else {
            taken = draw(kind, options, hot: hot, lossy: lossy)
        }
        if isRecording { record.append(Choice(kind: kind, options: Int32(options), taken: Int32(taken))) }
        return taken
    }

    private func draw(_ kind: ChoiceKind, _ n: Int, hot: Bool, lossy: Bool) -> Int {
        switch kind {
        case .event: return drawEvent(n, hot: hot, lossy: lossy)
        case .write, .sync: return random.chance(profile.faultChance) ? 1 + random.below(n - 1) : 0
        case .read: return random.chance(profile.readFaultChance) ? 1 : 0
        case .metadata: return random.chance(profile.metadataFaultChance) ? 1 : 0
        case .outOfSpace: return random.chance(profile.outOfSpaceChance) ? 1 : 0
        case .split: return random.chance(profile.splitChance) ? random.below(n) : 0
        case .schedule: return random.chance(profile.stickiness) ? 0 : random.below(n)
        case .stall: return random.chance(profile.stallChance) ? 1 + random.below(n - 1) : 0
        default: return random.below(n)
        }
    }

    private func drawEvent(_ n: Int, hot: Bool, lossy: Bool) -> Int {
        let (writeBack, eviction, spurious) = (n - 3, n - 2, n - 1)
        guard random.chance(hot ? profile.eventChance * profile.clusterFactor : profile.eventChance) else {
            return random.chance(profile.spuriousChance) ? spurious : 0
        }
        let x = random.below(100)
        if hot && lossy && x < 30 { return eviction }
        if !hot && x < 25 { return 1 }
        if x < 35 { return writeBack }
        if x < 50 { return eviction }
        return writeBack > 2 ? 2 + random.below(writeBack - 2) : 1
    }
}
