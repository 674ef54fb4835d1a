// The floors of sorting: std::sort of what decides nearly always, packed, and a heap for the first ones.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

struct Numbers {
    double score;
    uint32_t position;
    uint8_t age;
};

struct Text {
    uint64_t prefix;    // the first eight bytes, the first of them highest
    double score;
    uint32_t position;
};

// Texts have at least eight bytes here.
uint64_t prefix_of(const char *text) {
    uint64_t bytes;
    std::memcpy(&bytes, text, 8);
    return __builtin_bswap64(bytes);
}

struct Before {
    const char *heap;
    const uint32_t *offsets;

    bool operator()(const Text &a, const Text &b) const {
        if (a.prefix != b.prefix) return a.prefix < b.prefix;
        const uint32_t *x = offsets + a.position, *y = offsets + b.position;
        const uint32_t m = x[1] - x[0], n = y[1] - y[0];
        const int order = std::memcmp(heap + *x, heap + *y, std::min(m, n));
        if (order != 0) return order < 0;
        if (m != n) return m < n;
        return a.score != b.score ? a.score < b.score : a.position < b.position;
    }
};

}  // namespace

// By age, the highest first, then by score.
extern "C" void sort_by_numbers(const uint8_t *age, const double *score, size_t count, int64_t *ids) {
    std::vector<Numbers> rows(count);
    for (size_t i = 0; i < count; i++) rows[i] = {score[i], static_cast<uint32_t>(i), age[i]};
    std::sort(rows.begin(), rows.end(), [](const Numbers &a, const Numbers &b) {
        if (a.age != b.age) return a.age > b.age;
        return a.score != b.score ? a.score < b.score : a.position < b.position;
    });
    for (size_t i = 0; i < count; i++) ids[i] = rows[i].position;
}

// By the text, then by score.
extern "C" void sort_by_text(const char *heap, const uint32_t *offsets, const double *score, size_t count,
                             int64_t *ids) {
    std::vector<Text> rows(count);
    for (size_t i = 0; i < count; i++) rows[i] = {prefix_of(heap + offsets[i]), score[i], static_cast<uint32_t>(i)};
    std::sort(rows.begin(), rows.end(), Before{heap, offsets});
    for (size_t i = 0; i < count; i++) ids[i] = rows[i].position;
}

// The same order, without the first `first`, and `limit` of the others.
extern "C" void first_by_text(const char *heap, const uint32_t *offsets, const double *score, size_t count,
                              size_t first, size_t limit, int64_t *ids) {
    const Before before{heap, offsets};
    std::vector<Text> rows;     // a heap whose top is the last of those kept
    uint64_t most = 0;
    for (size_t i = 0; i < count; i++) {
        const Text row{prefix_of(heap + offsets[i]), score[i], static_cast<uint32_t>(i)};
        if (rows.size() == first + limit) {
            if (row.prefix > most || !before(row, rows.front())) continue;
            std::pop_heap(rows.begin(), rows.end(), before);
            rows.back() = row;
        } else {
            rows.push_back(row);
        }
        std::push_heap(rows.begin(), rows.end(), before);
        most = rows.front().prefix;
    }
    std::sort_heap(rows.begin(), rows.end(), before);
    for (size_t i = first; i < rows.size(); i++) ids[i - first] = rows[i].position;
}
