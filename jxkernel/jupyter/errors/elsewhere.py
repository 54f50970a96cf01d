"""Names and calls of other libraries: what is written here in their place.

Templates are filled with the user's own expressions: ``{x}`` is the array or module whose name was
asked for, ``{args}`` what the call was given, ``{0}`` and ``{1}`` its first and second argument.
A template that needs more than there is gives no advice.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping
from typing import Any

from jxkernel import nn, random
from jxkernel.jupyter.errors.rewrites import Names

__all__ = [
    "METHODS",
    "METHODS_NOW",
    "drawn",
    "filled",
    "function_of",
    "looked_up",
    "of_arguments",
    "of_keywords",
    "of_property",
    "one_tuple",
    "reshaped",
    "several_sizes",
    "unpacked",
]

METHODS: dict[str, str] = {
    "numpy": "np.asarray({x}) after the cell has run",
    "to_numpy": "np.asarray({x}) after the cell has run",
    "backward": "a gradient: %%grad, or jx.grad of a function",
    "detach": "lax.stop_gradient({x})",
    "append": "{x} = jnp.append({x}, {args})",
    "extend": "{x} = jnp.append({x}, {args})",
    "block_until_ready": "a traced value has no result to wait for; wait after the cell",
    "device": "%%jit --device chooses where the cell runs",
    "devices": "%%jit --device chooses where the cell runs",
    "to": "{x}.astype converts; %%jit --device chooses where the cell runs",
    "cuda": "%%jit --backend gpu chooses where the cell runs",
    "cpu": "%%jit --backend cpu chooses where the cell runs",
    "unsqueeze": "jnp.expand_dims({x}, {args})",
    "permute": "{x}.transpose({args})",
    "fill": "{x} = jnp.full_like({x}, {args})",
    "fill_": "{x} = jnp.full_like({x}, {args})",
    "zero_": "{x} = jnp.zeros_like({x})",
    "add_": "{x} = {x} + {args}",
    "sub_": "{x} = {x} - {args}",
    "mul_": "{x} = {x} * {args}",
    "div_": "{x} = {x} / {args}",
    "clamp": "{x}.clip({args})",
    "clamp_": "{x} = {x}.clip({args})",
    "float": "{x}.astype(float)",
    "double": "{x}.astype('float64')",
    "half": "{x}.astype('float16')",
    "int": "{x}.astype(int)",
    "long": "{x}.astype(int)",
    "bool": "{x}.astype(bool)",
    "mm": "{x} @ {0}",
    "matmul": "{x} @ {0}",
    "bmm": "{x} @ {0}",
    "clone": "{x}.copy()",
    "contiguous": "{x}",
    "values": "{x}",
    "numel": "{x}.size",
    "dim": "{x}.ndim",
    "map": "jx.vmap({0})({x})",
    "apply": "jx.vmap({0})({x})",
    "expand": "jnp.broadcast_to({x}, ({args}))",
    "head": "{x}[:{0}]",
    "tail": "{x}[-{0}:]",
    "index_select": "jnp.take({x}, {1}, axis={0})",
    "gather": "jnp.take_along_axis({x}, {1}, axis={0})",
}
"""What other libraries' arrays have, and what to write."""

METHODS_NOW = METHODS | {
    "numpy": "np.asarray({x})",
    "to_numpy": "np.asarray({x})",
    "backward": "a gradient: jx.grad of a function",
    "to": "{x}.astype converts, and jx.device_put moves to a device",
    "cuda": "jx.device_put moves an array to a device",
    "cpu": "jx.device_put moves an array to a device",
}
"""The same for an array that is not traced."""

