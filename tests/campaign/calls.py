"""Random calls of the whole public API, most of them wrong in one place or another."""

import importlib
import inspect
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

from tools.checkout import ROOT

SURFACE = ROOT / "tools" / "public_surface.txt"
PARTS = (
    "",
    "ad_checkpoint custom_batching custom_derivatives flatten_util image lax lax.linalg nn",
    "nn.initializers numpy numpy.fft numpy.linalg ops random scipy scipy.cluster.vq scipy.fft",
    "scipy.integrate scipy.linalg scipy.ndimage scipy.optimize scipy.signal scipy.sparse.linalg",
    "scipy.special scipy.stats scipy.stats.norm scipy.stats.beta sharding tree tree_util dtypes",
)
MODULES = tuple(name for part in PARTS for name in part.split(" "))
EFFECTS = (
    "alias",
    "save",
    "tofile",
    "load",
    "start",
    "stop",
    "print",
    "clear",
    "live",
    "breakpoint",
    "mesh",
)
EFFECTS_TOO = (
    "fromfile",
    "memory",
    "config",
    "register",
    "enable",
    "disable",
    "get_include",
    "guard",
    "info",
    # What these set stays, and no later program is the same.
    "set_mesh",
    "user_context",
)

ARRAYS = (
    "jnp.ones(3)",
    "jnp.ones((2, 3))",
    "jnp.ones((3, 3), 'int32')",
    "np.ones((2, 3), 'float32')",
    "jnp.array(1.5)",
    "1.5",
    "2",
    "jnp.ones((2, 3), 'bfloat16')",
    "jnp.ones(3, 'complex64')",
    "np.array([True, False, True])",
)
FUNCTIONS = ("lambda x: x", "jnp.sin", "lambda *a: a[0]", "lambda x, y: (x, y)", "lambda: 1.0")
KNOWN = {
    "axis": ("0", "-1", "1", "None"),
    "axes": ("(0, 1)", "0", "(1, 0)", "(0,)"),
    "shape": ("(2, 3)", "(3,)", "3", "()"),
    "dtype": ("'float32'", "jnp.int32", "float", "'bfloat16'", "None"),
    "key": ("jax.random.key(0)", "jax.random.PRNGKey(0)"),
    "fun": FUNCTIONS,
    "f": FUNCTIONS,
    "func": FUNCTIONS,
    "tree": ("[1, (2, {'a': 3})]", "None", "{'a': jnp.ones(2)}"),
    "mode": ("'clip'", "'fill'", "'same'", "'full'"),
    "indices": ("jnp.array([0, 1])", "0", "np.array([1])"),
    "keepdims": ("True", "False"),
    "precision": ("None", "'highest'"),
    "size": ("2", "None"),
    "mesh": ("jax.make_mesh((1,), ('a',))",),
}
WRONG = (
    "'abc'",
    "b'x'",
    "None",
    "object()",
    "{}",
    "{'a': 1}",
    "[1, 2]",
    "['a']",
    "(3, -1)",
    "lambda: 0",
    "jax.random.key(0)",
    "np.array(['a'])",
    "np.array([None])",
    "np.datetime64(1, 's')",
    "jnp.ones((2, 3, 4))",
    "jnp.ones(0)",
    "1j",
    "True",
    "float('nan')",
    "2**70",
    "int",
    "'float33'",
    "set()",
    "range(3)",
    "jnp",
    "slice(1)",
    "...",
    "np.float32",
    "jax.ShapeDtypeStruct((2, ), 'f4')",
    "-7",
    "(0, 0)",
    "[[1], [2, 3]]",
    "jnp.sin",
    "np.ma.array([1, 2], mask=[0, 1])",
    "np.zeros((1, 2, 3, 4, 5))",
    "99",
    "()",
    "[jnp.ones(2), jnp.ones(3)]",
    "{'a': jnp.ones(2)}",
    "jnp.ones(3)>0",
    "type('T', (), {})()",
    "jax.P('a')",
    "iter([1])",
    "np.array([1, 'a'], object)",
    "jnp.float32",
    "'x'*200",
    "Exception('e')",
    "np.float64(0)",
    "jax.jit",
)


def _callable(module: str, name: str) -> Callable[..., Any] | None:
    try:
        value = getattr(importlib.import_module(f"jxkernel.{module}".rstrip(".")), name)
    except (ImportError, AttributeError):
        return None
    left_out = name.startswith(EFFECTS) or any(word in name for word in EFFECTS_TOO)
    left_out = left_out or (isinstance(value, type) and issubclass(value, BaseException))
    # What C++ makes without a word of ours between.
    left_out = left_out or name.endswith(("Key", "Sharding"))
    return value if callable(value) and not left_out else None


@cache
def functions() -> dict[str, inspect.Signature]:
    """Return the public functions, by how a program calls them, with their parameters."""
    found = {}
    for line in SURFACE.read_text(encoding="utf-8").split():
        module, _, name = line.removeprefix("jxkernel").lstrip(".").rpartition(".")
        value = _callable(module, name) if module in MODULES else None
        if value is not None:
            try:
                found[f"jax.{module}.{name}".replace("..", ".")] = inspect.signature(value)
            except (TypeError, ValueError):
                continue
    return found


def _argument(random: Random, name: str, rate: float) -> str:
    if random.random() < rate:
        return random.choice(WRONG)
    known = KNOWN.get(name.rstrip("0123456789s_")) or KNOWN.get(name)
    return random.choice(known or ARRAYS)


def _arguments(random: Random, signature: inspect.Signature) -> list[str]:
    """Return arguments as text: some are wrong, missing, too many or of another's name."""
    rate = random.choice((0.0, 0.15, 0.5))
    written: list[str] = []
    for name, parameter in signature.parameters.items():
        value = _argument(random, name, rate)
        if parameter.kind is parameter.VAR_POSITIONAL:
            written += [_argument(random, name, rate) for _ in range(random.randint(0, 2))]
        elif parameter.kind is parameter.VAR_KEYWORD:
            continue
        elif parameter.default is parameter.empty and parameter.kind is not parameter.KEYWORD_ONLY:
            written.append(value)
        elif random.randint(0, 3) == 0 and parameter.kind is not parameter.POSITIONAL_ONLY:
            written.append(f"{name}={value}")
    positional = [a for a in written if not _named(a)]
    named = [a for a in written if _named(a)]
    match random.randint(0, 14):
        case 0:
            named.append(f"{random.choice(['axs', 'keepdim', 'dtyp', 'foo'])}=1")
        case 1 if positional:
            positional.pop()
        case 2:
            positional.append(random.choice((*ARRAYS, *WRONG)))
    return [*positional, *dict.fromkeys(named)]


def _named(text: str) -> bool:
    return text.split("=")[0].isidentifier() and "=" in text


def call(seed: str) -> str:
    """Return the source of a program that calls one function."""
    random = Random(f"{seed}:call")
    table = functions()
    name = random.choice(list(table))
    arguments = _arguments(random, table[name])
    traced = [n for n, text in enumerate(arguments) if text in ARRAYS]
    if traced and random.randint(0, 2) == 0:
        place = random.choice(traced)
        x, arguments[place] = arguments[place], "x"
        way = random.choice(("jax.jit(f)", "jax.vmap(f)", "jax.grad(f)", "jax.jit(jax.vmap(f))"))
        return f"def f(x):\n    return {name}({', '.join(arguments)})\nresult = {way}({x})"
    return f"result = {name}({', '.join(arguments)})"
