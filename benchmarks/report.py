"""The result page: rows as Markdown tables."""

from collections.abc import Sequence

from benchmarks.results import Row, Section

__all__ = ["bytes_text", "exponent_text", "megabytes", "page", "seconds_text", "table", "updated"]


def seconds_text(seconds: float) -> str:
    """Return a time with a fitting unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1 or unit == "µs":
            return f"{seconds * scale:.3g} {unit}"
    raise AssertionError("the last unit takes every time")


def megabytes(amount: float) -> str:
    """Return bytes as megabytes."""
    return f"{amount / 1e6:.0f} MB"


def bytes_text(amount: float) -> str:
    """Return a smaller number of bytes."""
    return f"{amount / 1e3:.0f} KB"


def exponent_text(exponent: float) -> str:
    """Return a growth exponent."""
    return f"{exponent:.2f}"


def page(sections: Sequence[Section], setting: str) -> str:
    """Return the whole page."""
    parts = [
        "# Benchmarks",
        "<!-- Written by `make bench`; changes by hand are lost. -->",
        "Each ratio is jxkernel / jax: below 1, jxkernel is faster or smaller. The two libraries "
        "take turns in separate processes on one machine, with the same jaxlib: batch by batch, "
        "each at rest while the other is timed. A round's figure is the median of its batches, a "
        "ratio the median over the rounds, with the least and greatest beside it. Bold is what the "
        "goal is for: a ratio, or, where the goal says *at most* with a unit, the figure itself, "
        "and the ratio beside it is no goal. Absolute figures "
        "are those of the machine; ratios and call counts carry over. Calls are function calls "
        "as cProfile counts them, which no other load on the machine disturbs; instructions, where "
        "`--instructions` asked for them, are valgrind's.",
        setting,
    ]
    return "\n\n".join([*parts, *map(_section, sections)]) + "\n"


def updated(old: str, sections: Sequence[Section], setting: str, order: Sequence[str]) -> str:
    """Return a page with some sections measured anew and the others as they were.

    Args:
      old: the page.
      sections: what was measured.
      setting: a sentence on what was compared where; added where the page does not say it.
      order: the titles of all sections in order.
    """
    head, *texts = old.rstrip("\n").split("\n\n## ")
    found = {text.split("\n", 1)[0]: f"## {text}" for text in texts}
    for section in sections:
        text = _section(section)
        if setting not in head:
            text = text.replace(section.note, f"{section.note} {setting}", 1)
        found[section.title] = text
    ordered = sorted(found, key=lambda title: order.index(title) if title in order else len(order))
    return "\n\n".join([head, *(found[title] for title in ordered)]) + "\n"


def _section(section: Section) -> str:
    rows = section.text or table(section.rows, section.heads)
    return "\n\n".join([f"## {section.title}", section.note, rows])


def table(rows: Sequence[Row], names: tuple[str, str] = ("jxkernel", "jax")) -> str:
    """Return rows as a Markdown table, with a pair of columns for each kind of exact count."""
    kinds = [kind for kind in _COUNTS if any(kind in row.counts for row in rows)]
    heads = ["metric", "goal", "ratio", "spread", "met", *names]
    for kind in kinds:
        heads += [f"{kind}, {name}" for name in names]
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1)]
    lines += [_cells(row, kinds) for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(row: Row, kinds: Sequence[str]) -> list[str]:
    goal, is_absolute = "–", False
    if row.goal is not None:
        is_absolute = row.absolute
        goal = f"at most {row.show(row.goal)}" if is_absolute else f"{row.goal:.2f}"
    if row.ratio is None:
        return [row.name, goal, row.error or "not measured", *[""] * (4 + 2 * len(kinds))]
    ratios = row.ratios
    ratio, figure = f"{row.ratio:.2f}", row.show(min(row.ours))
    cells = [
        row.name,
        goal,
        ratio if is_absolute else f"**{ratio}**",
        f"{ratios[0]:.2f} to {ratios[-1]:.2f}",
        {True: "yes", False: "no", None: ""}[row.met],
        f"**{figure}**" if is_absolute else figure,
        row.show(min(row.theirs)),
    ]
    for kind in kinds:
        cells += (
            [_COUNTS[kind](count) for count in row.counts[kind]] if kind in row.counts else ["", ""]
        )
    return cells


def _calls_text(calls: float) -> str:
    return f"{calls:,.0f}" if calls >= 100 else f"{calls:.1f}"


def _instructions_text(instructions: float) -> str:
    if instructions >= 1e7:
        return f"{instructions / 1e6:,.0f} M"
    return f"{instructions / 1e3:,.1f} k"


_COUNTS = {"calls": _calls_text, "instructions": _instructions_text}
