import ObjStore
import Testing

final class ChainLink: Object {
    @Persisted var number = 0
    @Persisted var next: ChainLink?
    @Persisted var others: List<ChainLink>
    @Persisted var named: Map<String, ChainLink?>
    @Persisted var extra: AnyValue
}
/// Of no store.
final class LooseLink: Object {
    @Persisted var next: LooseLink?
}

private struct WeakLink {
    weak var object: Object?
    init(_ object: Object?) { self.object = object }
}

/// Long chains of unmanaged objects are let go without using up the stack.
@Suite struct LettingGoTests {
    private static let length = 100_000

    @Test func aChainOfAStore() throws {
        let store = try memoryStore([ChainLink.self])
        let first = try store.write { tx in
            var last: ChainLink?
            for number in 0..<LettingGoTests.length {
                let link = try tx.create(ChainLink.self, value: ["number": number])
                link.next = last
                last = link
            }
            return last!
        }
        var copy: ChainLink? = try first.detached()
        let second = WeakLink(copy?.next)
        #expect((second.object as? ChainLink)?.number == LettingGoTests.length - 2)
        copy = nil
        #expect(second.object == nil)
    }

    @Test func chainsThroughCollectionsAndAnyValues() throws {
        func chain(_ join: (ChainLink, ChainLink) -> Void) {
            var last: ChainLink? = ChainLink()
            let end = WeakLink(last)
            for _ in 0..<LettingGoTests.length {
                let link = ChainLink()
                join(link, last!)
                last = link
            }
            #expect(end.object != nil)
            last = nil
            #expect(end.object == nil)
        }
        chain { $0.next = $1 }
        chain { $0.others.append($1) }
        chain { $0.named["a"] = $1 }
        chain { $0.extra = .object($1) }
        chain { $0.extra = [1, .object($1)] }
        chain { $0.extra = ["a": .object($1)] }
    }

    @Test func valuesInsideOfEachOther() throws {
        let store = try memoryStore([ChainLink.self])
        for inside: (AnyValue) -> AnyValue in [{ [1, $0] }, { ["a": $0, "b": 2] }] {
            func nested(_ last: AnyValue) -> AnyValue {
                (0..<LettingGoTests.length).reduce(last) { value, _ in inside(value) }
            }
            let link = ChainLink()
            link.extra = nested([:])
            #expect(link.extra == nested([:]) && link.extra != nested([]))
            #expect(
                link.extra.description.hasSuffix(
                    "…" + String(repeating: link.extra.list == nil ? ", b: 2]" : "]", count: 201)))
            let copy = link.extra.detached()
            link.extra = inside(3)
            #expect(copy == nested([:]))
            #expect(
                code { try store.write { tx in try tx.create(ChainLink.self, value: ["extra": copy]) } } == .outOfRange)
            #expect(link.extra == inside(3) && store.objects(ChainLink.self).isEmpty)
            var given: Any = 1
            for _ in 0..<1000 { given = link.extra.list == nil ? ["a": given] : [given] }
            #expect(
                code { try store.write { tx in try tx.create(ChainLink.self, value: ["extra": given]) } } == .outOfRange
            )
        }
    }

    @Test func aChainOfNoStore() {
        var last: LooseLink?
        for _ in 0..<LettingGoTests.length {
            let link = LooseLink()
            link.next = last
            last = link
        }
        let second = WeakLink(last?.next)
        last = nil
        #expect(second.object == nil)
    }

    /// What is held elsewhere stays as it is.
    @Test func sharedLinksStay() {
        let shared = ChainLink()
        shared.next = ChainLink()
        shared.others.append(ChainLink())
        do {
            let other = ChainLink()
            other.next = shared
            other.others.append(shared)
        }
        #expect(shared.next != nil && shared.others.count == 1)
    }
}
