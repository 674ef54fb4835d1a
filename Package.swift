// swift-tools-version: 6.2
import PackageDescription

// One performance module (ObjStoreCore) with thin modules around it: across modules
// `package` accessors never inline, so pages, trees and query kernels live together.
//
// Link flags of the shared library (soname, version script, static Swift runtime) are given
// on the command line by scripts/build-lib, not here: `unsafeFlags` would make the package
// unusable as a dependency.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]

/// The command-line tool, and the parser that it alone needs: scripts/build-tool asks for it. Who depends on this package does not get,
/// nor even resolve, another one for it.
let hasTool = Context.environment["OBJSTORE_TOOL"] != nil

/// scripts/release builds the Swift tests: what they test is what is shipped, the same build, so that their histories take two minutes and not
/// half an hour; the tests themselves are not optimised, for that alone would take as long. A debug build, for debuggers, is
/// `swift build --build-tests`. The rigs stay out.
let isForTests = Context.environment["OBJSTORE_TESTS"] != nil
let tests =
    settings + (isForTests ? [.unsafeFlags(["-Onone", "-no-whole-module-optimization", "-enable-batch-mode"])] : [])
/// What scripts/release builds has the runtime of Swift in it; but for the tests, whose library comes as a shared one and brings it along.
let hasRuntime = Context.environment["OBJSTORE_RELEASE"] != nil && !isForTests
let linking: [LinkerSetting] = hasRuntime ? [.unsafeFlags(["-static-stdlib"])] : []
/// Who uses Foundation is compiled for the one that is linked: it says what else that needs.
let withFoundation = settings + (hasRuntime ? [.unsafeFlags(["-static-stdlib"])] : [])

let package = Package(
    name: "objstore",
    products: [
        .library(name: "objstore", type: .dynamic, targets: ["ObjStoreC"]),  // libobjstore.so: the C interface
        .library(name: "ObjStore", targets: ["ObjStore"]),  // the Swift interface, linked from source
        .library(name: "ObjStoreRealm", targets: ["ObjStoreRealm"]),  // the same in the spelling of Realm Swift
    ],
    targets: [
        // C, seen from Swift.
        .systemLibrary(name: "CFFI", pkgConfig: "libffi", providers: [.apt(["libffi-dev"])]),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "CObjStore", path: "include", publicHeadersPath: "."),  // include/objstore.h, header only
        .target(name: "CSystem"),  // system calls and atomics the Glibc module does not show; wide vectors
        .target(name: "CRuntime"),  // layout of classes, for the Swift interface

        // Swift.
        .target(
            name: "ObjStoreCore", dependencies: ["CSystem", "CFFI", "CCrypto"], swiftSettings: settings,
            linkerSettings: linking),
        .target(name: "ObjStoreC", dependencies: ["CObjStore", "CSystem", "ObjStoreCore"], swiftSettings: settings),
        .target(name: "ObjStore", dependencies: ["ObjStoreCore", "CRuntime"], swiftSettings: settings),
        .target(name: "ObjStoreRealm", dependencies: ["ObjStore"], swiftSettings: settings),

        // The simulated machine: test code, in no product.
        .target(name: "CFibers"),  // coroutines
        .target(
            name: "ObjStoreSimulation", dependencies: ["ObjStoreCore", "CSystem", "CFibers"], swiftSettings: settings),

        // Tests.
        .target(  // a naive model of objects, and random histories of a store against it
            name: "WholeModel", dependencies: ["ObjStoreCore"], path: "Tests/WholeModel", swiftSettings: settings),
        .executableTarget(  // the other process of tests of observing
            name: "store-writer", dependencies: ["ObjStoreCore"], path: "Tests/StoreWriter", swiftSettings: settings),
        .testTarget(
            name: "ObjStoreCoreTests", dependencies: ["ObjStoreCore", "CSystem", "CFFI", "store-writer", "WholeModel"],
            swiftSettings: tests),
        .testTarget(
            name: "ObjStoreSimulationTests", dependencies: ["ObjStoreSimulation", "ObjStoreCore"], swiftSettings: tests),
        .testTarget(name: "CAPITests", dependencies: ["CObjStore", "CSystem", "ObjStoreC"], swiftSettings: tests),
        .testTarget(name: "ObjStoreTests", dependencies: ["ObjStore"], swiftSettings: tests),
        .testTarget(name: "ObjStoreRealmTests", dependencies: ["ObjStoreRealm"], swiftSettings: tests),
    ],
    swiftLanguageModes: [.v6]
)

if isForTests {
    // It would be linked without the runtime of Swift, over the one for users.
    package.products.removeAll { $0.name == "objstore" }
} else {
    package.targets += [
        // The demo's questions, asked from Swift.
        .executableTarget(
            name: "ask-swift", dependencies: ["ObjStore"], path: "demo/AskSwift", swiftSettings: withFoundation),

        // The rigs.
        .executableTarget(  // random histories of the engine on the simulated machine
            name: "crash", dependencies: ["ObjStoreCore", "ObjStoreSimulation", "WholeModel"], path: "Tests/Crash",
            swiftSettings: settings),
        .executableTarget(  // real processes that are killed at any time
            name: "storm", dependencies: ["ObjStoreCore", "ObjStoreSimulation"], path: "Tests/Storm",
            exclude: ["storm.py", "lives.py", "watched.py", "quiet.py"], swiftSettings: settings),
        .executableTarget(  // threads that read pinned versions while their pages are reused
            name: "threads", dependencies: ["ObjStoreCore", "ObjStoreSimulation"], path: "Tests/Threads",
            swiftSettings: settings),
        .executableTarget(  // asynchronous writes through the C interface: threads, killed processes, waits
            name: "async-writes", dependencies: ["CObjStore", "CSystem", "ObjStoreC"], path: "Tests/Async",
            cSettings: [.define("WITH_INJECTED_BUGS")]),
        .executableTarget(  // hot paths of the Swift interface, whose instructions are counted
            name: "instructions", dependencies: ["ObjStore"], path: "Tests/Instructions/Swift",
            swiftSettings: withFoundation),
        .executableTarget(  // hostile files and signatures, by chance and by libFuzzer
            name: "fuzz", dependencies: ["ObjStoreCore", "ObjStoreSimulation"], path: "Tests/Fuzz",
            exclude: ["control", "found", "query.dict"], swiftSettings: settings),
    ]
}

if hasTool {
    // scripts/build-tool calls it "objstore", which as a product is the library.
    package.products.append(.executable(name: "objstore-tool", targets: ["objstore-tool"]))
    package.dependencies.append(.package(url: "https://github.com/apple/swift-argument-parser", "1.5.0"..<"2.0.0"))
    package.targets += [
        .target(name: "CArguments"),  // those of the process
        .executableTarget(
            name: "objstore-tool",
            dependencies: [
                "ObjStore", "CObjStore", "CArguments",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Sources/ObjStoreTool", swiftSettings: withFoundation),
    ]
}
