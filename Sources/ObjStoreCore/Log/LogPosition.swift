/// The part of the log file that is the ring now. Growing means continuing in a larger region.
package struct LogRegion: Equatable, Sendable {
    /// Byte offset in the log file.
    package var offset = 0
    /// A multiple of 4096.
    package var bytes = 0

    package init(offset: Int = 0, bytes: Int = 0) {
        self.offset = offset
        self.bytes = bytes
    }
}

/// A point in the log: where the next record may begin, and what proves that it is the next one.
package struct LogPosition: Equatable, Sendable {
    /// Log sequence number: bytes written to the region since its epoch began. Multiple of 512.
    package var lsn: UInt64 = 0
    /// Counts recoveries, first writes after a clean open and changes of region: records of another epoch are not ours.
    package var epoch: UInt64 = 0
    /// Hash of the last record.
    package var chain: UInt64 = 0
    package var region = LogRegion()

    package init(lsn: UInt64 = 0, epoch: UInt64 = 0, chain: UInt64 = 0, region: LogRegion = LogRegion()) {
        self.lsn = lsn
        self.epoch = epoch
        self.chain = chain
        self.region = region
    }

    /// Where a byte of the ring lies in the file.
    func offset(of lsn: UInt64) -> Int { region.offset + Int(lsn % UInt64(region.bytes)) }
    /// Bytes up to the end of the ring, where a record must not cross.
    func bytesToEnd(_ lsn: UInt64) -> Int { region.bytes - Int(lsn % UInt64(region.bytes)) }
}