_LAYERS = (
    "{x} has functions and no layers: keep the arrays of a layer in a dict, and write the layer as "
    "a function of that dict and its input"
)
_DRAWN = "make a key once with jx.random.key(0), and draw with jx.random.{0} from it"
_FUNCTIONS: dict[str, dict[str, str]] = {
    "numpy": {
        "cat": "{x}.concatenate({args})",
        "unsqueeze": "{x}.expand_dims({args})",
        "tensor": "{x}.array({args})",
        "Tensor": "{x}.array({args})",
        "FloatTensor": "{x}.array({args})",
        "as_tensor": "{x}.asarray({args})",
        "convert_to_tensor": "{x}.asarray({args})",
        "constant": "{x}.array({args})",
        "Variable": "{x}.array({args})",
        "from_numpy": "{x}.asarray({args})",
        "clamp": "{x}.clip({args})",
        "clip_by_value": "{x}.clip({args})",
        "mm": "{x}.matmul({args})",
        "bmm": "{x}.matmul({args})",
        "permute": "{x}.permute_dims({args})",
        "gather": "{x}.take_along_axis({0}, {2}, axis={1})",
        "scatter": "",
        "cast": "{0}.astype({1})",
        "reduce_mean": "{x}.mean({args})",
        "reduce_sum": "{x}.sum({args})",
        "reduce_max": "{x}.max({args})",
        "reduce_min": "{x}.min({args})",
        "float": "{x}.float32",
        "rand": _DRAWN.format("uniform"),
        "randn": _DRAWN.format("normal"),
        "random_normal": _DRAWN.format("normal"),
    },
    "numpy.linalg": {"inverse": "{x}.inv({args})"},
    "": {
        "no_grad": "leave it out: a derivative is made only where jx.grad asks for it",
        "Tensor": "jnp.array({args})",
        "tensor": "jnp.array({args})",
    },
    "random": {
        "rand": _DRAWN.format("uniform"),
        "randn": _DRAWN.format("normal"),
        "random": _DRAWN.format("uniform"),
        "standard_normal": _DRAWN.format("normal"),
    },
    "nn": {
        "Linear": _LAYERS,
        "Dense": _LAYERS,
        "Module": _LAYERS,
        "Sequential": _LAYERS,
        "Conv2d": _LAYERS,
        "Conv": _LAYERS,
        "Dropout": _LAYERS,
        "Embedding": _LAYERS,
        "BatchNorm": _LAYERS,
        "LayerNorm": _LAYERS,
        "cross_entropy": "",
    },
}
"""What modules of other libraries have, by the module of ours that was asked for it."""

_PROPERTIES = ("T", "mT", "real", "imag", "shape", "ndim", "dtype", "size", "nbytes")
_KEYWORDS = {"dim": "axis", "keepdim": "keepdims"}
_POSITIONS = {"max": "argmax", "min": "argmin"}


def drawn(name: str) -> str:
    """Return how numbers are drawn that ``numpy.random`` draws with a function of a name.

    Args:
      name: the function.
    """
    ours = {"rand": "uniform", "randn": "normal", "random": "uniform", "standard_normal": "normal"}
    named = ours.get(name, name)
    return _DRAWN.format(named) if named in random.__all__ else ""


def filled(template: str, array: str, arguments: list[ast.expr]) -> str:
    """Return a template with expressions of the user's; empty where it needs more than there are.

    Args:
      template: the template.
      array: what stands for ``{x}``.
      arguments: what the call was given.
    """
    written = [ast.unparse(one) for one in arguments]
    if "{args}" in template and not written:
        return ""
    try:
        return template.format(*written, x=array, args=", ".join(written))
    except IndexError:
        return ""


def function_of(module: str, name: str, node: Any) -> str | None:
    """Return what stands for a function that a module of ours lacks; None where that is not known.

    Args:
      module: the module, without ``jxkernel``.
      name: the function.
      node: the expression that failed.
    """
    node, arguments = looked_up(node)
    if node is None:
        return None
    written = ast.unparse(node.value)
    if module == "nn":
        around = getattr(node, "parent", None)
        asked = around.attr if name == "functional" and isinstance(around, ast.Attribute) else name
        ours = {one.lower().replace("_", ""): one for one in nn.__all__}
        found = ours.get(asked.lower().replace("_", ""))
        if found is not None:
            return f"{written}.{found}"
    template = _FUNCTIONS.get(module, {}).get(name)
    if template is None:
        return None
    return filled(template, written, arguments)


