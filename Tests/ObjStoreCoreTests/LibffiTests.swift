import CFFI
import Testing

/// libffi is linked and its narrow results follow a rule that is easily overlooked: an integer
/// result narrower than a word is written as a whole `ffi_arg`.
@Suite struct LibffiTests {
    @Test func callsAFunctionThroughADescription() throws {
        let twice: @convention(c) (Int32) -> Int32 = { $0 &* 2 }
        let types = UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>.allocate(capacity: 1)
        defer { types.deallocate() }
        types[0] = cffi_type_sint32()
        var cif = ffi_cif()
        #expect(ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 1, cffi_type_sint32(), types) == FFI_OK)

        var argument: Int32 = -21
        var result: ffi_arg = 0
        withUnsafeMutablePointer(to: &argument) { pointer in
            var arguments: UnsafeMutableRawPointer? = UnsafeMutableRawPointer(pointer)
            ffi_call(&cif, unsafeBitCast(twice, to: (@convention(c) () -> Void).self), &result, &arguments)
        }
        #expect(Int32(truncatingIfNeeded: result) == -42)
    }

    @Test func mintsAFunctionBoundToAContext() throws {
        let types = UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>.allocate(capacity: 1)
        defer { types.deallocate() }
        types[0] = cffi_type_sint64()
        var cif = ffi_cif()
        #expect(ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 1, cffi_type_sint64(), types) == FFI_OK)

        var code: UnsafeMutableRawPointer?
        let closure = try #require(ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code))
        defer { ffi_closure_free(closure) }
        let context = UnsafeMutablePointer<Int64>.allocate(capacity: 1)
        defer { context.deallocate() }
        context.pointee = 1000
        let status = ffi_prep_closure_loc(
            closure.assumingMemoryBound(to: ffi_closure.self), &cif,
            { _, result, arguments, context in
                let sum = context!.load(as: Int64.self) &+ arguments![0]!.load(as: Int64.self)
                result!.storeBytes(of: sum, as: Int64.self)
            }, context, code)
        #expect(status == FFI_OK)
        let function = unsafeBitCast(try #require(code), to: (@convention(c) (Int64) -> Int64).self)
        #expect(function(7) == 1007)
        context.pointee = -7
        #expect(function(7) == 0)
    }
}
