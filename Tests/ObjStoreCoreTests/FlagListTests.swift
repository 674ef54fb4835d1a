import ObjStoreCore
import Testing

/// Flags of elements that come and go, against an array.
@Suite struct FlagListTests {
    @Test(arguments: [0, 1, 600, 5000]) func changes(count: Int) {
        var random = IndexRandom(UInt64(count) + 1)
        var model = (0..<count).map { _ in UInt8(random.next() % 2) }, flags = FlagList(model)
        for round in 0..<40 {
            // Mostly at one place, so that chunks become long, and empty.
            let place = Int(random.next() % UInt64(model.count + 1))
            for _ in 0..<Int(random.next() % 700) {
                let flag = random.next() % 2 == 0
                switch random.next() % 8 {
                case 0 where !model.isEmpty:
                    let element = Int(random.next() % UInt64(model.count))
                    flags.change(element, to: flag)
                    model[element] = flag ? 1 : 0
                case 1...5 where round % 2 == 0, 1 where round % 2 == 1:
                    let element = min(place, model.count)
                    flags.insert(flag, at: element)
                    model.insert(flag ? 1 : 0, at: element)
                default:
                    guard place < model.count else { continue }
                    flags.remove(place)
                    model.remove(at: place)
                }
            }
            var rank = 0
            #expect(flags.count == model.count)
            for (element, flag) in model.enumerated() {
                if flags[element] != (flag != 0) || flags.rank(element) != rank {
                    Issue.record("element \(element) of \(model.count) in round \(round)")
                    return
                }
                rank += Int(flag)
            }
            #expect(flags.rank(model.count) == rank)
        }
    }
}
