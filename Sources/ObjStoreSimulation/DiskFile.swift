#if canImport(Glibc)
internal import Glibc
#endif

/// A file of the simulated disk: what processes see, what is on the medium, and what may be.
///
/// ```
///   visible   page cache: one buffer that all maps point to
///   durable   medium, as it certainly is if nothing is pending
///   pending   per sector, in order: the values written since the sector was last known durable
/// ```
/// After a power cut a sector holds its durable value or *any* pending one. A failed sync makes its
/// sectors clean whatever became of them: `lost` sectors are those whose visible value is then not on the
/// medium although it will not be written any more; they may be evicted, and the old value appears.
package final class DiskFile {
    package let id: Int
    package let sectorBytes: Int
    /// What processes see; at one address for the life of the world.
    package var visible: UnsafeMutableRawPointer { visibleSpace.base }
    package private(set) var size = 0

    let visibleSpace: AddressSpace
    private let durableSpace: AddressSpace
    var durable: UnsafeMutableRawPointer { durableSpace.base }

    /// Memory shared by processes, not file content: writes do not pass through `write`.
    package internal(set) var isShared = false
    /// It never had a name.
    var isAnonymous = false
    /// Number of the last write.
    package private(set) var sequence = 0
    /// Errors of writing back so far, and whether the last was reported to any process.
    var errors = 0
    var reported = true
    var locks: [Int64: ByteLock] = [:]

    // Lists of pending values: heads by sector, nodes in a pool.
    struct Node {
        var next: Int32
        var sequence: Int
    }
    private(set) var first: [Int32] = []
    private var last: [Int32] = []
    private(set) var nodes: [Node] = []
    private var free: [Int32] = []
    private var values: UnsafeMutableRawPointer?
    private var valueCapacity = 0
    /// Sectors with pending values, in no order.
    private(set) var dirty: [Int32] = []
    /// Whether a sector is clean, but not what the medium holds.
    private(set) var isLost: [Bool] = []
    private(set) var lostCount = 0

    /// File sizes that are not yet certain, in order; the medium has `durableSize` or any of them.
    private(set) var durableSize = 0
    private(set) var pendingSizes: [(sequence: Int, size: Int)] = []

    init(id: Int, sectorBytes: Int, addressSpace: Int) {
        self.id = id
        self.sectorBytes = sectorBytes
        visibleSpace = AddressSpace(reserved: addressSpace)
        durableSpace = AddressSpace(reserved: addressSpace)
    }

    deinit { release() }

    /// Gives its memory back; the file must not be used any more.
    func release() {
        visibleSpace.release()
        durableSpace.release()
        values?.deallocate()
        values = nil
        (nodes, first, last, free, dirty, isLost) = ([], [], [], [], [], [])
    }

    package var sectors: Int { (size + sectorBytes - 1) / sectorBytes }

    // MARK: Writing

    /// Writes into the page cache. The file is long enough for it.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        (visible + offset).copyMemory(from: base, byteCount: bytes.count)
        if isShared { return }  // memory: nothing of it is ever certain
        sequence += 1
        for sector in offset / sectorBytes...(offset + bytes.count - 1) / sectorBytes { note(sector) }
    }

    /// The sector has a new visible value.
    private func note(_ sector: Int) {
        let at = sector * sectorBytes
        if first[sector] < 0 {
            if memcmp(durable + at, visible + at, sectorBytes) == 0 {
                setLost(sector, false)
                return
            }
            dirty.append(Int32(sector))
        }
        setLost(sector, false)
        let node = takeNode()
        (values! + Int(node) * sectorBytes).copyMemory(from: visible + at, byteCount: sectorBytes)
        nodes[Int(node)] = Node(next: -1, sequence: sequence)
        if first[sector] < 0 { first[sector] = node } else { nodes[Int(last[sector])].next = node }
        last[sector] = node
    }

    private func takeNode() -> Int32 {
        if let node = free.popLast() { return node }
        if nodes.count == valueCapacity {
            let capacity = max(64, valueCapacity * 2)
            let bigger = UnsafeMutableRawPointer.allocate(byteCount: capacity * sectorBytes, alignment: 16)
            if let values {
                bigger.copyMemory(from: values, byteCount: valueCapacity * sectorBytes)
                values.deallocate()
            }
            values = bigger
            valueCapacity = capacity
        }
        nodes.append(Node(next: -1, sequence: 0))
        return Int32(nodes.count - 1)
    }

    private func setLost(_ sector: Int, _ lost: Bool) {
        if isLost[sector] != lost {
            isLost[sector] = lost
            lostCount += lost ? 1 : -1
        }
    }

    func value(_ node: Int32) -> UnsafeRawPointer { UnsafeRawPointer(values! + Int(node) * sectorBytes) }

    // MARK: Size

    /// False: beyond the reserved address space.
    func setSize(_ bytes: Int) -> Bool {
        sequence += 1
        if bytes < size {
            let from = bytes, to = size
            memset(visible + from, 0, to - from)
            for sector in from / sectorBytes...(to - 1) / sectorBytes { note(sector) }
            // The address space stays: maps of the old size must not fault where the old size may return.
        }
        let count = (max(bytes, size) + sectorBytes - 1) / sectorBytes
        if bytes > size {
            guard resizeSpaces(max(bytes, durableSize)) else { return false }
            while first.count < count { first.append(-1); last.append(-1); isLost.append(false) }
        }
        size = bytes
        pendingSizes.append((sequence, bytes))
        return true
    }

    private var spaceBytes = 0
    private func resizeSpaces(_ bytes: Int) -> Bool {
        if bytes <= spaceBytes { return true }
        guard visibleSpace.resize(bytes), durableSpace.resize(bytes) else { return false }
        spaceBytes = bytes
        return true
    }

    // MARK: Writing back

    /// What was written up to `sequence` is now on the medium.
    func settle(_ upTo: Int) {
        settleSectors(upTo, failing: false) { $0 - 1 }
        while let oldest = pendingSizes.first, oldest.sequence <= upTo {
            durableSize = oldest.size
            pendingSizes.removeFirst()
        }
    }

    /// Writing back what was written up to `sequence` failed: each sector has one of its possible values, and
    /// counts as written. Sizes stay uncertain: a file system whose journal fails stops, it does not shrink files.
    func lose(_ upTo: Int, choose: (Int) -> Int) {
        dirty.sort()
        settleSectors(upTo, failing: true, choose: choose)
        errors += 1
        reported = false
    }

    private func settleSectors(_ upTo: Int, failing: Bool, choose: (Int) -> Int) {
        var kept = 0
        for index in 0..<dirty.count {
            let sector = Int(dirty[index])
            var covered = 0
            var node = first[sector]
            while node >= 0, nodes[Int(node)].sequence <= upTo { covered += 1; node = nodes[Int(node)].next }
            if covered > 0 {
                // 0 = the old value stays, k = the k-th pending one
                let chosen = choose(covered + 1)
                var head = first[sector]
                for k in 1...covered {
                    if k == chosen {
                        (durable + sector * sectorBytes).copyMemory(from: value(head), byteCount: sectorBytes)
                    }
                    free.append(head)
                    head = nodes[Int(head)].next
                }
                first[sector] = head
                if head < 0 { last[sector] = -1 }
            }
            if first[sector] >= 0 {
                dirty[kept] = Int32(sector)
                kept += 1
            } else if failing {
                let at = sector * sectorBytes
                setLost(sector, memcmp(durable + at, visible + at, sectorBytes) != 0)
            }
        }
        dirty.removeLast(dirty.count - kept)
    }

    /// Lost pages leave the page cache; what the medium holds appears. Returns how many sectors changed.
    func evictLost() -> Int {
        let evicted = lostCount
        if evicted == 0 { return 0 }
        for sector in 0..<isLost.count where isLost[sector] {
            (visible + sector * sectorBytes).copyMemory(from: durable + sector * sectorBytes, byteCount: sectorBytes)
            setLost(sector, false)
        }
        return evicted
    }

    /// The power goes: every uncertain sector and the size take one of their possible values.
    func powerCut(choose: (Int) -> Int) {
        dirty.sort()
        for index in 0..<dirty.count {
            let sector = Int(dirty[index])
            var options = 1
            var node = first[sector]
            while node >= 0 { options += 1; node = nodes[Int(node)].next }
            var chosen = choose(options)
            node = first[sector]
            while node >= 0 {
                chosen -= 1
                if chosen == 0 {
                    (durable + sector * sectorBytes).copyMemory(from: value(node), byteCount: sectorBytes)
                }
                free.append(node)
                node = nodes[Int(node)].next
            }
            first[sector] = -1
            last[sector] = -1
            (visible + sector * sectorBytes).copyMemory(from: durable + sector * sectorBytes, byteCount: sectorBytes)
        }
        dirty.removeAll(keepingCapacity: true)
        _ = evictLost()
        if !pendingSizes.isEmpty {
            let chosen = choose(pendingSizes.count + 1)
            if chosen > 0 { durableSize = pendingSizes[chosen - 1].size }
            pendingSizes.removeAll()
        }
        let end = first.count * sectorBytes
        if durableSize < min(end, spaceBytes) {
            memset(visible + durableSize, 0, min(end, spaceBytes) - durableSize)
            memset(durable + durableSize, 0, min(end, spaceBytes) - durableSize)
        }
        size = durableSize
        errors = 0
        reported = true
        locks.removeAll()
    }
}
