internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// A change set, behind its handle, with the arrays that are lent from it.
final class ChangesBox: ClosedWithParent {
    let changes: ChangeSet
    let store: Store
    let storeHandle: OpaquePointer
    /// Given to a handler, which must not close it.
    let isHandlers: Bool
    private let lock = Lock()
    private var lists: [UnsafeMutableBufferPointer<objstore_object>?] = [nil, nil, nil, nil]
    private var keys: [UnsafeMutableBufferPointer<objstore_value>?] = [nil, nil, nil, nil, nil, nil]
    private var views: [OpaquePointer?] = [nil, nil]

    init(_ changes: ChangeSet, _ store: Store, _ storeHandle: OpaquePointer, isHandlers: Bool) {
        self.changes = changes
        self.store = store
        self.storeHandle = storeHandle
        self.isHandlers = isHandlers
    }

    deinit {
        for list in lists { list?.deallocate() }
        for list in keys { list?.deallocate() }
    }

    func closeWithParent() {}

    /// `which`: 0 deletions, 1 insertions, 2 modifications, 3 moves.
    func count(_ which: Int) -> Int {
        [changes.deleted.count, changes.inserted.count, changes.modified.count, changes.moved.count][which]
    }

    /// Made on first use. `which`: 0 deletions, 1 insertions, 2 modifications, 3 moves.
    func objects(_ which: Int) throws(StoreError) -> UnsafeMutableBufferPointer<objstore_object> {
        try lock.withLock { () throws(StoreError) in
            if let list = lists[which] { return list }
            let keys = [changes.deleted, changes.inserted, changes.modified, changes.moved][which]
            let list = UnsafeMutableBufferPointer(
                start: try Memory.allocate(objstore_object.self, max(1, keys.count)), count: max(1, keys.count))
            for (index, key) in keys.enumerated() {
                list.initializeElement(at: index, to: object(changes.object(key, tag: store.shared.tag)))
            }
            let filled = UnsafeMutableBufferPointer(rebasing: list[..<keys.count])
            lists[which] = filled
            return filled
        }
    }

    /// Lent out of arrays that live as long as the change set.
    private var masks: UnsafeMutableBufferPointer<UInt64>?
    private var indices: [UnsafeMutableBufferPointer<UInt64>?] = Array(repeating: nil, count: 8)
    private var sections: [UnsafeMutableBufferPointer<UInt64>?] = Array(repeating: nil, count: 6)
    private var memory: [Numbers] = []

    /// Numbers at an address of their own.
    private final class Numbers {
        let buffer: UnsafeMutableBufferPointer<UInt64>
        init(_ numbers: [UInt64]) throws(StoreError) {
            let room = max(1, numbers.count)
            buffer = UnsafeMutableBufferPointer(start: try Memory.allocate(UInt64.self, room), count: room)
            _ = buffer.initialize(from: numbers)
        }
        deinit { buffer.deallocate() }
    }

    private func copy(
        _ numbers: [UInt64], once made: inout UnsafeMutableBufferPointer<UInt64>?
    ) throws(StoreError) -> UnsafeMutableBufferPointer<UInt64> {
        if let made { return made }
        let copy = try Numbers(numbers)
        memory.append(copy)
        let lent = UnsafeMutableBufferPointer(rebasing: copy.buffer[..<numbers.count])
        made = lent
        return lent
    }

    func lentMasks() throws(StoreError) -> UnsafeMutableBufferPointer<UInt64> {
        lock.lock()
        defer { lock.unlock() }
        if let masks { return masks }
        return try copy(try changes.masks(), once: &masks)
    }

    static func lists(_ all: ChangeSet.Indices) -> [[UInt64]] {
        [all.deleted, all.inserted, all.modifiedBefore, all.modifiedAfter, all.movedBefore, all.movedAfter]
    }

