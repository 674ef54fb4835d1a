/// How far a check is, in bytes: the first half of the work is to read every page, the second to compare objects
/// with indexes.
struct VerifySteps {
    let total: UInt64
    private let entries: Double
    private var read: UInt64 = 0
    private var compared = 0.0
    private var progress: StepProgress

    init(_ image: VersionImage) {
        total = UInt64(image.source.limit)
        progress = StepProgress(total: total)
        var entries = 1.0
        for (index, cls) in image.schema.classes.enumerated() {
            // A damaged one counts nothing here: it will be a finding.
            guard let node = try? image.classNode(index) else { continue }
            entries += Double(ClassNode.objectCount(node)) * Double(1 + cls.indexes.count)
        }
        self.entries = entries
    }

    mutating func advance(_ step: Verifier.Step, _ tell: ProgressCallback) throws(StoreError) {
        switch step {
        case .read(let count): read += UInt64(count)
        case .compared(let count): compared += Double(count)
        }
        try progress.advance(
            to: min(read / 2, total / 2) + UInt64(Double(total / 2) * min(compared / entries, 1)), tell)
    }
}
