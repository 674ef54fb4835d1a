#include "ccells.h"

#if defined(__x86_64__)
#include <immintrin.h>

static uint32_t limit = 2;

uint32_t cs_cells_level(void) {
    const uint32_t most = __atomic_load_n(&limit, __ATOMIC_RELAXED);
    const uint32_t level = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") ? 2
                           : __builtin_cpu_supports("avx2")                                        ? 1
                                                                                                   : 0;
    return level < most ? level : most;
}

void cs_cells_limit(uint32_t level) { __atomic_store_n(&limit, level, __ATOMIC_RELAXED); }

/* ------------------------------------------------------------------------------------------------ AVX2: 32 bytes */

#define AVX2 __attribute__((target("avx2")))
#define INLINE_AVX2 AVX2 __attribute__((always_inline)) static inline

INLINE_AVX2 __m256i load2(const uint8_t *at) { return _mm256_loadu_si256((const __m256i *)at); }

/* 32 cells, a byte each, of cells of 2, 4 or 8 bits from cell 32 * half of `at` on. */
INLINE_AVX2 __m256i spread2(const uint8_t *at, unsigned width, unsigned half) {
    if (width == 8) return load2(at + 32 * half);
    if (width == 4) {
        const __m256i x = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(at + 16 * half)));
        return _mm256_and_si256(_mm256_or_si256(x, _mm256_slli_epi16(x, 4)), _mm256_set1_epi8(15));
    }
    const __m256i x = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(at + 8 * half)));
    const __m256i low = _mm256_or_si256(x, _mm256_slli_epi32(x, 6));
    const __m256i high = _mm256_or_si256(_mm256_slli_epi32(x, 12), _mm256_slli_epi32(x, 18));
    return _mm256_and_si256(_mm256_or_si256(low, high), _mm256_set1_epi8(3));
}

INLINE_AVX2 uint64_t bytes2(__m256i lanes) { return (uint32_t)_mm256_movemask_epi8(lanes); }

INLINE_AVX2 __m256i inside8(__m256i x, __m256i low, __m256i span) {
    x = _mm256_sub_epi8(x, low);
    return _mm256_cmpeq_epi8(_mm256_min_epu8(x, span), x);
}

INLINE_AVX2 __m256i inside16(__m256i x, __m256i low, __m256i span) {
    x = _mm256_sub_epi16(x, low);
    return _mm256_cmpeq_epi16(_mm256_min_epu16(x, span), x);
}

INLINE_AVX2 uint64_t inside32(__m256i x, __m256i low, __m256i span) {
    x = _mm256_sub_epi32(x, low);
    return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_min_epu32(x, span), x)));
}

/* There is no unsigned comparison: both sides are moved by half the range. `span` is. */
INLINE_AVX2 uint64_t inside64(__m256i x, __m256i low, __m256i span) {
    x = _mm256_xor_si256(_mm256_sub_epi64(x, low), _mm256_set1_epi64x(INT64_MIN));
    return 15 & ~(uint32_t)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpgt_epi64(x, span)));
}

INLINE_AVX2 void small2(const uint8_t *at, size_t words, unsigned width, uint8_t low, uint8_t span, uint64_t *mask) {
    const __m256i lows = _mm256_set1_epi8((char)low), spans = _mm256_set1_epi8((char)span);
    for (size_t i = 0; i < words; i++, at += 8 * width)
        mask[i] = bytes2(inside8(spread2(at, width, 0), lows, spans)) |
                  bytes2(inside8(spread2(at, width, 1), lows, spans)) << 32;
}

