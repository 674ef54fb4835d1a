/// How far a long operation is; throws `.cancelled` to end it.
package typealias ProgressCallback = (_ done: UInt64, _ total: UInt64) throws(StoreError) -> Void

/// How far a check of a file is, reported in steps of at least a 256th.
struct StepProgress {
    let total: UInt64
    private let step: UInt64
    private var reported: UInt64 = 0

    init(total: UInt64) {
        self.total = total
        step = max(total / 256, 1 << 16)
    }

    mutating func advance(to done: UInt64, _ progress: (UInt64, UInt64) throws(StoreError) -> Void) throws(StoreError) {
        guard done >= reported + step else { return }
        reported = done
        try progress(min(done, total), total)
    }
}
