#include "ccells.h"

void cs_pack_bits(uint64_t *words, size_t count, const cs_bit_parts *parts) {
    /* A block at a time, so that each of the parts is a loop of its own over what lies in the cache: the compiler makes
     * vectors of it. */
    enum { block = 512 };
    uint64_t packed[block];
    for (size_t start = 0; start < count; start += block) {
        const size_t size = count - start < block ? count - start : block;
        uint64_t *const from = words + start;
        for (size_t i = 0; i < size; i++) packed[i] = 0;
        for (uint32_t part = 0; part < parts->count; part++) {
            const uint64_t mask = parts->parts[part].mask, shift = parts->parts[part].shift;
            for (size_t i = 0; i < size; i++) packed[i] |= (from[i] & mask) >> shift;
        }
        for (size_t i = 0; i < size; i++) from[i] = packed[i];
    }
}