    /// 0 deletions … 5 moves after; nil for an observed class. 6 and 7: of sections.
    func lentIndices(_ which: Int) throws(StoreError) -> UnsafeMutableBufferPointer<UInt64>? {
        let numbers: [UInt64]
        if which > 5 {
            let sections = try changedSections()
            numbers = which == 6 ? sections.deleted : sections.inserted
        } else {
            guard let all = changes.indices else { return nil }
            numbers = ChangesBox.lists(all)[which]
        }
        lock.lock()
        defer { lock.unlock() }
        return try copy(numbers, once: &indices[which])
    }

    /// The sections that objects are in: 0 deletions … 5 moves after.
    func lentSections(_ which: Int) throws(StoreError) -> UnsafeMutableBufferPointer<UInt64> {
        let numbers = ChangesBox.lists(try changedSections().numbers)[which]
        lock.lock()
        defer { lock.unlock() }
        return try copy(numbers, once: &sections[which])
    }

    /// 0 deletions, 1 insertions, 2 modifications, 3 moves, which maps have none of; 4 and 5: of sections.
    func lentKeys(_ which: Int) throws(StoreError) -> UnsafeMutableBufferPointer<objstore_value> {
        let wanted: [Value]
        if which > 3 {
            let keys = try changedSections().keys
            wanted = which == 4 ? keys.deleted : keys.inserted
        } else {
            guard let keys = changes.keys else {
                throw StoreError(.wrongType, "the change set is not of an observed map: only its entries have keys")
            }
            wanted = [keys.deleted, keys.inserted, keys.modified, []][which]
        }
        return try lock.withLock { () throws(StoreError) in
            if let list = self.keys[which] { return list }
            let room = max(1, wanted.count)
            let list = UnsafeMutableBufferPointer(start: try Memory.allocate(objstore_value.self, room), count: room)
            for (index, key) in wanted.enumerated() {
                key.store(to: list.baseAddress.unsafelyUnwrapped + index, storeTag: store.shared.tag)
            }
            let filled = UnsafeMutableBufferPointer(rebasing: list[..<wanted.count])
            self.keys[which] = filled
            return filled
        }
    }

    /// The view of one side; a second call gives the same.
    func view(before: Bool, parent: OpaquePointer) throws(StoreError) -> OpaquePointer {
        let index = before ? 0 : 1
        if let view = lock.withLock({ views[index] }) { return view }
        let new = try store.view(of: changes, before: before)
        let handle = try Handles.open(.view, new, parent: parent)
        let kept = lock.withLock { () -> OpaquePointer in
            if let view = views[index] { return view }
            views[index] = handle
            return handle
        }
        if kept != handle, case .mine = Handles.claim(handle, .view, "view") {
            new.close()
            Handles.forget(handle)
        }
        return kept
    }
}

/// An observer, behind its handle.
final class TokenBox: ClosedWithParent {
    let observer: Observer
    let store: Store
    init(_ observer: Observer, _ store: Store) {
        self.observer = observer
        self.store = store
    }
    /// The store waits for the handlers that run.
    func closeWithParent() { observer.close(waits: false) }
}

/// The failure of a handler, or what else was called, that returned `status`: its own message, where it made one with
/// objstore_fail.
func handlerFailure(_ status: Int32, _ what: String = "a change handler") -> StoreError {
    let thread = cs_thread_current()!.pointee
    if status == StatusCode.callback.rawValue, thread.status == status {
        return StoreError(.callback, String(cString: objstore_last_message())).callback(thread.callback_code)
    }
    // What a call of the library said last, where the handler returned the status of that.
    let why =
        status < objstore_status.OBJSTORE_USER_STATUS.rawValue && thread.status == status
        ? ": \(String(cString: objstore_last_message()))" : ""
    return StoreError(.callback, "\(what) returned \(status)\(why)").callback(Int64(status))
}

