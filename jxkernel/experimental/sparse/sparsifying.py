"""``sparsify``: a function of arrays as one of sparse arrays.

The function is traced to a program with dense arguments of the same types; then the program is
applied to the sparse ones, equation by equation. An equation without sparse operands is applied as
it is; one with some needs a rule, which stands in a table below.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from jxkernel import numpy as jnp
from jxkernel.api.control_flow.branching import switch
from jxkernel.api.control_flow.looping import while_loop
from jxkernel.api.control_flow.scanning import scan
from jxkernel.core.avals import ShapedArray, abstractify
from jxkernel.core.jaxpr import ClosedJaxpr, Eqn, Literal
from jxkernel.core.primitive import Primitive
from jxkernel.core.trace import is_unknown
from jxkernel.experimental.sparse import computing, moving
from jxkernel.experimental.sparse.formats import BCOO, JAXSparse, with_data
from jxkernel.experimental.sparse.products import bcoo_dot_general
from jxkernel.transforms.composed import Composed
from jxkernel.transforms.stage import trace_flat
from jxkernel.tree import physical

__all__ = ["sparsify", "todense", "todense_p"]

_LEAF = physical.structure(0)

Rule = Callable[..., Any]


def _todense(*leaves: Any, tree: Any) -> Any:
    whole = tree.unflatten(leaves)
    return whole.todense() if isinstance(whole, JAXSparse) else whole


todense_p = Composed("todense", _todense, linear=(0,))


def todense(arr: Any) -> Any:
    """Return an array of all elements of a sparse array; an array as it is."""
    if isinstance(arr, JAXSparse):
        leaves, structure = physical.flatten(arr)
        return todense_p.bind(*leaves, tree=structure)
    # In a function that is sparsified an array may stand for a sparse one.
    return todense_p.bind(arr, tree=_LEAF) if is_unknown(arr) else jnp.asarray(arr)


def _dense(x: Any) -> Any:
    return x.todense() if _is_sparse(x) else jnp.asarray(x)


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def sparsify(f: Callable[..., Any], use_tracer: bool = False) -> Callable[..., Any]:
    """Return a function of arrays and sparse arrays that computes what ``f`` computes of arrays.

    Args:
      f: a function of arrays that gives arrays.
      use_tracer: accepted; it changes nothing.

    Returns:
      a function whose results are sparse where they follow from sparse arguments with zeros.

    Raises:
      NotImplementedError: an operation has no sparse result, or no rule; the message says which.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 1.0], [2.0, 0.0]]))
    >>> sparse.sparsify(lambda x: jnp.sin(x) @ x.T)(m)
    BCOO(float32[2, 2], nse=4)
    """

    @wraps(f)
    def sparsified(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = physical.flatten((args, kwargs), is_leaf=_is_sparse)
        values = [leaf.to_bcoo() if hasattr(leaf, "to_bcoo") else leaf for leaf in leaves]
        moving_at = [i for i, leaf in enumerate(values) if _is_array(leaf)]
        out_tree: Any = None

        def flat(*traced: Any) -> list[Any]:
            nonlocal out_tree
            full = list(values)
            for i, tracer in zip(moving_at, traced, strict=True):
                full[i] = tracer
            inner_args, inner_kwargs = structure.unflatten(full)
            outs, out_tree = physical.flatten(f(*inner_args, **inner_kwargs), is_leaf=_is_sparse)
            return [_dense(out) for out in outs]

        given = [values[i] for i in moving_at]
        closed = trace_flat(
            flat, list(map(_type, given)), name=getattr(f, "__name__", "sparsified")
        )
        return out_tree.unflatten(_apply(closed, given))

    return sparsified


def _type(x: Any) -> ShapedArray:
    """Return the type of an array, sparse or not."""
    return ShapedArray(x.shape, x.dtype) if _is_sparse(x) else abstractify(x)


def _is_array(leaf: Any) -> bool:
    return _is_sparse(leaf) or isinstance(leaf, jnp.ndarray) or hasattr(leaf, "__array__")


def _apply(closed: ClosedJaxpr, args: Sequence[Any]) -> list[Any]:
    """Apply a program to values of which some are sparse."""
    jaxpr = closed.jaxpr
    env = dict(zip(jaxpr.constvars, closed.consts, strict=True))
    env.update(zip(jaxpr.invars, args, strict=True))

    def read(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else env[atom]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, _applied(eqn, [*map(read, eqn.invars)]), strict=True))
    return [*map(read, jaxpr.outvars)]


def _applied(eqn: Eqn, values: list[Any]) -> Sequence[Any]:
    primitive = eqn.primitive
    if not any(map(_is_sparse, values)):
        out = primitive.bind(*values, **eqn.params)
        return out if primitive.multiple_results else [out]
    rule = _RULES.get(primitive.name)
    if rule is None and isinstance(primitive, Composed):
        return _apply(primitive.program(list(map(_type, values)), eqn.params), values)
    if rule is None:
        raise NotImplementedError(
            f"{primitive.name} of a sparse array has no sparse rule, or would give an array "
            "without zeros: sparse.todense(x) first"
        )
    out = rule(*values, **eqn.params)
    return out if primitive.multiple_results else [out]


# ---------------------------------------------------------------- rules


def _on_data(name: str) -> Rule:
    """Return the rule of a function of one argument that maps 0 to 0."""

    def rule(x: BCOO, **params: Any) -> BCOO:
        return computing.on_data(lambda data: _primitive(name).bind(data, **params), x)

    return rule


def _linear_on_data(name: str) -> Rule:
    def rule(x: BCOO, **params: Any) -> BCOO:
        return with_data(x, _primitive(name).bind(x.data, **params))

    return rule


def _primitive(name: str) -> Any:
    return Primitive.registry[name]


def _dot_general(
    x: Any, y: Any, *, dimension_numbers: Any, preferred_element_type: Any = None, **_: Any
) -> Any:
    return bcoo_dot_general(
        x, y, dimension_numbers=dimension_numbers, preferred_element_type=preferred_element_type
    )


def _reduce_sum(x: BCOO, *, axes: Sequence[int], **_: Any) -> Any:
    return moving.sparse_sum(x, tuple(axes))


def _broadcast(
    x: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], **_: Any
) -> BCOO:
    return moving.bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=broadcast_dimensions)


def _concatenate(*operands: Any, dimension: int, **_: Any) -> BCOO:
    mats = [one if _is_sparse(one) else BCOO.fromdense(one, nse=one.size) for one in operands]
    return moving.bcoo_concatenate(mats, dimension=dimension)


def _stack(*operands: Any, axis: int, **_: Any) -> BCOO:
    mats = [one if _is_sparse(one) else BCOO.fromdense(one, nse=one.size) for one in operands]
    shape = list(mats[0].shape)
    shape.insert(axis, 1)
    old = [a for a in range(len(shape)) if a != axis]
    wide = [
        moving.bcoo_broadcast_in_dim(mat, shape=shape, broadcast_dimensions=old) for mat in mats
    ]
    return moving.bcoo_concatenate(wide, dimension=axis)


def _dynamic_slice(x: BCOO, *starts: Any, slice_sizes: Sequence[int], **_: Any) -> BCOO:
    return moving.bcoo_dynamic_slice(x, starts, slice_sizes)


def _integer_pow(x: BCOO, *, y: int) -> BCOO:
    return computing.power(x, y)


def _scan(
    *args: Any,
    jaxpr: ClosedJaxpr,
    length: int,
    num_carry: int,
    num_consts: int,
    reverse: bool,
    unroll: Any,
    **_: Any,
) -> list[Any]:
    consts, carry = args[:num_consts], args[num_consts : num_consts + num_carry]

    def body(carry: Any, xs: Any) -> Any:
        outs = _apply(jaxpr, [*consts, *carry, *xs])
        return tuple(outs[:num_carry]), tuple(outs[num_carry:])

    xs = tuple(map(_dense, args[num_consts + num_carry :]))
    last, ys = scan(body, tuple(carry), xs, length=length, reverse=reverse, unroll=unroll)
    return [*last, *ys]


def _cond(index: Any, *operands: Any, branches: Sequence[ClosedJaxpr], **_: Any) -> list[Any]:
    choices = [lambda *args, one=one: tuple(_apply(one, args)) for one in branches]
    return list(switch(jnp.asarray(index, "int32"), choices, *operands))


def _while(
    *args: Any,
    cond_jaxpr: ClosedJaxpr,
    cond_nconsts: int,
    body_jaxpr: ClosedJaxpr,
    body_nconsts: int,
    **_: Any,
) -> list[Any]:
    test, rest = args[:cond_nconsts], args[cond_nconsts:]
    consts, carry = rest[:body_nconsts], rest[body_nconsts:]
    return list(
        while_loop(
            lambda c: _apply(cond_jaxpr, [*test, *c])[0],
            lambda c: tuple(_apply(body_jaxpr, [*consts, *c])),
            tuple(carry),
        )
    )


def _inlined(parameter: str) -> Rule:
    return lambda *args, **params: _apply(params[parameter], args)


_ZERO_PRESERVING = (
    "abs asin asinh atan atanh cbrt ceil conj erf erf_inv expm1 floor imag log1p real round sign "
    "sin sinh sqrt square tan tanh"
)
_LINEAR = "convert_element_type copy real imag conj reduce_precision"

_RULES: dict[str, Rule] = {
    **{name: _on_data(name) for name in _ZERO_PRESERVING.split()},
    **{name: _linear_on_data(name) for name in _LINEAR.split()},
    "add": computing.add,
    "add_any": computing.add,
    "broadcast_in_dim": _broadcast,
    "checkpoint": _inlined("jaxpr"),
    "concatenate": _concatenate,
    "cond": _cond,
    "custom_jvp_call": _inlined("jaxpr"),
    "custom_vjp_call": _inlined("jaxpr"),
    "div": computing.divide,
    "dot_general": _dot_general,
    "dynamic_slice": _dynamic_slice,
    "integer_pow": _integer_pow,
    "jit": _inlined("jaxpr"),
    "mul": computing.multiply,
    "neg": computing.negative,
    "reduce_sum": _reduce_sum,
    "reshape": lambda x, *, new_sizes, dimensions=None, **_: moving.bcoo_reshape(
        x, new_sizes=new_sizes, dimensions=dimensions
    ),
    "rev": lambda x, *, dimensions: moving.bcoo_rev(x, dimensions),
    "scan": _scan,
    "slice": lambda x, **params: moving.bcoo_slice(x, **params),
    "squeeze": lambda x, *, dimensions: moving.bcoo_squeeze(x, dimensions=dimensions),
    "stack": _stack,
    "sub": computing.subtract,
    "todense": lambda x, *, tree: x.todense(),
    "transpose": lambda x, *, permutation: moving.bcoo_transpose(x, permutation=permutation),
    "while": _while,
}
"""By the name of the primitive, from values and parameters to a result, or to a list of them."""
