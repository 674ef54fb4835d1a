import ObjStoreCore
import ObjStoreSimulation

extension WatchedHistory {
    // MARK: Observers

    func observe(_ kind: WatchedKind, _ actor: Actor) throws(StoreError) {
        try perform(actor) { [self] () throws(StoreError) in
            let view = try actor.store.openView()
            defer { view.close() }
            try settle(view)
            if !kind.needs.allSatisfy({ past.newest.schema.has($0) }) { return }
            guard let reader = try makeReader(kind, view) else { return try observeNothing(kind, actor, view) }
            var options = ObserverOptions(keyPaths: kind.paths)
            options.isInitial = random.chance(0.15)
            reader.wantsInitial = options.isInitial
            reader.observer = try begin(reader, actor, view, options)
            actor.readers.append(reader)
            if random.chance(0.12) { try setInterval(reader) }
        }
    }

    private func handler(_ reader: WatchedReader, _ actor: Actor) -> Observer.Handler {
        { [unowned self, unowned reader, unowned actor] changes in
            take(changes, reader, actor)
            return nil
        }
    }

    func begin(
        _ reader: WatchedReader, _ actor: Actor, _ view: View, _ options: ObserverOptions
    ) throws(StoreError) -> Observer {
        let store = actor.store!, kind = reader.kind, handler = handler(reader, actor)
        switch kind.way {
        case .whole:
            return try store.observe(try view.findClass(kind.kind.name), options, handler: handler)
        case .query where kind.rows != nil:
            let cls = try view.findClass(kind.kind.name)
            return try store.observe(
                try view.anyQuery(cls, parsing: try text(reader)), options.withoutPaths, handler: handler)
        case .values(let name, let text):
            let query = try view.valueQuery(try collection(name, reader, view), parsing: text)
            return try store.observe(.values(query), options, handler: handler)
        case .query, .part:
            let query = try query(reader, view)
            guard let sections = try sections(reader, view) else {
                return try store.observe(query, options, handler: handler)
            }
            return try observe(sections, reader, options, handler)
        case .object:
            return try store.observe(try owner(reader, view), options, handler: handler)
        case .inverse:
            let property = try view.findProperty(try view.findClass("Item"), "tag")
            return try store.observe(
                try view.query(incoming: try owner(reader, view), property), options, handler: handler)
        case .collection(let name):
            return try store.observe(try collection(name, reader, view), options, handler: handler)
        case .nested(let path):
            let property = try view.findProperty(try view.findClass("Tag"), "notes")
            return try store.observe(
                mixed: try owner(reader, view), property, WatchedMixed.path(path), options, handler: handler)
        case .commits:
            return try store.observeCommits(options, handler: handler)
        }
    }

    /// Nil: there is no object that it could be about.
    private func makeReader(_ kind: WatchedKind, _ view: View) throws(StoreError) -> WatchedReader? {
        let version = try view.version(), content = past.content(at: version)
        var owner: Int64 = 0
        if kind.hasOwner {
            let owners = content.keys(kind.isObject ? kind.kind : .tag).filter { kind.isThere($0, in: content) }
            guard let some = random.one(of: owners) else { return nil }
            owner = some
        }
        return makeReader(kind, owner, content, at: version)
    }

    func makeReader(
        _ kind: WatchedKind, _ owner: Int64, _ content: WatchedContent, at version: UInt64
    ) -> WatchedReader {
        readerNumbers += 1
        let reader = WatchedReader(readerNumbers, kind, owner: owner, content.schema)
        if case .nested(let path) = kind.way {
            reader.nested = WatchedNested(isMap: content[.tag, owner]!.notes!.at(path)!.isMap)
        }
        reader.begin(content, at: version)
        return reader
    }

    /// Where no tag has a list or map at a path, there is none to observe.
    private func observeNothing(_ kind: WatchedKind, _ actor: Actor, _ view: View) throws(StoreError) {
        guard case .nested = kind.way, let tag = past.content(at: try view.version()).keys(.tag).first else { return }
        let reader = WatchedReader(0, kind, owner: tag, past.newest.schema)
        do throws(StoreError) { try begin(reader, actor, view, ObserverOptions()).close() } catch {
            if error.code == .notFound || error.code == .wrongType { return }
            throw error
        }
        fail("told: \(reader.name), where there is no list or map")
    }