/// Calls the application's handler with a handle that is valid until it returns.
func call(
    _ handler: objstore_change_handler, _ userdata: Userdata, _ changes: ChangeSet, _ store: Store,
    _ storeHandle: OpaquePointer
) -> StoreError? {
    do throws(StoreError) {
        let handle = try Handles.open(
            .changes, ChangesBox(changes, store, storeHandle, isHandlers: true), parent: storeHandle, isLent: true)
        let status = try userdata.call { handler(handle, $0) }
        // Also by one that was bound to its context, and called another one which was left.
        if status != .OBJSTORE_OK, Userdata.wasLeft { changes.isUntold = true }
        let failure = status == .OBJSTORE_OK ? nil : handlerFailure(status.rawValue)
        if case .mine = Handles.claim(handle, .changes, "changes") { Handles.forget(handle) }
        return failure
    } catch {
        return error
    }
}

/// The handle of a new observer.
func makeToken(
    _ observer: Observer, _ store: Store, parent storeHandle: OpaquePointer,
    _ token: UnsafeMutablePointer<OpaquePointer?>
) throws(StoreError) {
    do throws(StoreError) {
        token.pointee = try Handles.open(.token, TokenBox(observer, store), parent: storeHandle)
    } catch {
        observer.close()
        throw error
    }
}

func check(observeFlags flags: UInt32) throws(StoreError) {
    try check(flags: flags, known: UInt32(OBJSTORE_OBSERVE_INITIAL | OBJSTORE_OBSERVE_PAUSED))
}

func options(_ flags: UInt32) -> ObserverOptions {
    ObserverOptions(
        initial: flags & UInt32(OBJSTORE_OBSERVE_INITIAL) != 0,
        paused: flags & UInt32(OBJSTORE_OBSERVE_PAUSED) != 0)
}

@c @implementation
public func objstore_observe(
    _ store: OpaquePointer?, _ class_id: objstore_class_id, _ flags: UInt32, _ handler: objstore_change_handler?,
    _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    beginObserving(store, handler, Userdata(userdata, free_userdata), token, [.noSuchClass: "class_id"]) {
        (store, handler) throws(StoreError) in
        try check(observeFlags: flags)
        return try store.observe(class_id, options(flags), handler: handler)
    }
}

@c @implementation
public func objstore_query_observe(
    _ query: OpaquePointer?, _ store: OpaquePointer?, _ flags: UInt32, _ handler: objstore_change_handler?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    token?.pointee = nil
    let blame: Blame = [.wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "query"]
    return Handles.pin(query, .query, "query", [.invalidQuery: "query"]) { (asked: QueryBox) throws(StoreError) in
        beginObserving(store, handler, userdata, token, blame) { (store, handler) throws(StoreError) in
            try check(observeFlags: flags)
            return try store.observe(asked.any, options(flags), handler: handler)
        }
    }
}

