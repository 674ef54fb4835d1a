#include "ccells.h"

#include <string.h>

#define ALL UINT64_MAX

/* Texts are read at places that no prefetcher guesses across the end of a page: those of the block after the next. */
static inline void prefetch_ahead(const uint8_t *texts) {
    enum { distance = 1536, bytes = 64 * 12, line = 64 };
    for (int i = 0; i < bytes; i += line) __builtin_prefetch(texts + distance + i);
}

static inline uint64_t word_at(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

/* From which text on eight bytes go beyond the end; from there on every bit is set. */
static size_t count_of_whole(const uint16_t *offsets, size_t count) {
    const size_t bytes = offsets[count];
    if (bytes < 8) return 0;
    size_t whole = count;
    while (whole > 0 && offsets[whole - 1] > bytes - 8) whole--;
    return whole;
}

static void set_from(size_t whole, size_t count, uint64_t *mask) {
    for (size_t i = whole; i < count; i++) mask[i / 64] |= UINT64_C(1) << i % 64;
}

void cs_heads_begin(const void *texts, const uint16_t *offsets, size_t count, cs_head head, uint64_t *mask) {
    const uint8_t *bytes = texts;
    const size_t whole = count_of_whole(offsets, count);
    for (size_t first = 0; first < count; first += 64) {
        const size_t end = first + 64 < whole ? first + 64 : whole;
        uint64_t bits = 0;
        prefetch_ahead(bytes + offsets[first]);
        for (size_t i = first; i < end; i++) {
            const uint64_t word = word_at(bytes + offsets[i]);
            const bool fits = ((word | head.bits) & head.kept) == head.wanted || (word & head.others) != 0;
            bits |= (uint64_t)fits << (i - first);
        }
        mask[first / 64] = bits;
    }
    set_from(whole, count, mask);
}

void cs_heads_at_most(
    const void *texts, const uint16_t *offsets, size_t count, uint64_t flip, uint64_t most, uint64_t *mask) {
    /* Of texts of 0, 1, 2 … bytes: what is theirs of a word in the order of bytes. */
    static const uint64_t kept[9] = {0,         ALL << 56, ALL << 48, ALL << 40, ALL << 32,
                                     ALL << 24, ALL << 16, ALL << 8,  ALL};
    const uint8_t *bytes = texts;
    const size_t whole = count_of_whole(offsets, count);
    for (size_t first = 0; first < count; first += 64) {
        const size_t end = first + 64 < whole ? first + 64 : whole;
        uint64_t bits = 0;
        prefetch_ahead(bytes + offsets[first]);
        for (size_t i = first; i < end; i++) {
            const size_t start = offsets[i], length = offsets[i + 1] - start;
            uint64_t word = word_at(bytes + start);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
            word = __builtin_bswap64(word);
#endif
            const bool fits = ((word & kept[length < 8 ? length : 8]) ^ flip) <= most;
            bits |= (uint64_t)fits << (i - first);
        }
        mask[first / 64] = bits;
    }
    set_from(whole, count, mask);
}
