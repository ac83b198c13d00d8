"""Line charts, as SVG, of what asv measured last.

``python -m benchmarks.plots`` reads the newest file of ``.asv/results`` that has them, and writes ``docs/plots``.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass, field
from html import escape
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Plot:
    """A benchmark whose values are drawn over parameter ``x``, a line for each value of ``lines``; others are fixed."""

    file: str
    benchmark: str
    title: str
    x: str
    lines: str
    fixed: dict[str, str] = field(default_factory=dict)


PLOTS = (
    Plot(
        "bulk-numbers",
        "bulk.Ratios.track_to_one_at_a_time",
        "Copied in bulk, to one at a time",
        x="length",
        lines="type",
        fixed={"direction": "write", "way": "bulk"},
    ),
    Plot(
        "bulk-strings",
        "bulk.Ratios.track_to_one_at_a_time",
        "Strings, to byte by byte",
        x="length",
        lines="way",
        fixed={"direction": "write", "type": "string"},
    ),
    Plot(
        "arenas",
        "arenas.Ratios.track_reused",
        "Memory that is kept, to fresh memory; 1 000 000 rows",
        x="step",
        lines="type",
        fixed={"rows": "1000000"},
    ),
    Plot(
        "footer",
        "footer.Ratios.track_to_stream",
        "A footer, to a stream that grows; columns x row groups",
        x="shape",
        lines="way",
        fixed={"kind": "footer"},
    ),
)

Series = dict[str, list[float | None]]

# Drawing: sizes in pixels. Colours that people who see few of them can tell apart (Okabe and Ito).
WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 160, 40, 50
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")


def latest(results: Path, benchmark: str) -> dict[str, Any] | None:
    """The newest result of a benchmark: its values, in the order of the product of its parameters, and these."""
    found = []
    for path in results.glob("*/*.json"):
        if path.name == "machine.json":
            continue
        content = json.loads(path.read_text())
        row = content.get("results", {}).get(benchmark)
        if row is not None:
            columns = dict(zip(content["result_columns"], row, strict=False))
            if columns.get("result"):
                found.append((content["date"], columns))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def series(plot: Plot, columns: dict[str, Any], names: list[str]) -> tuple[list[str], Series]:
    """Values of ``x``, and what was measured there for each line; None where nothing was."""
    # asv stores a parameter as Python prints it.
    axes = [[str(value).strip("'") for value in values] for values in columns["params"]]
    values = dict(zip(product(*axes), columns["result"], strict=True))
    along, lines = axes[names.index(plot.x)], axes[names.index(plot.lines)]
    found: Series = {}
    for line in lines:
        chosen = plot.fixed | {plot.lines: line}
        of_line = [values.get(tuple({**chosen, plot.x: x}[name] for name in names)) for x in along]
        of_line = [None if value is None or math.isnan(value) else value for value in of_line]
        if any(value is not None for value in of_line):
            found[line] = of_line
    return along, found


def draw(title: str, x_name: str, along: list[str], lines: Series) -> str:
    """A chart with a logarithmic axis of ratios: less is better."""
    values = [value for of_line in lines.values() for value in of_line if value is not None]
    low, high = math.floor(math.log2(min(values))), math.ceil(math.log2(max(1.0, *values)))
    high = max(high, low + 1)
    step = (WIDTH - LEFT - RIGHT) / max(len(along) - 1, 1)

    def x(i: int) -> float:
        return LEFT + i * step

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - math.log2(value)) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_name)}</text>',
    ]
    for power in range(low, high + 1, max(1, (high - low) // 8)):
        at, width = y(2.0**power), 2 if power == 0 else 1
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ccc" stroke-width="{width}"/>'
            f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{2.0**power:.3g}</text>'
        )
    for i, name in enumerate(along):
        parts.append(f'<text x="{x(i):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{escape(name)}</text>')
    for number, (name, of_line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        points = [(x(i), y(value)) for i, value in enumerate(of_line) if value is not None]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in points]
        at = TOP + 10 + 18 * number
        parts.append(
            f'<rect x="{WIDTH - RIGHT + 20}" y="{at - 8}" width="14" height="4" fill="{colour}"/>'
            f'<text x="{WIDTH - RIGHT + 40}" y="{at}">{escape(name)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def parameter_names(results: Path, benchmark: str) -> list[str]:
    """Names of the parameters of a benchmark."""
    names: list[str] = json.loads((results / "benchmarks.json").read_text())[benchmark]["param_names"]
    return names


def main() -> None:
    """Draw what there is."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=ROOT / ".asv" / "results")
    parser.add_argument("--to", type=Path, default=ROOT / "docs" / "plots")
    arguments = parser.parse_args()
    arguments.to.mkdir(parents=True, exist_ok=True)
    for plot in PLOTS:
        columns = latest(arguments.results, plot.benchmark)
        if columns is None:
            print(f"{plot.file}: no results of {plot.benchmark}")
            continue
        along, lines = series(plot, columns, parameter_names(arguments.results, plot.benchmark))
        path = arguments.to / f"{plot.file}.svg"
        path.write_text(draw(plot.title, plot.x, along, lines))
        print(path)


if __name__ == "__main__":
    main()
