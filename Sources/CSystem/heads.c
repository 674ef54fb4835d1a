#include "ccells.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2 __attribute__((target("avx2")))
#endif
#define INLINE __attribute__((always_inline)) static inline

/* What is asked of each text; which of the two is known where it is compiled. */
typedef struct {
    bool is_order;
    cs_head head;
    uint64_t flip, most;
} test;

/* Texts are read at places that no prefetcher guesses across the end of a page: those of the block after the next. */
INLINE void prefetch_ahead(const uint8_t *texts) {
    enum { distance = 1536, bytes = 64 * 12, line = 64 };
    for (int i = 0; i < bytes; i += line) __builtin_prefetch(texts + distance + i);
}

INLINE bool holds(const test *t, const uint8_t *bytes, const uint16_t *offsets, size_t i) {
    /* Of texts of 0, 1, 2 … bytes: what is theirs of a word in the order of bytes. */
    static const uint64_t kept[9] = {0,
                                     UINT64_MAX << 56,
                                     UINT64_MAX << 48,
                                     UINT64_MAX << 40,
                                     UINT64_MAX << 32,
                                     UINT64_MAX << 24,
                                     UINT64_MAX << 16,
                                     UINT64_MAX << 8,
                                     UINT64_MAX};
    uint64_t word;
    memcpy(&word, bytes + offsets[i], 8);
    if (!t->is_order) {
        const bool begins = ((word | t->head.bits) & t->head.kept) == t->head.wanted;
        return begins | ((word & t->head.others) != 0);
    }
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    const size_t length = (size_t)offsets[i + 1] - offsets[i];
    return ((word & kept[length < 8 ? length : 8]) ^ t->flip) <= t->most;
}

/* Of the texts from `first` to `end`, 64 at most. */
INLINE uint64_t exactly(const test *t, const uint8_t *bytes, const uint16_t *offsets, size_t first, size_t end) {
    uint64_t mask = 0;
    size_t i = first;
    for (; i + 8 <= end; i += 8) {
        uint64_t eight = 0;
#pragma clang loop unroll(full)
        for (size_t j = 0; j < 8; j++) eight |= (uint64_t)holds(t, bytes, offsets, i + j) << j;
        mask |= eight << (i - first);
    }
    for (; i < end; i++) mask |= (uint64_t)holds(t, bytes, offsets, i) << (i - first);
    return mask;
}

/* The same by a loop for each of the two questions. */
INLINE uint64_t exactly_each(const test *t, const uint8_t *bytes, const uint16_t *offsets, size_t first, size_t end) {
    return t->is_order ? exactly(&(test){true, t->head, t->flip, t->most}, bytes, offsets, first, end)
                       : exactly(&(test){false, t->head, 0, 0}, bytes, offsets, first, end);
}

/* From which text on eight bytes go beyond the end. */
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

static void find(const test *t, const uint8_t *bytes, const uint16_t *offsets, size_t count, uint64_t *mask) {
    const size_t whole = count_of_whole(offsets, count);
    for (size_t first = 0; first < count; first += 64) {
        const size_t end = first + 64 < whole ? first + 64 : whole;
        prefetch_ahead(bytes + offsets[first]);
        mask[first / 64] = exactly_each(t, bytes, offsets, first, end);
    }
    set_from(whole, count, mask);
}

#ifdef AVX2

/* Of 64 texts those that can hold by their first byte; where they are many, it was not worth asking. */
AVX2 static uint64_t by_first_byte(const test *t, const uint8_t *bytes, const uint16_t *offsets) {
    uint8_t firsts[64];
    for (int i = 0; i < 64; i++) firsts[i] = bytes[offsets[i]];
    uint64_t mask = 0;
    for (int half = 0; half < 2; half++) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(firsts + 32 * half));
        __m256i fits;
        if (t->is_order) {
            const __m256i turned = _mm256_xor_si256(x, _mm256_set1_epi8((char)t->flip));
            fits = _mm256_cmpeq_epi8(_mm256_min_epu8(turned, _mm256_set1_epi8((char)(t->most >> 56))), turned);
            /* An empty text has the first byte of the next one. */
            const uint16_t *at = offsets + 32 * half;
            const __m256i a = _mm256_cmpeq_epi16(
                              _mm256_loadu_si256((const __m256i *)at), _mm256_loadu_si256((const __m256i *)(at + 1))),
                          b = _mm256_cmpeq_epi16(
                              _mm256_loadu_si256((const __m256i *)(at + 16)),
                              _mm256_loadu_si256((const __m256i *)(at + 17)));
            fits = _mm256_or_si256(fits, _mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8));
        } else {
            fits = _mm256_cmpeq_epi8(
                _mm256_or_si256(x, _mm256_set1_epi8((char)t->head.bits)), _mm256_set1_epi8((char)t->head.wanted));
            /* Those whose highest bit is set. */
            if (t->head.others) fits = _mm256_or_si256(fits, x);
        }
        mask |= (uint64_t)(uint32_t)_mm256_movemask_epi8(fits) << 32 * half;
    }
    return mask;
}

/* The same for most of the texts that are asked about being none. */
static void find2(const test *t, const uint8_t *bytes, const uint16_t *offsets, size_t count, uint64_t *mask) {
    const size_t whole = count_of_whole(offsets, count);
    size_t first = 0;
    for (; first + 64 <= whole; first += 64) {
        prefetch_ahead(bytes + offsets[first]);
        uint64_t left = by_first_byte(t, bytes, offsets + first), found = 0;
        if (__builtin_popcountll(left) > 16) {
            found = exactly_each(t, bytes, offsets, first, first + 64);
        } else {
            for (; left; left &= left - 1) {
                const unsigned i = (unsigned)__builtin_ctzll(left);
                found |= (uint64_t)holds(t, bytes, offsets, first + i) << i;
            }
        }
        mask[first / 64] = found;
    }
    for (; first < count; first += 64)
        mask[first / 64] = exactly_each(t, bytes, offsets, first, first + 64 < whole ? first + 64 : whole);
    set_from(whole, count, mask);
}

#endif

static void find_best(const test *t, const uint8_t *bytes, const uint16_t *offsets, size_t count, uint64_t *mask) {
#ifdef AVX2
    if (cs_cells_level() > 0) return find2(t, bytes, offsets, count, mask);
#endif
    find(t, bytes, offsets, count, mask);
}

void cs_heads_begin(const void *texts, const uint16_t *offsets, size_t count, cs_head head, uint64_t *mask) {
    find_best(&(test){false, head, 0, 0}, texts, offsets, count, mask);
}

void cs_heads_at_most(
    const void *texts, const uint16_t *offsets, size_t count, uint64_t flip, uint64_t most, uint64_t *mask) {
    find_best(&(test){true, {0, 0, 0, 0}, flip, most}, texts, offsets, count, mask);
}
