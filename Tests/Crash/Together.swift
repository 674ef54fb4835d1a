import ObjStoreCore

/// What happens to many objects of a class at once, all or nothing.
enum Together {
    /// A text for all of them, and a friend.
    case changed(String?, friend: Int64)
    /// The same price again, of those with one number: their columns are rewritten.
    case rewritten(number: Int64)
    /// A unique value for two of them: refused half-way, whatever was done is undone.
    case refused
    case deleted
}

extension Editor {
    /// Carries it out for the objects with these ids that are there.
    mutating func carryOut(_ change: Together, _ cls: Int, _ ids: [Int64]) throws(StoreError) {
        let cls = cls < transaction.schema.classes.count ? cls : 0
        var keys: [(id: Int64, key: Int64)] = []
        for id in ids {
            guard content[Name(cls: cls, id: id)] != nil, let key = try find(Name(cls: cls, id: id)) else { continue }
            if case .rewritten(let number) = change, content[Name(cls: cls, id: id)]!.number != number { continue }
            keys.append((id, key))
        }
        if keys.isEmpty || mismatch != nil { return }
        keys.sort { $0.key < $1.key }
        let buffer = KeyBuffer()
        for (_, key) in keys { try buffer.append(key) }
        let state = try transaction.state(cls), transaction = transaction
        switch change {
        case .changed(let text, let seed):
            let friend = friend(seed), target = try link(friend), text = text.map { OwnedText($0) }
            try set(state, buffer, Schemas.arePlain ? [2] : [2, 6], [text?.value ?? .null, target])
            for (id, _) in keys {
                content[Name(cls: cls, id: id)]!.text = text?.string
                if !Schemas.arePlain { content[Name(cls: cls, id: id)]!.friend = friend }
            }
        case .rewritten(let number):
            try set(state, buffer, [4], [Derived.price(cls == 0 ? .decimal128 : .float, number)])
        case .refused:
            if cls != 0 || Schemas.arePlain || keys.count < 2 { return }
            do throws(StoreError) {
                try set(state, buffer, [2, 3], [.null, Derived.mark(.uuid, -1, -1)])
                mismatch = "two objects have one unique value"
            } catch {
                if error.code != .duplicateKey { throw error }
            }
        case .deleted:
            try transaction.whole { () throws(StoreError) in try transaction.delete(state, buffer) }
            for (id, _) in keys { content[Name(cls: cls, id: id)] = nil }
            if cls == 0 { forget(Set(keys.map(\.id))) }
        }
    }

    /// Objects of the first class are gone: nothing has a link to them.
    mutating func forget(_ gone: Set<Int64>) {
        for (other, item) in content {
            if let friend = item.friend, gone.contains(friend) { content[other]!.friend = nil }
            if !item.pals.contains(where: { $0.map { gone.contains($0) } ?? false }) { continue }
            content[other]!.pals =
                other.cls == 0
                ? item.pals.filter { !gone.contains($0!) }
                : item.pals.map { pal in pal.flatMap { gone.contains($0) ? nil : $0 } }
        }
    }

    private func set(_ state: ClassState, _ keys: KeyBuffer, _ properties: [Int], _ values: [Value]) throws(StoreError)
    {
        try transaction.whole { () throws(StoreError) in
            try transaction.update(state, keys, properties, values, properties.count)
        }
    }

    /// A text for one call. Tasks that are killed leak it.
    private struct OwnedText {
        let string: String
        let value: Value

        init(_ string: String) {
            self.string = string
            let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, string.utf8.count), alignment: 1)
            bytes.copyBytes(from: string.utf8)
            value = .string(UnsafeRawPointer(bytes.baseAddress!), string.utf8.count)
        }
    }
}
