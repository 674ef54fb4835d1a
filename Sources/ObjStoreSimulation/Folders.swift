/// Names of files: what processes see, and what a power cut may leave of it.
///
/// Creations, renames and removals in a folder become durable, in order, when the folder is synced; before
/// that a power cut keeps any prefix of them.
package final class Folders {
    private enum Change {
        case create(String, DiskFile)
        case rename(String, String)
        case remove(String)
    }

    private var visible: [String: DiskFile] = [:]
    private var durable: [String: DiskFile] = [:]
    private var pending: [(folder: String, change: Change)] = []

    static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    package subscript(path: String) -> DiskFile? { visible[path] }

    func contains(_ file: DiskFile) -> Bool { visible.values.contains { $0 === file } }

    /// All names in use, sorted.
    package var names: [String] { visible.keys.sorted() }

    func name(of file: DiskFile) -> String {
        visible.filter { $0.value === file }.keys.sorted().first ?? "#\(file.id)"
    }

    func create(_ path: String, _ file: DiskFile) { perform(.create(path, file), at: path) }
    func remove(_ path: String) { perform(.remove(path), at: path) }
    func rename(_ from: String, _ to: String) { perform(.rename(from, to), at: to) }

    private func perform(_ change: Change, at path: String) {
        Folders.apply(change, to: &visible)
        pending.append((Folders.folder(of: path), change))
    }

    private static func apply(_ change: Change, to names: inout [String: DiskFile]) {
        switch change {
        case .create(let path, let file): names[path] = file
        case .remove(let path): names[path] = nil
        case .rename(let from, let to):
            names[to] = names[from]
            names[from] = nil
        }
    }

    /// How many changes of the folder a sync that begins now covers; pass it to `settle`.
    func begun(_ folder: String) -> Int { pending.count { $0.folder == folder } }

    func settle(_ folder: String, _ count: Int) {
        var left = count
        pending.removeAll { entry in
            guard left > 0, entry.folder == folder else { return false }
            left -= 1
            Folders.apply(entry.change, to: &durable)
            return true
        }
    }

    func powerCut(choose: (Int) -> Int) {
        var seen: [String] = []
        for entry in pending where !seen.contains(entry.folder) { seen.append(entry.folder) }
        for folder in seen { settle(folder, choose(begun(folder) + 1)) }
        pending = []
        visible = durable
    }

    /// Whether the name certainly leads to the file that it leads to now after a power cut.
    package func isCertain(_ path: String) -> Bool {
        durable[path] === visible[path]
            && !pending.contains { entry in
                switch entry.change {
                case .create(let name, _), .remove(let name): name == path
                case .rename(let from, let to): from == path || to == path
                }
            }
    }

    func removeAll() { (visible, durable, pending) = ([:], [:], []) }
}
