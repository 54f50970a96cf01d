"""Whole programs of the campaign: arguments, a function of them, and a way to run it."""

from random import Random

from tests.campaign.calls import call
from tests.compose import nesting, programs, wide
from tests.compose.arguments import KINDS, arguments
from tests.compose.writing import Writer

WAYS = {"shape": "jax.eval_shape(f, {args})", "eager": "f", "jit": "jax.jit(f)"}
MORE = 7
"""How many further arguments of the same types a program is given that computes values."""

X64 = "jax.config.update('jax_enable_x64', True)\n"
FORWARD_OR_BACK = (*nesting.ANY_ORDER, nesting.WHILE, nesting.OWN_VJP)
NESTED = (*FORWARD_OR_BACK, *nesting.BOXED, *nesting.COMPLEX)


def generate(seed: str, way: str) -> str:
    """Return the source of a program, which sets ``result``.

    Args:
      seed: what it follows from.
      way: how it runs: ``shape`` for types alone, ``eager`` or ``jit``; or ``call`` for one call
        of any function, most likely a wrong one.
    """
    if way == "call":
        return call(seed)
    random = Random(f"{seed}:{way}")
    smooth = random.randint(0, 9) == 0
    edges = not smooth and random.randint(0, 2) == 0
    more = 0 if way == "shape" else MORE
    kinds = "f" if smooth else KINDS
    args = [arguments(random, edges, kinds, more=more) for _ in range(random.randint(1, 2))]
    names = ["x", "y"][: len(args)]
    scope = [a.called(n) for n, (a, *_) in zip(names, args, strict=True)]
    plain = programs.PLAIN if smooth else wide.PLAIN
    writer = Writer(random, plain, NESTED, scope, 0.35 if way == "shape" else 0.2)
    for _ in range(random.randint(1, 4)):
        writer.statement()
    function = f"def f({', '.join(names)}):\n{writer.finish(whole=True)}\n"
    switch = X64 if random.randint(0, 3) == 0 else ""
    if way == "shape":
        lines = [f"{n} = {a.text}\n" for n, (a,) in zip(names, args, strict=True)]
        run = WAYS[way].format(args=", ".join(names))
        return f"{switch}{''.join(lines)}{function}result = {run}"
    rows = ",\n    ".join(
        f"({''.join(f'{a.text}, ' for a in row)})" for row in zip(*args, strict=True)
    )
    return f"{switch}{function}g = {WAYS[way]}\nresult = [g(*a) for a in [\n    {rows},\n]]"
