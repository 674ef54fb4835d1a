/* libffi for Swift.
 *
 * `ffi_type_*` are mutable C globals: Swift 6 refuses to touch them, and the address Swift takes
 * of a global (`&ffi_type_void`) need not be the global's own. So their addresses are handed out
 * by functions. libffi keeps these pointers; they are never freed.
 */
#ifndef OBJSTORE_CFFI_SHIM_H
#define OBJSTORE_CFFI_SHIM_H

#include <ffi.h>

static inline ffi_type *cffi_type_void(void)    { return &ffi_type_void; }
static inline ffi_type *cffi_type_uint8(void)   { return &ffi_type_uint8; }
static inline ffi_type *cffi_type_sint8(void)   { return &ffi_type_sint8; }
static inline ffi_type *cffi_type_uint16(void)  { return &ffi_type_uint16; }
static inline ffi_type *cffi_type_sint16(void)  { return &ffi_type_sint16; }
static inline ffi_type *cffi_type_uint32(void)  { return &ffi_type_uint32; }
static inline ffi_type *cffi_type_sint32(void)  { return &ffi_type_sint32; }
static inline ffi_type *cffi_type_uint64(void)  { return &ffi_type_uint64; }
static inline ffi_type *cffi_type_sint64(void)  { return &ffi_type_sint64; }
static inline ffi_type *cffi_type_float(void)   { return &ffi_type_float; }
static inline ffi_type *cffi_type_double(void)  { return &ffi_type_double; }
static inline ffi_type *cffi_type_pointer(void) { return &ffi_type_pointer; }

#endif
