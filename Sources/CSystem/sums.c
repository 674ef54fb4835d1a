#include "ccells.h"

void cs_sums_by_byte(const uint8_t *groups, const double *values, size_t count, cs_group_sum sums[256]) {
    for (size_t i = 0; i < count; i++) {
        cs_group_sum *group = &sums[groups[i]];
        const double value = values[i];
        group->count++;
        group->sum += value == value ? value : 0;
    }
}
