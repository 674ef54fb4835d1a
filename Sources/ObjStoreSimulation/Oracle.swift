/// Watches a history from outside and knows what must hold; reports with `World.fail`.
///
/// Called with all the knowledge of the simulation at hand (`DiskFile+Possible.swift`) and without
/// scheduling points. The oracles of the commit protocol build on this: at each write that it hits no
/// page of a meta that may be chosen, at each acknowledgement that whatever a power cut leaves leads to it.
package protocol Oracle: AnyObject {
    /// Before the page cache changes. Only the part that is really written, of a failing write too;
    /// `DiskFile.changedSectors` leaves out what stays the same.
    func willWrite(_ process: SimulatedProcess, _ file: DiskFile, _ bytes: UnsafeRawBufferPointer, at offset: Int)
    /// A sync ended; `covered` = the writes (`DiskFile.sequence`) that had happened when it began.
    func didSync(_ process: SimulatedProcess, _ file: DiskFile, covered: Int, succeeded: Bool)
    /// Writing back failed: sectors of the file have any of their possible values and count as clean.
    func didLose(_ file: DiskFile)
    func didEvict(_ file: DiskFile)
    func didKill(_ process: SimulatedProcess)
    func willPowerCut(_ world: World)
    func didPowerCut(_ world: World)
}

extension Oracle {
    package func willWrite(
        _ process: SimulatedProcess, _ file: DiskFile, _ bytes: UnsafeRawBufferPointer, at offset: Int
    ) {}
    package func didSync(_ process: SimulatedProcess, _ file: DiskFile, covered: Int, succeeded: Bool) {}
    package func didLose(_ file: DiskFile) {}
    package func didEvict(_ file: DiskFile) {}
    package func didKill(_ process: SimulatedProcess) {}
    package func willPowerCut(_ world: World) {}
    package func didPowerCut(_ world: World) {}
}
