/// Makes a new store of what can be read of a damaged one, and says what could not be.
///
/// Everything is read with every check on: nothing that is not proved by its hash gets into the new store. Leaves whose
/// parents are damaged are not looked for: that a leaf belongs to the newest version and to the class is known through
/// its parents only.
enum Salvage {
    /// What is left to say after the report.
    struct Summary {
        /// How many findings say that something is lost, or may be.
        var losses = 0
        var version: UInt64 = 0
    }

    /// Fills the new, empty store `database`.
    ///
    /// Errors: `.corrupt` where nothing can be read at all; those of reading and writing; what `progress` and `report`
    /// throw.
    static func run(
        _ image: StoreImage, into database: Database, progress: ProgressCallback, report: ReportSink
    ) throws(StoreError) -> Summary {
        var summary = Summary()
        func lose(_ text: String) throws(StoreError) {
            summary.losses += 1
            try report(.finding(text))
        }
        try describeFile(image, report)
        guard var version = try image.newestVersion(prefersNewest: true, report) else {
            throw StoreError(.corrupt, "\(image.path): no root can be read: there is nothing to salvage")
        }
        version.image = try withSchema(version, image, lose)
        if version.isUncertain { summary.losses += 1 }
        let schema = version.image.schema
        let root = try version.image.source.node(version.image.root, .root)
        if NodeHeader.count(root) > schema.classes.count {
            try lose(
                """
                schema: \(NodeHeader.count(root) - schema.classes.count) classes are not in the one that could be \
                read: all their objects are lost
                """
            )
        }
        summary.version = max(version.image.version, version.chain.version)
        let target = try SalvageTarget(database, schema)
        var classes = schema.classes.indices.map { ClassSalvage(version.image, $0) }
        do throws(StoreError) {
            try copyClasses(&classes, version.image, target, progress, lose)
            try replay(version, image, target, &classes, report, lose)
            try LinkSalvage(target: target).run(&classes)
            try ParentSalvage(target: target).run(&classes, lose)
        } catch {
            target.transaction.abandon()
            throw error
        }
        try target.end()
        try conclude(classes, target.schema, report, lose)
        return summary
    }

    /// Damaged metas and a file that was cut off cost nothing by themselves: what they cost shows in what follows.
    private static func describeFile(_ image: StoreImage, _ report: ReportSink) throws(StoreError) {
        try image.describe { (entry) throws(StoreError) in
            if case .finding(let text) = entry { try report(.note(text)) } else { try report(entry) }
        }
    }

    private static func withSchema(
        _ version: StoreImage.Version, _ image: StoreImage, _ lose: (String) throws(StoreError) -> Void
    ) throws(StoreError) -> VersionImage {
        var found = version.image
        if !version.hasSchema {
            guard let (schema, born) = try image.searchSchema(found) else {
                throw StoreError(.corrupt, "\(image.path): no schema can be read: there is nothing to salvage")
            }
            try lose(
                "schema: it cannot be read; that of version \(born) was found by a search, and may be an older one")
            found = VersionImage(source: found.source, root: found.root, version: found.version, schema: schema)
        }
        try found.schema.checkWritable()
        return found
    }

    private static func copyClasses(
        _ classes: inout [ClassSalvage], _ image: VersionImage, _ target: SalvageTarget, _ progress: ProgressCallback,
        _ lose: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let total = UInt64(image.source.limit)
        // What the file says of it may be anything.
        var all = 0.0, done = 0
        for index in classes.indices {
            all += (try? image.classNode(index)).map { Double(ClassNode.objectCount($0)) } ?? 0
        }
        try progress(0, total)
        for index in classes.indices {
            try classes[index].run(target, finding: lose) { () throws(StoreError) in
                done += 1
                if done & 0xffff == 0 {
                    try progress(min(total, UInt64(Double(total) * min(1, Double(done) / max(1, all)))), total)
                }
            }
        }
        try progress(total, total)
    }

    /// What the log has behind the version, as far as its chain proves it.
    private static func replay(
        _ version: StoreImage.Version, _ image: StoreImage, _ target: SalvageTarget, _ classes: inout [ClassSalvage],
        _ report: ReportSink,
        _ lose: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let chain = version.chain
        guard let meta = version.meta, !(meta.isClean && version.isVouched) else {
            if version.meta != nil { return }
            let later = try image.log.strayRecords(version.image.source.seed, epoch: 0, after: version.image.version)
            if later > 0 {
                try lose(
                    """
                    log: nobody knows where it goes on: \(later) records behind version \(version.image.version) \
                    could not be applied
                    """
                )
            }
            return
        }
        if !image.log.exists { try lose(image.log.missing(after: meta.version, try image.doubt())) }
        if chain.count > 0 {
            var replay = LogReplay(image, target)
            try replay.run(meta, chain, &classes)
            try report(.note("log: \(chain.count) records were applied, up to version \(chain.version)"))
            for (reason, count) in replay.failures { try lose("log: not applied: \(reason) (\(count))") }
        }
        if chain.blocked + chain.stray > 0 {
            try lose("log: \(chain.blocked + chain.stray) records behind version \(chain.version) could not be applied")
        }
    }

    private static func conclude(
        _ classes: [ClassSalvage], _ schema: Schema, _ report: ReportSink, _ lose: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        for (index, salvage) in classes.enumerated() {
            let cls = schema.classes[index]
            for property in cls.properties.indices {
                guard let lost = salvage.lostValues[cls.properties[property].columnID], !lost.isEmpty else { continue }
                for run in lost.runs where run.count > 0 {
                    let value = cls.substitute(property).text
                    try lose(
                        """
                        class \(cls.name), property \(cls.properties[property].name), \(objectsText(run.keys)), \
                        \(run.count) of them, now \(value): \(run.reason)
                        """
                    )
                }
            }
        }
        for (index, salvage) in classes.enumerated() {
            let cls = schema.classes[index]
            if cls.isDropped { continue }
            try report(.cls(cls.name, objects: salvage.objects, lost: salvage.lost))
            for property in cls.properties {
                guard let lost = salvage.lostValues[property.columnID], !lost.isEmpty else { continue }
                try report(.property(cls.name, property.name, lost: lost.count))
            }
        }
    }
}
