/* Packed cells compared with the widest vectors that this processor has, 64 cells at a time.
 *
 * Swift is compiled for the processors of 2003 (SSE2 on x86-64), which compare 16 bytes at a time and cannot turn lanes
 * into bits of words. What is here is compiled for AVX2 and for AVX-512, too, and chosen when first called: a shared
 * library does not know its processor. Each function returns false where there is neither, or where the width is none
 * of its widths: the kernels of Swift then do the same (Scans/NumberKernels.swift), as they do for the last cells.
 *
 *   cells of   1       2       4       8      16      32      64 bits, the first in the lowest bits
 */
#ifndef CCELLS_H
#define CCELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 0: none, 1: AVX2, 2: AVX-512 (F, BW). */
uint32_t cs_cells_level(void);
/* For tests: no more than this level from now on. */
void cs_cells_limit(uint32_t level);

/* Bit i of `mask` says whether cell i lies in `low ... low + span`, unsigned. `words` words: 64 cells each. */
bool cs_cells_in_range(const void *cells, size_t words, unsigned width, uint64_t low, uint64_t span, uint64_t *mask);
/* The same of doubles in `low ... high`: NaN never is. */
bool cs_cells_in_doubles(const void *cells, size_t words, double low, double high, uint64_t *mask);
/* The same of cells of 2, 4 or 8 bits that are among some: byte `c & 15`, or 16 + that for c from 128 on, of `set` has
 * bit `c >> 4 & 7` for each of them. */
bool cs_cells_in_set(const void *cells, size_t words, unsigned width, const uint8_t set[32], uint64_t *mask);

/* Two bytes, and the bits that are set in others before these are compared with them: 0x20 takes A for a. */
typedef struct cs_byte_pair {
    uint8_t first, last;
    uint8_t first_bits, last_bits;
} cs_byte_pair;

/* Sets `place` to the first one from `place` on, before `places`, where the first byte stands and, `distance` behind
 * it, the last one; to `places` where there is none. `text` has `places` + `distance` bytes. */
bool cs_cells_find_pair(const void *text, size_t *place, size_t places, size_t distance, cs_byte_pair pair);

/* The first eight bytes of texts that lie one behind the other (heads.c), in the order of memory. Fits what is equal to
 * `wanted` in the bits of `kept`, with `bits` set, and what has one of the bits `others`. */
typedef struct cs_head {
    uint64_t wanted, kept;
    uint64_t bits;
    uint64_t others;
} cs_head;

/* Bit i of `mask` says whether text i, from `offsets[i]` to `offsets[i + 1]`, can have such a head: bytes behind a text
 * that is shorter are those of the next, and of the last few texts nothing is said, their bits are set. `offsets`
 * ascend, `texts` has as many bytes as the last one says. */
void cs_heads_begin(const void *texts, const uint16_t *offsets, size_t count, cs_head head, uint64_t *mask);
/* Bit i of `mask` says whether the head of text i, as a number that orders like its bytes, missing ones zero, and with
 * the bits `flip` turned, is at most `most`; those of the last few texts are set. */
void cs_heads_at_most(
    const void *texts, const uint16_t *offsets, size_t count, uint64_t flip, uint64_t most, uint64_t *mask);

/* How many values a group has, and what they add up to: of doubles, NaN is counted and not added. */
typedef struct cs_group_sum {
    int64_t count;
    double sum;
} cs_group_sum;

/* Adds each value to the group that its byte says, one after the other (sums.c). */
void cs_sums_by_byte(const uint8_t *groups, const double *values, size_t count, cs_group_sum sums[256]);

/* Neighbouring bits of a word, and how far down they go. */
typedef struct cs_bit_part {
    uint64_t mask, shift;
} cs_bit_part;

/* Some of the bits of words: the first `count` parts, the lowest first. */
typedef struct cs_bit_parts {
    cs_bit_part parts[8];
    uint32_t count;
} cs_bit_parts;

/* Moves the parts of each word together, at its lower end (bits.c). */
void cs_pack_bits(uint64_t *words, size_t count, const cs_bit_parts *parts);

#endif
