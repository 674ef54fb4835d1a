internal import CFFI

/// How one kind of C function is called: libffi's description, with the memory it points into.
///
/// libffi keeps pointers to both in every closure made from it: the maker of one keeps this object alive.
final class CallDescription: @unchecked Sendable {
    enum ArgumentType {
        case bool, int32, int64, float, double, pointer, nothing
        /// Structures that are passed by value: `objstore_object`, `objstore_value`.
        case object, value

        var ffi: UnsafeMutablePointer<ffi_type>? {
            switch self {
            case .bool: cffi_type_uint8()
            case .int32: cffi_type_sint32()
            case .int64: cffi_type_sint64()
            case .float: cffi_type_float()
            case .double: cffi_type_double()
            case .pointer: cffi_type_pointer()
            case .nothing: cffi_type_void()
            case .object: ArgumentType.objectType
            case .value: ArgumentType.valueType
            }
        }

        private nonisolated(unsafe) static let objectType = structure(
            16, [cffi_type_uint32(), cffi_type_uint32(), cffi_type_sint64()])
        private nonisolated(unsafe) static let valueType = structure(
            40,
            [cffi_type_sint32(), cffi_type_uint32()] + (0..<4).map { _ in cffi_type_uint64() })

        /// Lives for ever, as libffi's own types do. It has its size already: libffi would write it at the first use,
        /// which may be that of two threads.
        private static func structure(
            _ bytes: Int, _ members: [UnsafeMutablePointer<ffi_type>?]
        ) -> UnsafeMutablePointer<ffi_type> {
            let list = UnsafeMutablePointer<UnsafeMutablePointer<ffi_type>?>.allocate(capacity: members.count + 1)
            for (index, member) in (members + [nil]).enumerated() { (list + index).initialize(to: member) }
            let type = UnsafeMutablePointer<ffi_type>.allocate(capacity: 1)
            type.initialize(to: ffi_type(size: bytes, alignment: 8, type: UInt16(FFI_TYPE_STRUCT), elements: list))
            return type
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