def looked_up(node: Any) -> tuple[ast.Attribute | None, list[ast.expr]]:
    """Return the lookup of an attribute that failed, and what its call was given.

    Args:
      node: the lookup, or its call, in the tree of ``executing``.
    """
    around = getattr(node, "parent", None)
    call = node if isinstance(node, ast.Call) else around
    attribute = node.func if isinstance(node, ast.Call) else node
    if not isinstance(attribute, ast.Attribute):
        return None, []
    given = call.args if isinstance(call, ast.Call) and call.func is attribute else []
    return attribute, given


def of_property(node: ast.AST | None, code: str, names: Names) -> str:
    """An attribute of an array that was called as a method."""
    match node:
        case ast.Call(func=ast.Attribute(value=of, attr=name), args=args) if name in _PROPERTIES:
            if name == "size":
                whole = f"{ast.unparse(of)}.shape"
                return f"{whole}[{ast.unparse(args[0])}]" if len(args) == 1 else whole
            return ast.unparse(node.func)
    return ""


def of_keywords(node: ast.AST | None, code: str, names: Names) -> str:
    """A call with PyTorch's names of arguments, by NumPy's."""
    if not isinstance(node, ast.Call):
        return ""
    call = copy.copy(node)
    call.keywords = [
        ast.keyword(_KEYWORDS.get(one.arg or "", one.arg), one.value) for one in node.keywords
    ]
    return ast.unparse(call)


def one_tuple(node: ast.AST | None, code: str, names: Names) -> str:
    """A call whose sizes or axes, given one by one behind the array, are one tuple."""
    match node:
        case ast.Call(func=function, args=[array, _, _, *_] as args, keywords=[]):
            sizes = ast.Tuple(args[1:], ast.Load())
            return ast.unparse(ast.Call(function, [array, sizes], []))
    return ""


def several_sizes(node: ast.AST | None, code: str, names: Names) -> str:
    """A call whose sizes, given as one tuple, are arguments of their own."""
    match node:
        case ast.Call(func=function, args=[ast.Tuple(elts=[_, _] as sizes)], keywords=[]):
            return ast.unparse(ast.Call(function, sizes, []))
    return ""


def reshaped(node: ast.AST | None, code: str, names: Names) -> str:
    """PyTorch's ``view``, which is a reshape."""
    match node:
        case ast.Call(func=ast.Attribute(value=of, attr="view"), args=[_, *_] as sizes):
            return ast.unparse(
                ast.Call(ast.Attribute(of, "reshape", ast.Load()), sizes, node.keywords)
            )
    return ""


def unpacked(node: ast.AST | None, code: str, names: Names) -> str:
    """Two names for what gives one value here: a maximum and its place, a value and a gradient."""
    match _statement(code):
        case ast.Assign(
            targets=[ast.Tuple(elts=[_, _]) as target],
            value=ast.Call(func=ast.Attribute(attr=name) as function) as call,
        ) if name in _POSITIONS:
            other = copy.copy(call)
            other.func = ast.Attribute(function.value, _POSITIONS[name], ast.Load())
            return f"{ast.unparse(target)[1:-1]} = {ast.unparse(call)}, {ast.unparse(other)}"
        case ast.Assign(
            targets=[ast.Tuple(elts=[_, _]) as target],
            value=ast.Call(func=ast.Call(func=ast.Attribute(attr="grad") as function)) as call,
        ):
            function.attr = "value_and_grad"
            return f"{ast.unparse(target)[1:-1]} = {ast.unparse(call)}"
    return ""


def of_arguments(name: str, module: ast.expr, told: Mapping[str, str]) -> str:
    """Return how a function that takes functions calls them; those of trees have names of loops."""
    if ast.unparse(module).rpartition(".")[2] in ("tree", "tree_util"):
        return (
            f"tree.{name} calls its function with one leaf of each tree: give it as many trees as "
            "the function has arguments"
        )
    return told[name]


def _statement(code: str) -> ast.stmt | None:
    try:
        (statement,) = ast.parse(code.strip()).body
    except (SyntaxError, ValueError):
        return None
    return statement
