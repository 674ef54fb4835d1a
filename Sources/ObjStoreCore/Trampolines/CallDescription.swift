internal import CFFI

/// How one kind of C function is called: libffi's description, with the memory it points into.
///
/// libffi keeps pointers to both in every closure made from it: the maker of one keeps this object alive.
final class CallDescription: @unchecked Sendable {
    enum ArgumentType {
        case bool, int32, int64, float, double, pointer, nothing

        var ffi: UnsafeMutablePointer<ffi_type>? {
            switch self {
            case .bool: cffi_type_uint8()
            case .int32: cffi_type_sint32()
            case .int64: cffi_type_sint64()
            case .float: cffi_type_float()
            case .double: cffi_type_double()
            case .pointer: cffi_type_pointer()
            case .nothing: cffi_type_void()
            }
        }
    }

    let cif: UnsafeMutablePointer<ffi_cif>
    private let types: UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>
    let argumentCount: Int

    init(_ arguments: [ArgumentType], returning result: ArgumentType) throws(StoreError) {
        argumentCount = arguments.count
        cif = .allocate(capacity: 1)
        cif.initialize(to: ffi_cif())
        types = .allocate(capacity: max(1, arguments.count))
        for (index, type) in arguments.enumerated() { (types + index).initialize(to: type.ffi) }
        let status = ffi_prep_cif(cif, FFI_DEFAULT_ABI, UInt32(arguments.count), result.ffi, types)
        guard status == FFI_OK else {
            throw StoreError(.internalError, "libffi refused a call of \(arguments.count) arguments (\(status))")
        }
    }

    deinit {
        types.deallocate()
        cif.deallocate()
    }
}
