/// Checks the files of a store without opening it: metas, root, schema, everything that the newest version consists of,
/// free space, and the log as far as its chain goes.
enum FileVerifier {
    /// What is left to say after the report.
    struct Summary {
        var findings = 0
        var version: UInt64 = 0
    }

    static func run(_ image: StoreImage, progress: ProgressCallback, report: ReportSink) throws(StoreError) -> Summary {
        var summary = Summary()
        func say(_ entry: ReportEntry) throws(StoreError) {
            if case .finding = entry { summary.findings += 1 }
            try report(entry)
        }
        func wrong(_ text: String) throws(StoreError) { try say(.finding(text)) }
        try image.describe(say)
        guard var version = try image.newestVersion(prefersNewest: false, say) else { return summary }
        summary.version = version.image.version
        if !version.hasSchema { version.image = try withSchema(version.image, image, say) }
        var steps = VerifySteps(version.image)
        try progress(0, steps.total)
        let outcome = try Verifier.check(
            version.image, step: { (step) throws(StoreError) in try steps.advance(step, progress) }, finding: wrong)
        if let meta = version.meta, version.isVouched {
            do throws(StoreError) {
                let allocator = try Allocator(meta, source: image.source(meta))
                let isWhole = outcome.isSound && version.image.version == meta.version
                try FreeSpaceCheck.compare(allocator, outcome.used, isExact: isWhole, finding: wrong)
            } catch {
                guard error.isDamage else { throw error }
                try wrong("free map: \(error.message)")
            }
            try checkLog(image, meta, version.chain, say)
        }
        for (cls, seen) in zip(version.image.schema.classes, outcome.classes) where !cls.isDropped {
            try say(.cls(cls.name, objects: seen.objects, lost: seen.lost))
        }
        try progress(steps.total, steps.total)
        return summary
    }

    /// Where the schema cannot be read, another one may be found.
    private static func withSchema(
        _ version: VersionImage, _ image: StoreImage, _ say: ReportSink
    ) throws(StoreError) -> VersionImage {
        guard let found = try image.searchSchema(version) else { return version }
        try say(.note("schema: objects are read with one of version \(found.version), found by a search"))
        return VersionImage(source: version.source, root: version.root, version: version.version, schema: found.schema)
    }

    private static func checkLog(
        _ image: StoreImage, _ meta: Meta, _ chain: LogChain, _ say: ReportSink
    ) throws(StoreError) {
        if meta.isClean {
            if image.log.exists, try !image.log.matches(meta) {
                try say(.note("log: it is not this store's, which needs none: it was closed cleanly"))
            }
            return
        }
        let doubt = try image.doubt()
        try say(
            .note(
                """
                file: it was not closed cleanly\(doubt): version \(meta.version) is checked, and what follows is in \
                the log
                """
            ))
        guard image.log.exists else { return try say(.finding(image.log.missing(after: meta.version, doubt))) }
        if try !image.log.matches(meta) {
            try say(.finding("log: its header is damaged, or it belongs to another store"))
        }
        try say(.note("log: \(chain.count) records can be applied, up to version \(chain.version)"))
        // A power cut leaves such records, too: they were never acknowledged.
        if chain.blocked > 0 {
            try say(
                .note(
                    """
                    log: \(chain.blocked) more records are summaries or of an unfinished group: recovery leaves them \
                    out
                    """
                ))
        }
        if chain.stray > 0 {
            try say(
                .note(
                    "log: \(chain.stray) more records are whole but do not continue the chain: recovery leaves them out"
                ))
        }
    }
}
