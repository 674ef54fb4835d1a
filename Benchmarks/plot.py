#!/usr/bin/env python3
"""Draws results.json as an SVG: one group of bars a case, on a logarithmic scale.

    plot.py results.json results.svg

A bar is how many times worse than the reference an engine is: than the floor where the case has
one, else than the best engine of the case. 1 is as good as the reference; shorter is better.
Of a case that was measured with several N it shows the largest; plot_scaling.py shows them all.
Needs nothing but Python.
"""

import json
import math
import sys
from xml.sax.saxutils import escape

ENGINES = {"objstore": "#0072b2", "sqlite": "#e69f00", "lmdb": "#009e73", "rocksdb": "#999999", "duckdb": "#cc79a7"}
LABEL_WIDTH, BAR_WIDTH, NUMBER_WIDTH = 250, 560, 80
BAR, GAP, TOP, BOTTOM = 13, 11, 66, 40


def groups(results):
    """Yields (title, what 1 is, [(engine, times worse)]) for every case that has a figure."""
    for row in results:
        values = {name: row[name] for name in ENGINES if row.get(name) is not None and row[name] > 0}
        if not values:
            continue
        higher = row["better"] == "higher"
        best = max if higher else min
        if row.get("floor"):
            reference, against, ratio_key = row["floor"], "floor", "_over_floor"
        else:
            reference, against, ratio_key = best(values.values()), "best engine", None
        bars = []
        for name, value in values.items():
            ratio = row[name + ratio_key] if ratio_key else value / reference
            bars.append((name, 1 / ratio if higher else ratio))
        yield row["case"], f"{figure(reference)} {row['unit']}, {against}", bars


def figure(value):
    """Four significant digits, no exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def number(value):
    return f"{value:.2g}×" if value < 10 else f"{value:,.0f}×"


def text(x, y, content, size=12, anchor="start", colour="#222", weight="normal"):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
        f'font-weight="{weight}">{escape(content)}</text>'
    )


def largest(results):
    """The results, and of each case only the one with the most objects."""
    kept = {}
    for row in results:
        if row["case"] not in kept or row["n"] > kept[row["case"]]["n"]:
            kept[row["case"]] = row
    return list(kept.values())


def draw(results):
    results = largest(results)
    cases = list(groups(results))
    if not cases:
        return None
    ratios = [ratio for _, _, bars in cases for _, ratio in bars]
    low = math.floor(math.log10(min([*ratios, 1])))
    high = math.ceil(math.log10(max([*ratios, 10])))
    width = LABEL_WIDTH + BAR_WIDTH + NUMBER_WIDTH
    height = TOP + sum(max(len(bars), 2) * BAR + GAP for _, _, bars in cases) + BOTTOM

    def x_of(ratio):
        return LABEL_WIDTH + BAR_WIDTH * (math.log10(ratio) - low) / (high - low)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        text(
            12,
            24,
            f"Times worse than the reference, {max(row['n'] for row in results):,} objects (logarithmic; shorter is "
            "better)",
            15,
            weight="bold",
        ),
    ]
    shown = [name for name in ENGINES if any(name == bar[0] for _, _, bars in cases for bar in bars)]
    for i, name in enumerate(shown):
        x = LABEL_WIDTH + i * 110
        out.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{ENGINES[name]}"/>')
        out.append(text(x + 17, 46, name))
    for power in range(low, high + 1):
        x = x_of(10**power)
        out.append(
            f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - BOTTOM}" '
            f'stroke="{"#444" if power == 0 else "#ddd"}"/>'
        )
        out.append(text(x, height - BOTTOM + 16, f"{10**power:,g}×", 11, "middle", "#555"))
    y = TOP
    for title, reference, bars in cases:
        rows = max(len(bars), 2)
        middle = y + rows * BAR / 2
        out.append(text(LABEL_WIDTH - 10, middle - 1, title, 12, "end", weight="bold"))
        out.append(text(LABEL_WIDTH - 10, middle + 11, f"1× = {reference}", 10, "end", "#666"))
        for i, (name, ratio) in enumerate(bars):
            start, end = sorted((x_of(1), x_of(ratio)))
            top = y + (rows - len(bars)) * BAR / 2 + i * BAR
            out.append(
                f'<rect x="{start:.1f}" y="{top + 1}" width="{max(end - start, 1.5):.1f}" '
                f'height="{BAR - 2}" fill="{ENGINES[name]}"/>'
            )
            out.append(text(end + 5, top + BAR - 3, number(ratio), 10, colour="#333"))
        y += rows * BAR + GAP
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as source:
        picture = draw(json.load(source))
    if picture is None:
        print("plot: no figures to draw", file=sys.stderr)
        return
    with open(sys.argv[2], "w", encoding="utf-8") as target:
        target.write(picture)
    print(f"plot: {sys.argv[2]}", file=sys.stderr)


if __name__ == "__main__":
    main()
