import CObjStore
import Foundation
import Testing

/// What a report says, line by line.
private final class Lines {
    var texts: [String] = []
    var kinds: [objstore_report_kind] = []
    /// Name, objects, lost.
    var classes: [String: (UInt64, Int64)] = [:]
    var properties: [String: Int64] = [:]
    /// What the callbacks answer, and after how many calls they do.
    var status = objstore_status.OBJSTORE_OK
    var progressCalls = 0
    var freed = 0

    var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    static func of(_ userdata: UnsafeMutableRawPointer?) -> Lines {
        Unmanaged<Lines>.fromOpaque(userdata!).takeUnretainedValue()
    }

    static let report: objstore_report = { line, userdata in
        let lines = Lines.of(userdata), line = line!.pointee
        expect(
            line.struct_size == UInt32(MemoryLayout<objstore_report_line>.size)
                && line.text.bytes![Int(line.text.length)] == 0)
        lines.texts.append(string(line.text)!)
        lines.kinds.append(line.kind)
        if line.kind == .OBJSTORE_REPORT_CLASS { lines.classes[string(line.class_name)!] = (line.objects, line.lost) }
        if line.kind == .OBJSTORE_REPORT_PROPERTY {
            lines.properties["\(string(line.class_name)!).\(string(line.property_name)!)"] = line.lost
        }
        return lines.status
    }
    static let progress: objstore_progress = { done, total, userdata in
        expect(done <= total)
        Lines.of(userdata).progressCalls += 1
        return .OBJSTORE_OK
    }
    static let free: objstore_free_userdata = { Lines.of($0).freed += 1 }
}

@Test func filesAreCheckedAndSalvaged() throws {
    let folder = TestFolder(), other = folder.path + "/other"
    let store = try openStore(folder.store, [persons, dogs])
    let cls = try ClassOf(store, persons)
    // In one transaction: no page of an older version looks like the one that will be damaged.
    try writing(store) { tx in
        for index in 0..<6000 {
            let word = index * 7919 % 6007
            try cls.create(
                tx,
                [
                    "id": objstore_int(Int64(index)), "name": objstore_string(text("person \(word + 10_000)")),
                    "nick": objstore_string(text("nick \(word + 10_000)")),
                ])
        }
    }
    var lines = Lines(), findings: UInt64 = 99
    #expect(
        refused(objstore_verify_file(text(folder.store), nil, nil, nil, nil, &findings), .OBJSTORE_ERR_BUSY).hasPrefix(
            "path: "))
    refused(objstore_salvage(text(folder.store), text(other), nil, nil, nil, nil, nil), .OBJSTORE_ERR_BUSY)
    try ok(objstore_close(store))
    try ok(objstore_verify_file(text(folder.store), Lines.progress, Lines.report, lines.pointer, Lines.free, &findings))
    #expect(
        findings == 0 && lines.freed == 1 && lines.progressCalls >= 2
            && lines.kinds == [.OBJSTORE_REPORT_CLASS, .OBJSTORE_REPORT_CLASS])
    #expect(try #require(lines.classes["Person"]) == (6000, 0) && lines.classes["Dog"]! == (0, 0))

    var bytes = try Data(contentsOf: URL(fileURLWithPath: folder.store))
    let at = try #require(bytes.range(of: Data("nick 1".utf8))).lowerBound
    bytes[at] ^= 1
    try bytes.write(to: URL(fileURLWithPath: folder.store))
    lines = Lines()
    #expect(
        refused(
            objstore_verify_file(text(folder.store), nil, Lines.report, lines.pointer, nil, &findings),
            .OBJSTORE_ERR_CORRUPT
        ).contains("property nick"))
    #expect(
        findings == 1 && lines.kinds.first == .OBJSTORE_REPORT_FINDING
            && lines.texts[0].contains("class Person, property nick, objects "))

    // Stopping it leaves nothing behind.
    var losses: UInt64 = 99
    lines = Lines()
    lines.status = objstore_status(rawValue: 10_007)!
    refused(
        objstore_salvage(text(folder.store), text(other), nil, Lines.report, lines.pointer, Lines.free, &losses),
        .OBJSTORE_ERR_CANCELLED)
    var error = objstore_error_init()
    try ok(objstore_last_error(&error))
    #expect(error.callback_code == 10_007 && lines.freed == 1 && losses == 99)
    #expect(!FileManager.default.fileExists(atPath: other))

    lines = Lines()
    try ok(objstore_salvage(text(folder.store), text(other), Lines.progress, Lines.report, lines.pointer, nil, &losses))
    let lost = try #require(lines.properties["Person.nick"])
    #expect(
        losses == 1 && lost > 0 && lost <= 512 && lines.classes["Person"]! == (6000, 0) && lines.properties.count == 1)
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.store)) == bytes)
    #expect(
        refused(
            objstore_salvage(text(folder.store), text(other), nil, nil, nil, nil, nil), .OBJSTORE_ERR_ALREADY_EXISTS
        ).hasPrefix("new_path: "))
    let salvaged = try openStore(other, [persons, dogs])
    try verify(salvaged)
    let found = try ClassOf(salvaged, persons)
    try frozen(salvaged) { view in
        var nulls = 0
        for index in 0..<6000 {
            let object = try require(found.find(view, objstore_int(Int64(index))))
            let word = index * 7919 % 6007 + 10_000
            expect(try object.key == Int64(index) && found.string(view, object, "name") == "person \(word)")
            let nick = try found.string(view, object, "nick")
            if nick == nil { nulls += 1 } else { #expect(nick == "nick \(word)") }
        }
        #expect(nulls == Int(lost))
    }
    try ok(objstore_close(salvaged))
    refused(objstore_verify_file(text(folder.path + "/none"), nil, nil, nil, nil, nil), .OBJSTORE_ERR_NOT_FOUND)
    refused(objstore_verify_file(text(folder.path), nil, nil, nil, nil, nil), .OBJSTORE_ERR_NOT_A_STORE)
}