AVX2 static void range2(const uint8_t *at, size_t words, unsigned width, uint64_t low, uint64_t span, uint64_t *mask) {
    switch (width) {
    case 2: return small2(at, words, 2, (uint8_t)low, (uint8_t)span, mask);
    case 4: return small2(at, words, 4, (uint8_t)low, (uint8_t)span, mask);
    case 8: return small2(at, words, 8, (uint8_t)low, (uint8_t)span, mask);
    case 16: {
        const __m256i lows = _mm256_set1_epi16((short)low), spans = _mm256_set1_epi16((short)span);
        for (size_t i = 0; i < words; i++, at += 128) {
            uint64_t word = 0;
            for (unsigned half = 0; half < 2; half++) {
                const __m256i a = inside16(load2(at + 64 * half), lows, spans),
                              b = inside16(load2(at + 64 * half + 32), lows, spans);
                /* Packing takes turns between the two: the middle quarters change places. */
                word |= bytes2(_mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xd8)) << 32 * half;
            }
            mask[i] = word;
        }
        return;
    }
    case 32: {
        const __m256i lows = _mm256_set1_epi32((int)low), spans = _mm256_set1_epi32((int)span);
        for (size_t i = 0; i < words; i++, at += 256) {
            uint64_t word = 0;
            for (unsigned part = 0; part < 8; part++) word |= inside32(load2(at + 32 * part), lows, spans) << 8 * part;
            mask[i] = word;
        }
        return;
    }
    default: {
        const __m256i lows = _mm256_set1_epi64x((int64_t)low),
                      spans = _mm256_set1_epi64x((int64_t)(span ^ (uint64_t)INT64_MIN));
        for (size_t i = 0; i < words; i++, at += 512) {
            uint64_t word = 0;
            for (unsigned part = 0; part < 16; part++) word |= inside64(load2(at + 32 * part), lows, spans) << 4 * part;
            mask[i] = word;
        }
    }
    }
}

AVX2 static void doubles2(const uint8_t *at, size_t words, double low, double high, uint64_t *mask) {
    const __m256d lows = _mm256_set1_pd(low), highs = _mm256_set1_pd(high);
    for (size_t i = 0; i < words; i++, at += 512) {
        uint64_t word = 0;
        for (unsigned part = 0; part < 16; part++) {
            const __m256d x = _mm256_castsi256_pd(load2(at + 32 * part));
            const __m256d inside =
                _mm256_and_pd(_mm256_cmp_pd(x, lows, _CMP_GE_OQ), _mm256_cmp_pd(x, highs, _CMP_LE_OQ));
            word |= (uint64_t)(uint32_t)_mm256_movemask_pd(inside) << 4 * part;
        }
        mask[i] = word;
    }
}

/* A shuffle looks each byte up in 16, by its lower half; a byte from 128 on finds 0. */
INLINE_AVX2 uint64_t among2(__m256i x, __m256i low, __m256i high, __m256i bits) {
    const __m256i row = _mm256_or_si256(_mm256_shuffle_epi8(low, x),
                                        _mm256_shuffle_epi8(high, _mm256_xor_si256(x, _mm256_set1_epi8(-128))));
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(x, 4), _mm256_set1_epi8(15));
    const __m256i bit = _mm256_shuffle_epi8(bits, upper);
    return bytes2(_mm256_cmpeq_epi8(_mm256_and_si256(row, bit), bit));
}

static const uint64_t bit_of_nibble[2] = {0x8040201008040201, 0x8040201008040201};

INLINE_AVX2 void members2(const uint8_t *at, size_t words, unsigned width, const uint8_t *set, uint64_t *mask) {
    const __m256i low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)set)),
                  high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(set + 16))),
                  bits = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)bit_of_nibble));
    for (size_t i = 0; i < words; i++, at += 8 * width)
        mask[i] = among2(spread2(at, width, 0), low, high, bits) | among2(spread2(at, width, 1), low, high, bits) << 32;
}

AVX2 static void set2(const uint8_t *at, size_t words, unsigned width, const uint8_t *set, uint64_t *mask) {
    switch (width) {
    case 2: return members2(at, words, 2, set, mask);
    case 4: return members2(at, words, 4, set, mask);
    default: return members2(at, words, 8, set, mask);
    }
}

/* --------------------------------------------------------------------------------------------- AVX-512: 64 bytes */

#define AVX512 __attribute__((target("avx512f,avx512bw")))
#define INLINE_AVX512 AVX512 __attribute__((always_inline)) static inline

INLINE_AVX512 __m512i load5(const uint8_t *at) { return _mm512_loadu_si512(at); }

/* 64 cells of 2, 4 or 8 bits, a byte each. */
INLINE_AVX512 __m512i spread5(const uint8_t *at, unsigned width) {
    if (width == 8) return load5(at);
    if (width == 4) {
        const __m512i x = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)at));
        return _mm512_and_si512(_mm512_or_si512(x, _mm512_slli_epi16(x, 4)), _mm512_set1_epi8(15));
    }
    const __m512i x = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)at));
    const __m512i low = _mm512_or_si512(x, _mm512_slli_epi32(x, 6));
    const __m512i high = _mm512_or_si512(_mm512_slli_epi32(x, 12), _mm512_slli_epi32(x, 18));
    return _mm512_and_si512(_mm512_or_si512(low, high), _mm512_set1_epi8(3));
}

