import ObjStoreCore
import ObjStoreSimulation
import Testing

/// Processes that open, close and delete one store: a process that has it open has the file that is there.
@Suite struct DeletionTests {
    @Test func openersHaveTheFileThatIsThere() {
        var opened = 0, deleted = 0
        for seed in 0..<UInt64(400) {
            let options = World.Options()
            let world = World(Choices(seed: seed, profile: Profile.random(seed)), options, entropy: seed)
            world.faults = false
            for _ in 0..<3 {
                let process = world.startProcess()
                process.spawn("opener") { machine in
                    for _ in 0..<4 {
                        do throws(StoreError) {
                            if world.pick(.workload, 2) == 1 {
                                try StoreFiles.delete("d/s", machine: machine)
                                deleted += 1
                                continue
                            }
                            var options = StoreOptions()
                            options.hasBackgroundThread = false
                            let database = try Database.open("d/s", options: options, machine: machine)
                            process.own(database)
                            opened += 1
                            if try machine.identity(of: "d/s") != database.file.identity() {
                                world.fail("opened a file that was deleted")
                            }
                            let transaction = try WriteTransaction.begin(database)
                            try transaction.setSchema(Schema(classes: [], version: transaction.schema.version + 1))
                            try transaction.commit()
                            try database.close()
                            process.disown(database)
                        } catch {
                            let isUsual: Set<StatusCode> = [.notFound, .busy, .notAStore]
                            if !isUsual.contains(error.code) { world.fail("\(error)") }
                        }
                    }
                }
            }
            world.drain(limit: 1_000_000)
            #expect(world.violation == nil, "seed \(seed)")
            let isBroken = world.violation != nil
            world.end()
            if isBroken { return }
        }
        #expect(opened > 1000 && deleted > 100, "\(opened) \(deleted)")
    }
}
