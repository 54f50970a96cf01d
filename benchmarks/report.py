"""The result page: rows as Markdown tables."""

from collections.abc import Sequence

from benchmarks.results import Row, Section

__all__ = ["exponent_text", "megabytes", "page", "seconds_text", "table"]


def seconds_text(seconds: float) -> str:
    """Return a time with a fitting unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3g} {unit}"
    raise AssertionError("the last unit takes every time")


def megabytes(amount: float) -> str:
    """Return bytes as megabytes."""
    return f"{amount / 1e6:.0f} MB"


def exponent_text(exponent: float) -> str:
    """Return a growth exponent."""
    return f"{exponent:.2f}"


def page(sections: Sequence[Section], setting: str) -> str:
    """Return the whole page."""
    parts = [
        "# Benchmarks",
        "<!-- Written by `make bench`; changes by hand are lost. -->",
        "Each ratio is jxkernel / jax: below 1, jxkernel is faster or smaller. The two libraries "
        "take turns in separate processes on one machine, with the same jaxlib, and a ratio is "
        "the median over the rounds, with the least and greatest beside it. Absolute figures "
        "are those of the machine; ratios and call counts carry over. Calls are function calls "
        "as cProfile counts them, which no other load on the machine disturbs.",
        setting,
    ]
    for section in sections:
        parts += [f"## {section.title}", section.note, table(section.rows)]
    return "\n\n".join(parts) + "\n"


def table(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    counted = any(row.our_calls is not None for row in rows)
    heads = ["metric", "goal", "ratio", "spread", "met", "jxkernel", "jax"]
    heads += ["calls, jxkernel", "calls, jax"] if counted else []
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    lines += [_cells(row, counted) for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Row, counted: bool) -> list[str]:
    goal = "–" if row.goal is None else f"{row.goal:.2f}"
    if row.ratio is None:
        return [row.name, goal, row.error or "not measured", *[""] * (4 + 2 * counted)]
    ratios = row.ratios
    cells = [
        row.name,
        goal,
        f"**{row.ratio:.2f}**",
        f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
        {True: "yes", False: "no", None: ""}[row.met],
        row.show(min(row.ours)),
        row.show(min(row.theirs)),
    ]
    return cells + [_count(row.our_calls), _count(row.their_calls)] * counted


def _count(calls: float | None) -> str:
    if calls is None:
        return ""
    return f"{calls:,.0f}" if calls >= 100 else f"{calls:.1f}"