INLINE_AVX512 void small5(const uint8_t *at, size_t words, unsigned width, uint8_t low, uint8_t span, uint64_t *mask) {
    const __m512i lows = _mm512_set1_epi8((char)low), spans = _mm512_set1_epi8((char)span);
    for (size_t i = 0; i < words; i++, at += 8 * width)
        mask[i] = _mm512_cmple_epu8_mask(_mm512_sub_epi8(spread5(at, width), lows), spans);
}

AVX512 static void range5(const uint8_t *at, size_t words, unsigned width, uint64_t low, uint64_t span,
                          uint64_t *mask) {
    switch (width) {
    case 2: return small5(at, words, 2, (uint8_t)low, (uint8_t)span, mask);
    case 4: return small5(at, words, 4, (uint8_t)low, (uint8_t)span, mask);
    case 8: return small5(at, words, 8, (uint8_t)low, (uint8_t)span, mask);
    case 16: {
        const __m512i lows = _mm512_set1_epi16((short)low), spans = _mm512_set1_epi16((short)span);
        for (size_t i = 0; i < words; i++, at += 128) {
            const uint64_t a = _mm512_cmple_epu16_mask(_mm512_sub_epi16(load5(at), lows), spans),
                           b = _mm512_cmple_epu16_mask(_mm512_sub_epi16(load5(at + 64), lows), spans);
            mask[i] = a | b << 32;
        }
        return;
    }
    case 32: {
        const __m512i lows = _mm512_set1_epi32((int)low), spans = _mm512_set1_epi32((int)span);
        for (size_t i = 0; i < words; i++, at += 256) {
            uint64_t word = 0;
            for (unsigned part = 0; part < 4; part++)
                word |= (uint64_t)_mm512_cmple_epu32_mask(_mm512_sub_epi32(load5(at + 64 * part), lows), spans)
                        << 16 * part;
            mask[i] = word;
        }
        return;
    }
    default: {
        const __m512i lows = _mm512_set1_epi64((int64_t)low), spans = _mm512_set1_epi64((int64_t)span);
        for (size_t i = 0; i < words; i++, at += 512) {
            uint64_t word = 0;
            for (unsigned part = 0; part < 8; part++)
                word |= (uint64_t)_mm512_cmple_epu64_mask(_mm512_sub_epi64(load5(at + 64 * part), lows), spans)
                        << 8 * part;
            mask[i] = word;
        }
    }
    }
}

AVX512 static void doubles5(const uint8_t *at, size_t words, double low, double high, uint64_t *mask) {
    const __m512d lows = _mm512_set1_pd(low), highs = _mm512_set1_pd(high);
    for (size_t i = 0; i < words; i++, at += 512) {
        uint64_t word = 0;
        for (unsigned part = 0; part < 8; part++) {
            const __m512d x = _mm512_castsi512_pd(load5(at + 64 * part));
            const __mmask8 above = _mm512_cmp_pd_mask(x, lows, _CMP_GE_OQ);
            word |= (uint64_t)_mm512_mask_cmp_pd_mask(above, x, highs, _CMP_LE_OQ) << 8 * part;
        }
        mask[i] = word;
    }
}

INLINE_AVX512 void members5(const uint8_t *at, size_t words, unsigned width, const uint8_t *set, uint64_t *mask) {
    const __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)set)),
                  high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(set + 16))),
                  bits = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)bit_of_nibble));
    for (size_t i = 0; i < words; i++, at += 8 * width) {
        const __m512i x = spread5(at, width);
        const __m512i row = _mm512_or_si512(_mm512_shuffle_epi8(low, x),
                                            _mm512_shuffle_epi8(high, _mm512_xor_si512(x, _mm512_set1_epi8(-128))));
        const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(x, 4), _mm512_set1_epi8(15));
        mask[i] = _mm512_test_epi8_mask(row, _mm512_shuffle_epi8(bits, upper));
    }
}

AVX512 static void set5(const uint8_t *at, size_t words, unsigned width, const uint8_t *set, uint64_t *mask) {
    switch (width) {
    case 2: return members5(at, words, 2, set, mask);
    case 4: return members5(at, words, 4, set, mask);
    default: return members5(at, words, 8, set, mask);
    }
}

