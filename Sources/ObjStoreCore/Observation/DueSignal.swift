/// Signals waiters for change sets that some may be due: once, until a thread has come to deliver them.
///
/// A descriptor is made for pollers; it is readable as long as the signal is raised. Not synchronised.
struct DueSignal {
    private(set) var event: EventDescriptor?
    private(set) var isRaised = false
    private var isEnded = false

    /// The descriptor, which is `new` unless there is one.
    mutating func attach(_ new: EventDescriptor) -> EventDescriptor {
        if let event { return event }
        event = new
        if isRaised || isEnded { new.signal() }
        return new
    }

    /// False where it was raised already.
    mutating func raise() -> Bool {
        if isRaised { return false }
        isRaised = true
        event?.signal()
        return true
    }

    /// Before the delivering thread looks at what is due: what comes later raises it again.
    mutating func drain() {
        isRaised = false
        event?.drain()
    }

    /// All waiters are woken, now and from now on.
    mutating func end() {
        isEnded = true
        event?.signal()
    }
}