    // MARK: What it is about

    private func owner(_ reader: WatchedReader, _ view: View) throws(StoreError) -> ObjectID {
        let kind = reader.kind.isObject ? reader.kind.kind : .tag
        return ObjectID(
            classID: try view.findClass(kind.name), storeTag: view.store.shared.tag, key: reader.owner)
    }

    private func collection(
        _ name: String, _ reader: WatchedReader, _ view: View
    ) throws(StoreError) -> CollectionID {
        let property = try view.findProperty(try view.findClass("Tag"), name)
        return CollectionID(owner: try owner(reader, view), propertyID: property)
    }

    private func text(_ reader: WatchedReader) throws(StoreError) -> String {
        guard case .query(let text) = reader.kind.way else { throw StoreError(.internalError, "it is no query") }
        return text(past.newest.schema)
    }

    private func query(_ reader: WatchedReader, _ view: View) throws(StoreError) -> Query {
        let cls = try view.findClass(reader.kind.kind.name)
        switch reader.kind.way {
        case .query(let text): return try view.query(cls, parsing: text(past.newest.schema))
        case .part(let property, let text):
            let part = try view.query(cls, parsing: text(past.newest.schema))
            return try view.query(of: try collection(property, reader, view)).then(part)
        default: return Query(all: cls)
        }
    }

    /// Nil: it is not observed in sections.
    private func sections(_ reader: WatchedReader, _ view: View) throws(StoreError) -> Sections? {
        guard let sections = reader.kind.sections else { return nil }
        let results = try view.find(try query(reader, view))
        var text = WatchedKind.text(sections.path, reader.kind.kind, past.newest.schema)
        var made: Result<Sections, StoreError>!
        text.withUTF8 { bytes in
            made = Result { () throws(StoreError) in
                try results.sections(byParsing: UnsafeRawBufferPointer(bytes), [], sections.order)
            }
        }
        return try made.get()
    }

    private func observe(
        _ sections: Sections, _ reader: WatchedReader, _ options: ObserverOptions, _ handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        guard let one = reader.kind.sections?.one else {
            return try sections.observe(options, handler: handler)
        }
        guard reader.hasTextSections else {
            return try sections.observe(options, one: one < 0 ? .null : .int(one), handler: handler)
        }
        var text = "m\(one)", made: Result<Observer, StoreError>!
        text.withUTF8 { bytes in
            made = Result { () throws(StoreError) in
                try sections.observe(options, one: .string(bytes.baseAddress, bytes.count), handler: handler)
            }
        }
        return try made.get()
    }

    /// An observer that begins with what results show, which is not the newest any more.
    func observeFound(_ actor: Actor) throws(StoreError) {
        guard let kind = random.one(of: WatchedKind.all), case .query = kind.way, kind.rows == nil else { return }
        try perform(actor) { [self] () throws(StoreError) in
            let view = try actor.store.openView()
            defer { view.close() }
            try settle(view)
            if !kind.needs.allSatisfy({ past.newest.schema.has($0) }) { return }
            guard let reader = try makeReader(kind, view) else { return }
            let options = ObserverOptions(keyPaths: kind.paths), handler = handler(reader, actor)
            if let sections = try sections(reader, view) {
                try writeInside(actor, silencing: [])
                reader.observer = try observe(sections, reader, options, handler)
            } else {
                let results = try view.find(try query(reader, view))
                _ = results.count
                try writeInside(actor, silencing: [])
                reader.observer = try results.observe(options, handler: handler)
            }
            actor.readers.append(reader)
        }
    }
}

extension ObserverOptions {
    /// What a table is modified by its columns say.
    fileprivate var withoutPaths: ObserverOptions {
        var options = self
        options.keyPaths = nil
        return options
    }
}