/* What is left of a run: fewer places than a vector has. */
static size_t pair1(const uint8_t *text, size_t place, size_t places, size_t distance, cs_byte_pair pair) {
    for (; place < places; place++) {
        const uint8_t first = text[place] | pair.first_bits, last = text[place + distance] | pair.last_bits;
        if (first == pair.first && last == pair.last) break;
    }
    return place;
}

AVX2 static size_t pair2(const uint8_t *text, size_t place, size_t places, size_t distance, cs_byte_pair pair) {
    const __m256i first = _mm256_set1_epi8((char)pair.first), first_bits = _mm256_set1_epi8((char)pair.first_bits),
                  last = _mm256_set1_epi8((char)pair.last), last_bits = _mm256_set1_epi8((char)pair.last_bits);
    for (; place + 32 <= places; place += 32) {
        const __m256i a = _mm256_cmpeq_epi8(_mm256_or_si256(load2(text + place), first_bits), first),
                      b = _mm256_cmpeq_epi8(_mm256_or_si256(load2(text + place + distance), last_bits), last);
        const uint32_t fits = (uint32_t)_mm256_movemask_epi8(_mm256_and_si256(a, b));
        if (fits) return place + (size_t)__builtin_ctz(fits);
    }
    return pair1(text, place, places, distance, pair);
}

AVX512 static size_t pair5(const uint8_t *text, size_t place, size_t places, size_t distance, cs_byte_pair pair) {
    const __m512i first = _mm512_set1_epi8((char)pair.first), first_bits = _mm512_set1_epi8((char)pair.first_bits),
                  last = _mm512_set1_epi8((char)pair.last), last_bits = _mm512_set1_epi8((char)pair.last_bits);
    for (; place + 64 <= places; place += 64) {
        const uint64_t a = _mm512_cmpeq_epi8_mask(_mm512_or_si512(load5(text + place), first_bits), first);
        const uint64_t b = _mm512_cmpeq_epi8_mask(_mm512_or_si512(load5(text + place + distance), last_bits), last);
        if (a & b) return place + (size_t)__builtin_ctzll(a & b);
    }
    return pair1(text, place, places, distance, pair);
}

/* ---------------------------------------------------------------------------------------------------------- choice */

bool cs_cells_in_range(const void *cells, size_t words, unsigned width, uint64_t low, uint64_t span, uint64_t *mask) {
    if (width == 1) return false;
    switch (cs_cells_level()) {
    case 2: range5(cells, words, width, low, span, mask); return true;
    case 1: range2(cells, words, width, low, span, mask); return true;
    default: return false;
    }
}

bool cs_cells_in_doubles(const void *cells, size_t words, double low, double high, uint64_t *mask) {
    switch (cs_cells_level()) {
    case 2: doubles5(cells, words, low, high, mask); return true;
    case 1: doubles2(cells, words, low, high, mask); return true;
    default: return false;
    }
}

bool cs_cells_find_pair(const void *text, size_t *place, size_t places, size_t distance, cs_byte_pair pair) {
    switch (cs_cells_level()) {
    case 2: *place = pair5(text, *place, places, distance, pair); return true;
    case 1: *place = pair2(text, *place, places, distance, pair); return true;
    default: return false;
    }
}

bool cs_cells_in_set(const void *cells, size_t words, unsigned width, const uint8_t set[32], uint64_t *mask) {
    if (width == 1 || width > 8) return false;
    switch (cs_cells_level()) {
    case 2: set5(cells, words, width, set, mask); return true;
    case 1: set2(cells, words, width, set, mask); return true;
    default: return false;
    }
}

#else

uint32_t cs_cells_level(void) { return 0; }
void cs_cells_limit(uint32_t level) { (void)level; }

bool cs_cells_in_range(const void *cells, size_t words, unsigned width, uint64_t low, uint64_t span, uint64_t *mask) {
    (void)cells, (void)words, (void)width, (void)low, (void)span, (void)mask;
    return false;
}

bool cs_cells_in_doubles(const void *cells, size_t words, double low, double high, uint64_t *mask) {
    (void)cells, (void)words, (void)low, (void)high, (void)mask;
    return false;
}

bool cs_cells_find_pair(const void *text, size_t *place, size_t places, size_t distance, cs_byte_pair pair) {
    (void)text, (void)place, (void)places, (void)distance, (void)pair;
    return false;
}

bool cs_cells_in_set(const void *cells, size_t words, unsigned width, const uint8_t set[32], uint64_t *mask) {
    (void)cells, (void)words, (void)width, (void)set, (void)mask;
    return false;
}

#endif
