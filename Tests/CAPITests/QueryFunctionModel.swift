import CObjStore
import Foundation
import Testing

/// Places with nulls and holes, in a store and as an array, and functions in C about them.
enum FunctionModel {
    static let places = TestClass(
        name: "Place",
        properties: [
            ("x", .OBJSTORE_KIND_DOUBLE, 0), ("y", .OBJSTORE_KIND_DOUBLE, nullable),
            ("n", .OBJSTORE_KIND_INT, nullable),
            ("rank", .OBJSTORE_KIND_INT, indexed), ("small", .OBJSTORE_KIND_FLOAT, 0), ("good", .OBJSTORE_KIND_BOOL, 0),
            ("name", .OBJSTORE_KIND_STRING, nullable), ("any", .OBJSTORE_KIND_MIXED, nullable),
            ("time", .OBJSTORE_KIND_TIMESTAMP, 0), ("raw", .OBJSTORE_KIND_BINARY, 0),
        ])

    struct Place {
        let key: Int64
        let x: Double
        let y: Double?
        let n: Int64?
        let small: Float
        let good: Bool
        let name: String?
    }

    /// More than two leaves of places, with nulls and holes.
    struct Map {
        let store: OpaquePointer
        let cls: ClassOf
        private(set) var all: [Place] = []

        init(count: Int = 9000) throws {
            store = try openStore(nil, [places])
            let cls = try ClassOf(store, places)
            self.cls = cls
            all = try writing(store) { tx in
                try (0..<count).map { index in
                    let x = Double(index * 37 % 1009) / 8, y = index % 5 == 2 ? nil : Double(index * 53 % 499) / 4
                    let n = index % 7 == 3 ? nil : Int64(index * 31 % 127) - 60
                    let name = index % 11 == 5 ? nil : ["Bern", "Rome", "", "Ärnst"][index * 13 % 4]
                    let mixed = [objstore_int(3), objstore_double(1.5), objstore_string(text("a")), objstore_null()]
                    let object = try cls.create(
                        tx,
                        [
                            "x": objstore_double(x), "y": y.map(objstore_double) ?? objstore_null(),
                            "n": n.map(objstore_int) ?? objstore_null(), "rank": objstore_int(Int64(index % 100)),
                            "small": objstore_float(Float(index % 16) / 4), "good": objstore_bool(index % 3 == 0),
                            "name": name.map { objstore_string(text($0)) } ?? objstore_null(), "any": mixed[index % 4],
                            "time": objstore_time(Int64(index), Int32(index % 10)),
                            "raw": objstore_binary("", 0),
                        ])
                    return Place(
                        key: object.key, x: x, y: y, n: n, small: Float(index % 16) / 4, good: index % 3 == 0,
                        name: name)
                }
            }
            try writing(store) { tx in
                for place in all where place.key % 13 == 6 { try ok(objstore_delete(tx, try object(place))) }
            }
            all.removeAll { $0.key % 13 == 6 }
        }

        func object(_ place: Place) throws -> objstore_object {
            var info = objstore_info()
            info.struct_size = UInt32(MemoryLayout<objstore_info>.size)
            try ok(objstore_get_info(store, &info))
            return objstore_object(class_id: cls.id, store_tag: info.store_tag, key: place.key)
        }

        func keys(_ condition: (Place) -> Bool) -> [Int64] { all.filter(condition).map(\.key) }
    }

    static func objstore_time(_ seconds: Int64, _ nanoseconds: Int32) -> objstore_value {
        var value = objstore_null()
        value.kind = .OBJSTORE_KIND_TIMESTAMP
        value.data.timestamp = objstore_timestamp(seconds: seconds, nanoseconds: nanoseconds, reserved: 0)
        return value
    }

    typealias Raw = UnsafeMutableRawPointer?

    static func define<Function>(
        _ store: OpaquePointer, _ name: String, _ signature: String, _ function: Function, _ userdata: Raw = nil,
        _ free: objstore_free_userdata? = nil
    ) -> objstore_status {
        objstore_define_function(
            store, text(name), text(signature), unsafeBitCast(function, to: objstore_function.self), userdata, free)
    }

