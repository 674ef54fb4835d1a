internal import CRuntime

// A chain of unmanaged objects, each of which is led to by the one before alone, goes with the first: one inside the
// other, a chain of 100,000 would use up the stack. So an object that goes hands what it leads to to a list of its
// thread, which lets them go one after the other; and so do lists and dictionaries of values of any type.

/// What unmanaged objects that have gone led to.
public final class _References {
    private var waiting: [AnyObject] = []

    func add(_ reference: AnyObject) { waiting.append(reference) }

    /// Calls `body` with the list of this thread; the outermost call lets go of all of it.
    static func collecting(_ body: (_References) -> Void) {
        if let pointer = cr_references() {
            return Unmanaged<_References>.fromOpaque(pointer)._withUnsafeGuaranteedRef(body)
        }
        let references = _References()
        body(references)
        if references.waiting.isEmpty { return }
        cr_set_references(Unmanaged.passUnretained(references).toOpaque())
        defer { cr_set_references(nil) }
        // Each may add what it led to.
        while references.waiting.popLast() != nil {}
    }
}

extension Object {
    /// The object, unmanaged, is going.
    final func letGo() {
        guard let info = ClassInfo.forLettingGo(type(of: self)), !info.references.isEmpty else { return }
        _References.collecting { references in
            for property in info.references { property.accessor._takeReferences(self, property.offset, references) }
        }
    }
}

extension ClassInfo {
    private static let tried = Guarded<Set<ObjectIdentifier>>([])

    /// Nil: the class cannot be read, or is being discovered, for which objects of it are made.
    fileprivate static func forLettingGo(_ type: Object.Type) -> ClassInfo? {
        if let info = found(type) { return info }
        guard tried.withLock({ $0.insert(ObjectIdentifier(type)).inserted }) else { return nil }
        return try? of(type)
    }
}
