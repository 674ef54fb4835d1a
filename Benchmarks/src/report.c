// From measurements to results.json and a Markdown table.
#include "bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const slot_names[SLOTS] = {"floor", "objstore", "sqlite", "lmdb", "rocksdb", "duckdb"};

void result_extra(result *r, double value, const char *key_format, ...) {
    if (r->extra_count == sizeof r->extras / sizeof *r->extras) die("too many extras in %s", r->name);
    va_list arguments;
    va_start(arguments, key_format);
    int length = vsnprintf(r->extras[r->extra_count].key, sizeof r->extras->key, key_format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof r->extras->key) die("extra key too long in %s", r->name);
    r->extras[r->extra_count++].value = value;
}

double result_value(const result *r, int slot) { return series_median(&r->tracks[slot].repetitions); }

double result_ratio(const result *r, int slot, int other) {
    const series *a = &r->tracks[slot].repetitions, *b = &r->tracks[other].repetitions;
    series ratios = {0};
    for (size_t i = 0; i < a->count && i < b->count; i++) series_add(&ratios, a->values[i] / b->values[i]);
    double ratio = series_median(&ratios);
    series_free(&ratios);
    return ratio;
}

static double result_p99(const result *r, int slot) { return series_percentile(&r->tracks[slot].samples, 0.99); }

static void json_number(FILE *out, const char *key, const char *suffix, double value) {
    if (isfinite(value)) fprintf(out, ", \"%s%s\": %.6g", key, suffix, value);
    else fprintf(out, ", \"%s%s\": null", key, suffix);
}

// Copies a list without its end; returns whether there is an element in it.
static bool copy_list(FILE *out, const char *path) {
    FILE *in = fopen(path, "r");
    check_sys(in != NULL);
    char *line = NULL;
    size_t room = 0;
    bool any = false;
    while (getline(&line, &room, in) > 0) {
        if (line[0] != '{') continue;           // one element a line, as written here and by Python's cases
        line[strcspn(line, "\n")] = 0;
        size_t length = strlen(line);
        if (line[length - 1] == ',') line[length - 1] = 0;
        fprintf(out, "%s%s", any ? ",\n" : "", line);
        any = true;
    }
    free(line);
    check_sys(fclose(in) == 0);
    return any;
}

void report_json(const char *path, const result *results, size_t count, bool append) {
    char *temporary = format_path("%s.new", path);
    FILE *out = fopen(temporary, "w");
    check_sys(out != NULL);
    fprintf(out, "[\n");
    if (append && copy_list(out, path) && count) fprintf(out, ",\n");
    for (size_t i = 0; i < count; i++) {
        const result *r = results + i;
        fprintf(out, "{\"case\": \"%s\", \"n\": %zu, \"unit\": \"%s\", \"better\": \"%s\"", r->name, r->objects,
                r->unit, r->higher_is_better ? "higher" : "lower");
        for (int slot = 0; slot < SLOTS; slot++) {
            json_number(out, slot_names[slot], "", result_value(r, slot));
            if (r->tracks[slot].samples.count) json_number(out, slot_names[slot], "_p99", result_p99(r, slot));
        }
        for (int slot = 1; slot < SLOTS; slot++)
            json_number(out, slot_names[slot], "_over_floor", result_ratio(r, slot, FLOOR));
        for (int slot = 2; slot < SLOTS; slot++) {
            char key[40];
            snprintf(key, sizeof key, "objstore_over_%s", slot_names[slot]);
            json_number(out, key, "", result_ratio(r, OBJSTORE, slot));
        }
        for (size_t e = 0; e < r->extra_count; e++) json_number(out, r->extras[e].key, "", r->extras[e].value);
        fprintf(out, "}%s\n", i + 1 < count ? "," : "");
    }
    fprintf(out, "]\n");
    check_sys(fclose(out) == 0);
    check_sys(rename(temporary, path) == 0);
}

// Four significant digits without an exponent.
static const char *figure(double value, char text[32]) {
    if (!isfinite(value)) return "–";
    double magnitude = fabs(value);
    int decimals = magnitude >= 1000 || magnitude == 0 ? 0 : magnitude >= 100 ? 1 : magnitude >= 10 ? 2
                   : magnitude >= 1 ? 3 : magnitude >= 0.1 ? 4 : magnitude >= 0.01 ? 5 : 6;
    snprintf(text, 32, "%.*f", decimals, value);
    return text;
}

static bool slot_used(const result *results, size_t count, int slot) {
    for (size_t i = 0; i < count; i++)
        if (results[i].tracks[slot].repetitions.count) return true;
    return false;
}

void report_markdown(const char *path, const result *results, size_t count, const char *heading, bool append) {
    FILE *out = fopen(path, append ? "a" : "w");
    check_sys(out != NULL);
    if (append) fprintf(out, "\n");
    fprintf(out, "%s\n\n| case | unit |", heading);
    for (int slot = 0; slot < SLOTS; slot++)
        if (slot_used(results, count, slot)) fprintf(out, " %s |", slot_names[slot]);
    for (int slot = 1; slot < SLOTS; slot++)
        if (slot_used(results, count, slot)) fprintf(out, " %s/floor |", slot_names[slot]);
    fprintf(out, "\n|---|---|");
    for (int slot = 0; slot < 2 * SLOTS - 1; slot++)
        if (slot_used(results, count, slot < SLOTS ? slot : slot - SLOTS + 1)) fprintf(out, "---:|");
    fprintf(out, "\n");
    for (size_t i = 0; i < count; i++) {
        const result *r = results + i;
        char text[32], tail[32];
        fprintf(out, "| %s | %s |", r->name, r->unit);
        for (int slot = 0; slot < SLOTS; slot++) {
            if (!slot_used(results, count, slot)) continue;
            fprintf(out, " %s", figure(result_value(r, slot), text));
            if (r->tracks[slot].samples.count) fprintf(out, " (p99 %s)", figure(result_p99(r, slot), tail));
            fprintf(out, " |");
        }
        for (int slot = 1; slot < SLOTS; slot++)
            if (slot_used(results, count, slot)) fprintf(out, " %s |", figure(result_ratio(r, slot, FLOOR), text));
        fprintf(out, "\n");
    }
    bool any = false;
    for (size_t i = 0; i < count; i++)
        for (size_t e = 0; e < results[i].extra_count; e++, any = true) {
            char text[32];
            fprintf(out, "%s- %s: %s = %s\n", any ? "" : "\nBeside the table:\n\n", results[i].name,
                    results[i].extras[e].key, figure(results[i].extras[e].value, text));
        }
    check_sys(fclose(out) == 0);
}

void report_line(const result *r) {
    char text[32];
    fprintf(stderr, "%-30s %-10s", r->name, r->unit);
    for (int slot = 0; slot < SLOTS; slot++) {
        if (!r->tracks[slot].repetitions.count) continue;
        fprintf(stderr, "  %s %s", slot_names[slot], figure(result_value(r, slot), text));
        if (r->tracks[slot].samples.count) fprintf(stderr, " (p99 %s)", figure(result_p99(r, slot), text));
    }
    fprintf(stderr, "\n");
}