    static let norm: @convention(c) (Double, Double, UnsafeMutablePointer<Double>?, Raw) -> objstore_status = {
        x, y, result, _ in
        result!.pointee = (x * x + y * y).squareRoot()
        return .OBJSTORE_OK
    }
    static let norms:
        @convention(c) (
            UnsafePointer<Double>?, UnsafePointer<Double>?, Int, UnsafeMutablePointer<Double>?, Raw
        ) -> objstore_status = { x, y, count, results, _ in
            for index in 0..<count { results![index] = (x![index] * x![index] + y![index] * y![index]).squareRoot() }
            return .OBJSTORE_OK
        }
    /// Null for odd numbers.
    static let half:
        @convention(c) (Int64, UnsafeMutablePointer<Int64>?, UnsafeMutablePointer<Bool>?, Raw) -> objstore_status = {
            number, result, isNull, _ in
            result!.pointee = number / 2
            isNull!.pointee = number % 2 != 0
            return .OBJSTORE_OK
        }
    static let halves:
        @convention(c) (
            Int, UnsafePointer<Int64>?, UnsafeMutablePointer<Int64>?, UnsafeMutablePointer<UInt8>?, Raw
        ) -> objstore_status = { count, numbers, results, validity, _ in
            for index in 0..<count {
                results![index] = numbers![index] / 2
                if numbers![index] % 2 != 0 { validity![index >> 3] &= ~(1 << UInt8(index & 7)) }
            }
            return .OBJSTORE_OK
        }
    static let orMinusOne:
        @convention(c) (UnsafePointer<Double>?, UnsafeMutablePointer<Double>?, Raw) -> objstore_status =
            {
                value, result, _ in
                result!.pointee = value?.pointee ?? -1
                return .OBJSTORE_OK
            }
    static let allOrMinusOne:
        @convention(c) (
            UnsafePointer<Double>?, UnsafePointer<UInt8>?, Int, UnsafeMutablePointer<Double>?, Raw
        ) -> objstore_status = { values, validity, count, results, _ in
            for index in 0..<count {
                let isThere = validity![index >> 3] >> UInt8(index & 7) & 1 != 0
                results![index] = isThere ? values![index] : -1
            }
            return .OBJSTORE_OK
        }
    private static let roomKey = {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, { free($0) }) == 0)
        return key
    }()
    /// Its memory is used again by the next call, of this thread: tests run side by side.
    private static var room: UnsafeMutablePointer<CChar> {
        if let room = pthread_getspecific(roomKey) { return room.assumingMemoryBound(to: CChar.self) }
        let room = malloc(100)!
        pthread_setspecific(roomKey, room)
        return room.assumingMemoryBound(to: CChar.self)
    }
    static let doubled:
        @convention(c) (UnsafePointer<CChar>?, Int64, UnsafeMutablePointer<objstore_text>?, Raw) -> objstore_status = {
            bytes, length, result, _ in
            let room = room
            for index in 0..<Int(length) {
                room[index] = bytes![index]
                room[index + Int(length)] = bytes![index]
            }
            result!.pointee = objstore_text_of(room, 2 * length)
            return .OBJSTORE_OK
        }
    static let lengths:
        @convention(c) (UnsafePointer<objstore_text>?, Int, UnsafeMutablePointer<Int64>?, Raw) -> objstore_status = {
            texts, count, results, _ in
            for index in 0..<count { results![index] = texts![index].length }
            return .OBJSTORE_OK
        }
    static let mixedKinds:
        @convention(c) (Bool, Float, Int64, Int32, UnsafePointer<UInt8>?, Int64, UnsafeMutablePointer<Bool>?, Raw) ->
            objstore_status = { good, small, seconds, nanoseconds, bytes, length, result, _ in
                result!.pointee = good && small > 1 && seconds % 10 == Int64(nanoseconds) && bytes != nil && length == 0
                return .OBJSTORE_OK
            }
}