@c @implementation
public func objstore_results_observe(
    _ results: OpaquePointer?, _ flags: UInt32, _ handler: objstore_change_handler?,
    _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    guard let token else { return failNull("token") }
    token.pointee = nil
    guard let handler else { return failNull("handler") }
    return Handles.pin(results, .results, "results", [.wrongView: "results"]) { (object: Results) throws(StoreError) in
        try check(observeFlags: flags)
        // The observer outlives results and view: it belongs to the store.
        let handle = Handles.store(of: results!), store = object.view.store
        let observer = try object.observe(options(flags)) {
            call(handler, userdata, $0, store, handle)
        }
        try makeToken(observer, store, parent: handle, token)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_collection_observe(
    _ store: OpaquePointer?, _ collection: objstore_collection, _ flags: UInt32, _ handler: objstore_change_handler?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    beginObserving(store, handler, Userdata(userdata, free_userdata), token, observedCollection) {
        (store, handler) throws(StoreError) in
        try check(observeFlags: flags)
        return try store.observe(try collectionID(collection), options(flags), handler: handler)
    }
}

@c @implementation
public func objstore_token_close(_ token: OpaquePointer?) -> objstore_status {
    Handles.close(token, .token, "token") {
        let box = $0 as! TokenBox
        box.store.close(box.observer)
    }
}

// MARK: Delivery

@c @implementation
public func objstore_notify_fd(_ store: OpaquePointer?, _ fd: UnsafeMutablePointer<Int32>?) -> objstore_status {
    guard let fd else { return failNull("fd") }
    return Handles.pin(store, .store, "store", [.notSupported: "store"]) { (box: StoreBox) throws(StoreError) in
        fd.pointee = try box.store.hub.notifyDescriptor()
        return .OBJSTORE_OK
    }
}

private func delivering(
    _ store: OpaquePointer?, _ delivered: UnsafeMutablePointer<Int>?, _ body: (ObserverHub) throws(StoreError) -> Int
) -> objstore_status {
    // Called for an open handle only: a closed one gets an error.
    let isInside = store.map(Handles.isInside) ?? false
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        if isInside {
            throw StoreError(.inCallback, "store: nothing can be delivered from inside a callback of the store")
        }
        let calls = try body(box.store.hub)
        delivered?.pointee = calls
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_deliver(_ store: OpaquePointer?, _ delivered: UnsafeMutablePointer<Int>?) -> objstore_status {
    delivering(store, delivered) { (hub) throws(StoreError) in try hub.deliver() }
}

@c @implementation
public func objstore_refresh(
    _ store: OpaquePointer?, _ view: OpaquePointer?, _ changed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    // Called for an open handle only: a closed one gets an error.
    let isInside = store.map(Handles.isInside) ?? false
    return Handles.pin(store, .store, "store") { (box: StoreBox) throws(StoreError) in
        func refresh(_ view: View?) throws(StoreError) {
            if isInside && view?.kind ?? .live == .live {
                changed?.pointee = false
                return
            }
            let moved = try box.store.refresh(view)
            changed?.pointee = moved
        }
        guard let view else {
            try refresh(nil)
            return .OBJSTORE_OK
        }
        return Handles.pin(view, .view, "view", [.wrongView: "view", .wrongStore: "view"]) {
            (object: View) throws(StoreError) in
            try refresh(object)
            return .OBJSTORE_OK
        }
    }
}

@c @implementation
public func objstore_wait(
    _ store: OpaquePointer?, _ timeout_ms: Int64, _ delivered: UnsafeMutablePointer<Int>?
) -> objstore_status {
    let isEndless = timeout_ms < 0 || timeout_ms > Int64.max / 2_000_000
    let deadline = isEndless ? 0 : cs_monotonic_ns() &+ timeout_ms * 1_000_000
    var isFirst = true
    while true {
        var isOver = false, isAwake = false,
            wait: (descriptor: Int32, milliseconds: Int32, pins: UnsafeMutablePointer<UInt64>)?
        let status = delivering(store, delivered) { (hub) throws(StoreError) in
            guard timeout_ms >= -1 else {
                throw StoreError(.outOfRange, "timeout_ms is \(timeout_ms): 0 or more, or OBJSTORE_FOREVER")
            }
            // Before the delivery: what comes later makes it readable.
            let descriptor = try hub.waitDescriptor()
            let calls = isFirst ? try hub.deliverFirst(of: timeout_ms) : try hub.deliver()
            let left = isEndless ? -1 : max(0, deadline &- cs_monotonic_ns()), isEnd = hub.takeEndOfWrites()
            isOver = calls > 0 || isEnd || left == 0
            isAwake = !isOver && !hub.beginSleep()
            // Up to the next millisecond, or the last one is spent spinning.
            if !isOver && !isAwake {
                wait = (
                    descriptor, Int32(left < 0 ? -1 : min((left &+ 999_999) / 1_000_000, 1 << 30)),
                    Handles.keepPin(store!)
                )
            }
            return calls
        }
        isFirst = false
        if status == .OBJSTORE_OK, isAwake { continue }
        guard status == .OBJSTORE_OK, !isOver, let wait else { return status }
        // Here and nowhere else a thread can be cancelled: this frame holds nothing but numbers, and the pin.
        let result = cs_poll_pinned(wait.descriptor, wait.milliseconds, wait.pins)
        cs_sleep_end()
        cs_add64(wait.pins, ~0)
        if result < 0 { return status }
    }
}

// MARK: Change sets

@c @implementation
public func objstore_changes_get_info(
    _ changes: OpaquePointer?, _ info: UnsafeMutablePointer<objstore_changes_info>?
) -> objstore_status {
    guard let info else { return failNull("info") }
    var result = objstore_status.OBJSTORE_OK
    let used = Handles.use(changes, .changes, "changes") { (box: ChangesBox) throws(StoreError) in
        let changes = box.changes
        var full = objstore_changes_info()
        if changes.isInitial { full.flags |= UInt32(OBJSTORE_CHANGES_INITIAL) }
        if changes.isFromOtherProcess { full.flags |= UInt32(OBJSTORE_CHANGES_OTHER_PROCESS) }
        if changes.isCompared { full.flags |= UInt32(OBJSTORE_CHANGES_COMPARED) }
        if changes.isOwnerDeleted { full.flags |= UInt32(OBJSTORE_CHANGES_OWNER_DELETED) }
        if changes.isLost { full.flags |= UInt32(OBJSTORE_CHANGES_LOST) }
        if changes.isCleared { full.flags |= UInt32(OBJSTORE_CHANGES_CLEARED) }
        full.class_id = changes.isOfCommits ? 0 : changes.schema.classID
        full.mask_words = UInt32(changes.maskWords)
        full.from_version = changes.fromVersion
        full.to_version = changes.toVersion
        full.deletion_count = UInt64(changes.deleted.count)
        full.insertion_count = UInt64(changes.inserted.count)
        full.modification_count = UInt64(changes.modified.count)
        full.move_count = UInt64(changes.moved.count)
        result = fill(info, full, size: info.pointee.struct_size, least: 8, "info")
    }
    return used == .OBJSTORE_OK ? result : used
}

@c @implementation
public func objstore_changes_list(
    _ changes: OpaquePointer?, _ change: objstore_change,
    _ objects: UnsafeMutablePointer<UnsafePointer<objstore_object>?>?,
    _ indices: UnsafeMutablePointer<UnsafePointer<UInt64>?>?, _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let objects else { return failNull("objects") }
    guard let count else { return failNull("count") }
    return Handles.use(changes, .changes, "changes", [.wrongType: "changes"]) { (box: ChangesBox) throws(StoreError) in
        let which = try place(of: change), list = which < 3 ? which : which < 4 ? 2 : 3
        if which > 5 {
            let sections = try box.lentIndices(which)
            (objects.pointee, count.pointee) = (nil, sections?.count ?? 0)
        } else if box.changes.elements == .objects {
            let all = try box.objects(list)
            (objects.pointee, count.pointee) = (UnsafePointer(all.baseAddress), all.count)
        } else {
            (objects.pointee, count.pointee) = (nil, box.count(list))
        }
        indices?.pointee = UnsafePointer(try box.lentIndices(which)?.baseAddress)
    }
}

@c @implementation
public func objstore_changes_keys(
    _ changes: OpaquePointer?, _ change: objstore_change, _ keys: UnsafeMutablePointer<UnsafePointer<objstore_value>?>?,
    _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let keys else { return failNull("keys") }
    guard let count else { return failNull("count") }
    return Handles.use(changes, .changes, "changes", [.wrongType: "changes"]) { (box: ChangesBox) throws(StoreError) in
        let which = try place(of: change)
        let list = try box.lentKeys(which < 3 ? which : which > 5 ? which - 2 : which < 4 ? 2 : 3)
        (keys.pointee, count.pointee) = (UnsafePointer(list.baseAddress), list.count)
    }
}

@c @implementation
public func objstore_changes_has(
    _ changes: OpaquePointer?, _ index: UInt64, _ property_id: objstore_property_id,
    _ changed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let changed else { return failNull("changed") }
    return Handles.use(changes, .changes, "changes", [.outOfRange: "index", .noSuchProperty: "property_id"]) {
        (box: ChangesBox) throws(StoreError) in
        changed.pointee = try box.changes.hasChanged(property_id, atModification: index)
    }
}

@c @implementation
public func objstore_changes_masks(
    _ changes: OpaquePointer?, _ masks: UnsafeMutablePointer<UnsafePointer<UInt64>?>?,
    _ word_count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let masks else { return failNull("masks") }
    guard let word_count else { return failNull("word_count") }
    return Handles.use(changes, .changes, "changes") { (box: ChangesBox) throws(StoreError) in
        let lent = try box.lentMasks()
        masks.pointee = UnsafePointer(lent.baseAddress)
        word_count.pointee = lent.count
    }
}

@c @implementation
public func objstore_changes_column(
    _ changes: OpaquePointer?, _ index: UInt64, _ column_index: Int, _ changed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let changed else { return failNull("changed") }
    return Handles.use(changes, .changes, "changes", [.wrongType: "changes"]) { (box: ChangesBox) throws(StoreError) in
        try naming("column_index") { () throws(StoreError) in try box.changes.checkColumn(column_index) }
        changed.pointee = try naming("index") { () throws(StoreError) in
            try box.changes.hasChanged(column: column_index, atModification: index)
        }
    }
}

private func isBefore(_ side: objstore_side) throws(StoreError) -> Bool {
    guard side == .OBJSTORE_BEFORE || side == .OBJSTORE_AFTER else {
        throw StoreError(.invalidArgument, "side \(side.rawValue) has no name")
    }
    return side == .OBJSTORE_BEFORE
}

@c @implementation
public func objstore_changes_table(
    _ changes: OpaquePointer?, _ side: objstore_side, _ table: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let table else { return failNull("table") }
    table.pointee = nil
    return Handles.pin(changes, .changes, "changes", [.wrongType: "changes"]) { (box: ChangesBox) throws(StoreError) in
        let found = try box.store.table(of: box.changes, before: try isBefore(side))
        table.pointee = try Handles.open(.table, found)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_changes_values(
    _ changes: OpaquePointer?, _ side: objstore_side, _ values: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let values else { return failNull("values") }
    values.pointee = nil
    return Handles.pin(changes, .changes, "changes", [.wrongType: "changes"]) { (box: ChangesBox) throws(StoreError) in
        let isBefore = try isBefore(side), view = try box.view(before: isBefore, parent: changes!)
        return Handles.pin(view, .view, "changes") { (object: View) throws(StoreError) in
            let found = try box.store.values(of: box.changes, before: isBefore, in: object)
            values.pointee = try Handles.open(.values, found, parent: view)
            return .OBJSTORE_OK
        }
    }
}

@c @implementation
public func objstore_changes_view(
    _ changes: OpaquePointer?, _ side: objstore_side, _ view: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let view else { return failNull("view") }
    view.pointee = nil
    return Handles.pin(changes, .changes, "changes") { (box: ChangesBox) throws(StoreError) in
        view.pointee = try box.view(before: try isBefore(side), parent: changes!)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_changes_keep(
    _ changes: OpaquePointer?, _ kept: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let kept else { return failNull("kept") }
    kept.pointee = nil
    return Handles.pin(changes, .changes, "changes") { (box: ChangesBox) throws(StoreError) in
        kept.pointee = try Handles.open(
            .changes, ChangesBox(box.changes, box.store, box.storeHandle, isHandlers: false), parent: box.storeHandle)
        return .OBJSTORE_OK
    }
}

@c @implementation
public func objstore_changes_close(_ changes: OpaquePointer?) -> objstore_status {
    guard changes != nil else { return .OBJSTORE_OK }
    var isHandlers = false
    let used = Handles.use(changes, .changes, "changes", ends: true) { (box: ChangesBox) throws(StoreError) in
        isHandlers = box.isHandlers
    }
    if used == .OBJSTORE_OK && isHandlers {
        return fail(
            .inCallback,
            "changes: this one belongs to the handler that it was given to; objstore_changes_keep makes one of yours")
    }
    return Handles.close(changes, .changes, "changes")
}
