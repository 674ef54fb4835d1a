#!/usr/bin/env python3
"""Draws results.json as an SVG: how each cost grows with the number of objects.

    plot_scaling.py results.json results-scaling.svg

One panel a case, both axes logarithmic, a line an engine and a dotted one for the floor. The grey line
behind them grows as the number of objects does: a cost that is steeper grows worse than linearly. Of a case
per operation a flat line is what one wishes for; of a whole case, one as steep as the grey line.
Needs nothing but Python.
"""

import json
import math
import sys

from plot import ENGINES, text

LINES = {"floor": "#000000", **ENGINES}
COLUMNS, WIDTH, HEIGHT = 4, 300, 210
LEFT, RIGHT, ABOVE, BELOW = 62, 12, 40, 30  # inside a panel
TOP = 70


def panels(results):
    """[(case, unit, {engine: [(n, value)]})] of all cases that were measured with more than one N."""
    cases = {}
    for row in results:
        _, lines = cases.setdefault(row["case"], (row["unit"], {}))
        for name in LINES:
            if row.get(name) is not None and row[name] > 0:
                lines.setdefault(name, []).append((row["n"], row[name]))
    found = []
    for case, (unit, lines) in cases.items():
        if len({n for points in lines.values() for n, _ in points}) > 1:
            found.append((case, unit, {name: sorted(points) for name, points in lines.items()}))
    return found


def short(value):
    """1.2k, 35M, 0.04: few characters for a label."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"


def bounds(values):
    """Whole powers of ten around the values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def panel(left, top, case, unit, lines):
    sizes = sorted({n for points in lines.values() for n, _ in points})
    low, high = bounds([value for points in lines.values() for _, value in points])
    first, last = math.log10(sizes[0]), math.log10(sizes[-1])
    inner_width, inner_height = WIDTH - LEFT - RIGHT, HEIGHT - ABOVE - BELOW
    bottom = top + ABOVE + inner_height

    def x_of(n):
        return left + LEFT + inner_width * (math.log10(n) - first) / (last - first)

    def y_of(value):
        return bottom - inner_height * (math.log10(value) - low) / (high - low)

    out = [text(left + LEFT, top + 16, case, 12, weight="bold"), text(left + LEFT, top + 30, unit, 10, colour="#666")]
    for power in range(low, high + 1, max(1, (high - low + 3) // 4)):
        y = y_of(10**power)
        out.append(f'<line x1="{left + LEFT}" y1="{y:.1f}" x2="{left + WIDTH - RIGHT}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(text(left + LEFT - 6, y + 4, short(10**power), 10, "end", "#555"))
    for n in sizes:
        out.append(f'<line x1="{x_of(n):.1f}" y1="{top + ABOVE}" x2="{x_of(n):.1f}" y2="{bottom}" stroke="#ddd"/>')
        out.append(text(x_of(n), bottom + 14, short(n), 10, "middle", "#555"))
    # As steep as N itself, from the lower left as far as the panel goes.
    rise = min(last - first, high - low)
    out.append(
        f'<line x1="{x_of(sizes[0]):.1f}" y1="{bottom}" x2="{x_of(sizes[0] * 10**rise):.1f}" '
        f'y2="{y_of(10 ** (low + rise)):.1f}" stroke="#ccc" stroke-width="4"/>'
    )
    for name, points in lines.items():
        path = " ".join(f"{x_of(n):.1f},{y_of(value):.1f}" for n, value in points)
        dotted = ' stroke-dasharray="2 3"' if name == "floor" else ""
        width = 2.5 if name == "objstore" else 1.5
        out.append(f'<polyline points="{path}" fill="none" stroke="{LINES[name]}" stroke-width="{width}"{dotted}/>')
        out += [
            f'<circle cx="{x_of(n):.1f}" cy="{y_of(value):.1f}" r="2.5" fill="{LINES[name]}"/>' for n, value in points
        ]
    return out


def draw(results):
    found = panels(results)
    if not found:
        return None
    width, height = COLUMNS * WIDTH, TOP + math.ceil(len(found) / COLUMNS) * HEIGHT + 10
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        text(
            12,
            24,
            "How each cost grows with the number of objects (both axes logarithmic; grey: as N grows)",
            15,
            weight="bold",
        ),
    ]
    shown = [name for name in LINES if any(name in lines for _, _, lines in found)]
    for i, name in enumerate(shown):
        out.append(f'<rect x="{LEFT + i * 110}" y="38" width="12" height="12" fill="{LINES[name]}"/>')
        out.append(text(LEFT + 17 + i * 110, 48, name))
    for i, (case, unit, lines) in enumerate(found):
        out += panel(i % COLUMNS * WIDTH, TOP + i // COLUMNS * HEIGHT, case, unit, lines)
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as source:
        picture = draw(json.load(source))
    if picture is None:
        return  # one N: nothing grows
    with open(sys.argv[2], "w", encoding="utf-8") as target:
        target.write(picture)
    print(f"plot: {sys.argv[2]}", file=sys.stderr)


if __name__ == "__main__":
    main()
