"""The chart of the README: cold starts and warm latency as bars, in SVG, readable on white and on
black.
"""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from .contestants import COLD, OURS
from .promises import Results
from .stats import find

WIDTH, LABEL, ROW, GAP = 760, 175, 22, 34
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.number { font-variant-numeric: tabular-nums }
.bar { fill: #8c959f }
.ours { fill: #0969da }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .bar { fill: #6e7681 }
  .ours { fill: #58a6ff }
}
"""


class Bar(NamedTuple):
    """One bar: whose it is, its length in the panel's unit, and the text at its end."""

    name: str
    value: float
    text: str


class Panel(NamedTuple):
    """Bars of one scale under a title."""

    title: str
    bars: list[Bar]


def panels(results: Results) -> list[Panel]:
    """What the chart shows of the results; a panel without figures is left out."""
    found = [
        Panel(
            f"Cold start to first answer, {label}, 2 CPUs (seconds)",
            _bars(results["cold"], 1, "{:.2f} s", event=event, cpus=2, cache="warm"),
        )
        for event, label in (("direct", "direct event"), ("http", "HTTP event"))
    ]
    found += [
        Panel(
            f"One text of {tokens} tokens, warm, 1 thread (milliseconds)",
            _bars(results["warm"], 1000, "{:.1f} ms", tokens=tokens, threads=1, part="answer"),
        )
        for tokens in (16, 128)
    ]
    return [panel for panel in found if panel.bars]


def svg(panels: Sequence[Panel]) -> str:
    """The picture."""
    parts, top = [], 8
    for panel in panels:
        parts.append(_text(0, top + 14, panel.title, "title"))
        top += ROW + 4
        longest = max(bar.value for bar in panel.bars)
        for bar in panel.bars:
            length = max(1.0, bar.value / longest * (WIDTH - LABEL - 80))
            kind = "bar ours" if bar.name == OURS else "bar"
            parts.append(_text(LABEL - 8, top + 15, bar.name, "", ' text-anchor="end"'))
            parts.append(
                f'<rect class="{kind}" x="{LABEL}" y="{top + 2}" '
                f'width="{length:.1f}" height="{ROW - 5}"/>'
            )
            parts.append(_text(LABEL + length + 6, top + 15, bar.text, "number"))
            top += ROW
        top += GAP - ROW + 8
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" '
        f'viewBox="0 0 {WIDTH} {top}" role="img" '
        f'aria-label="Cold start and latency, ours and the alternatives">\n'
        f"<style>{STYLE}</style>\n{body}\n</svg>\n"
    )


def _bars(rows: Sequence[dict[str, Any]], scale: float, form: str, **keys: Any) -> list[Bar]:
    found = []
    for name in [*COLD, "openvino int8", "openvino float32"]:
        row = find(rows, who=name, **keys)
        if row:
            found.append(Bar(name, row["median"] * scale, form.format(row["median"] * scale)))
    return found


def _text(x: float, y: float, text: str, kind: str, more: str = "") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y}"{more}>{escape(text)}</text>'
