"""Internal names of the reference that released libraries import: what each means here."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from jxkernel import dtypes, source
from jxkernel.api.shardings import as_sharding
from jxkernel.dtypes import as_dtype, finfo
from jxkernel.numpy.promotion import promote_complex, promote_inexact
from jxkernel.primitives.elementwise.convert import stage
from jxkernel.records import record
from jxkernel.runtime import joined
from jxkernel.runtime.arrays import rebuild
from jxkernel.tree import PyTreeDef, registry, structure
from jxkernel.tree import map as tree_map

__all__ = ["ROWS", "Row"]


@record()
class Row:
    """A name of an internal module.

    Attributes:
      home: the module of jxkernel that has it, by its name below the package; ``""`` is the
        package itself.
      name: its name there; empty for the module.
      libraries: those that import it, by the names of their distributions.
    """

    home: str
    name: str
    libraries: str


def api_boundary(function: Any = None, **_: Any) -> Any:
    """Return a function as it is: frames of this package are hidden by their files."""
    return api_boundary if function is None else function


def include_frame(frame: Any) -> bool:
    """Return whether a frame is of the user's code."""
    return source.is_user_code(frame.f_code)


def reconstruct_array(
    function: Callable[..., Any], args: Any, state: Any, how: dict[str, Any]
) -> Any:
    """Return the array of a pickle that the ``jax`` package wrote."""
    value = function(*args)
    value.__setstate__(state)
    # A dtype that comes out of a pickle is no built-in object.
    return rebuild(value.astype(as_dtype(value.dtype.name)), how.get("weak_type", False))


def full_lower(value: Any) -> Any:
    """Return a value: no tracer here stands for one that is known."""
    return value


def canonicalize_sharding(sharding: Any, api_name: str, check_mesh_consistency: bool = True) -> Any:
    """Return the sharding that a spec means over the mesh that is set; None where it says none."""
    return as_sharding(sharding, api_name)


def supports_inf(dtype: Any) -> bool:
    """Return whether a floating dtype has infinities."""
    return as_dtype(dtype).type(float("inf")) > finfo(dtype).max


def infer_argnums_and_argnames(
    signature: inspect.Signature, argnums: Any, argnames: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return positions and names of the same parameters, of which one or the other is given."""
    positional = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    names = [name for name, one in signature.parameters.items() if one.kind in positional]
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums or ())
    named = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    if argnums is None:
        numbers = tuple(names.index(name) for name in named if name in names)
    if argnames is None:
        named = tuple(names[n] for n in numbers if 0 <= n < len(names))
    return numbers, named


def promote_dtypes_complex(*args: Any) -> list[Any]:
    """Return arrays in their common dtype, made complex."""
    return list(map(stage, promote_complex("promote_dtypes_complex", *args)))


def promote_dtypes_inexact(*args: Any) -> list[Any]:
    """Return arrays in their common dtype, integers and booleans made floating."""
    return list(map(stage, promote_inexact("promote_dtypes_inexact", *args)))


class _StandIn:
    """A primitive of the reference that is done otherwise here: rules given to it do nothing."""

    def replace_rule(self, name: str, rule: Any) -> None:
        """Keep nothing."""


class _Joined:
    """What the processes that run one program know of each other."""

    @property
    def client(self) -> Any:
        """The connection to the coordination service; None where the process works alone."""
        group = joined()
        return None if group is None else group.client

    @property
    def process_id(self) -> int:
        """The number of this process."""
        group = joined()
        return 0 if group is None else group.rank

    @property
    def num_processes(self) -> int:
        """How many processes there are."""
        group = joined()
        return 1 if group is None else group.size


@record()
class _Entry:
    to_iter: Callable[[Any], tuple[Sequence[Any], Any]]
    from_iter: Callable[[Any, Sequence[Any]], Any]


class _Nodes:
    """The types that are nodes of pytrees, and how each is taken apart and put together."""

    def __contains__(self, kind: Any) -> bool:
        return registry.is_node(kind)

    def __getitem__(self, kind: type) -> _Entry:
        if kind not in self:
            raise KeyError(kind)

        def together(metadata: Any, children: Sequence[Any]) -> Any:
            whole = PyTreeDef.from_node_data_and_children(
                registry, (kind, metadata), [structure(0)] * len(children)
            )
            return whole.unflatten(children)

        return _Entry(registry.flatten_one_level, together)

    def get(self, kind: type, default: Any = None) -> Any:
        """Return how a type is taken apart, or a default for a leaf."""
        try:
            return self[kind]
        except KeyError:
            return default


class SupportsDType(Protocol):
    """What has a dtype."""

    @property
    def dtype(self) -> Any:
        """The dtype."""


class TypedLiteral:
    """A Python number with a dtype: none here has one, so nothing is an instance."""


class EArray:
    """An array of an extended dtype that another package defines: nothing here is one."""

    def __init__(self, *_: Any) -> None:
        raise NotImplementedError("random keys are the one extended dtype here")


def _refuse_flattree(*_: Any) -> NoReturn:
    raise NotImplementedError(
        "the parameters of a scan are its program and its counts of constants and carries here: "
        "jxkernel.lax.scan makes one of another body"
    )


def refuse_attention(*_: Any, **__: Any) -> NoReturn:
    """Refuse: the kernels of attention that the reference ships are made for TPUs."""
    raise NotImplementedError(
        "splash attention is a kernel for TPUs, whose compiler nothing here has: write "
        "jax.nn.dot_product_attention, or a kernel of your own by jax.experimental.pallas"
    )


_CLOSE = {"bfloat16": 1e-2, "float16": 1e-3, "float32": 1e-6, "complex64": 1e-6}


def check_close(xs: Any, ys: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Check that two trees hold about the same numbers.

    Args:
      xs: a tree of arrays and numbers.
      ys: another of the same structure.
      atol: by how much they may differ: a number, or one for each name of a dtype.
      rtol: likewise, as a part of ``ys``.
      err_msg: what to say besides.

    Raises:
      AssertionError: two arrays differ in their shape, or by more.
    """

    def within(given: Any, dtype: np.dtype[Any]) -> float:
        if isinstance(given, dict):
            given = {as_dtype(key).name: value for key, value in given.items()}.get(dtype.name)
        usual = 1e-15 if dtypes.issubdtype(dtype, np.inexact) else 0.0
        return _CLOSE.get(dtype.name, usual) if given is None else given

    def check(x: Any, y: Any) -> None:
        x, y = np.asarray(x), np.asarray(y)
        allowed = within(atol, x.dtype), within(rtol, x.dtype)
        x, y = (one.astype(np.float32) if one.dtype.kind == "V" else one for one in (x, y))
        np.testing.assert_allclose(x, y, atol=allowed[0], rtol=allowed[1], err_msg=err_msg)

    tree_map(check, xs, ys)


exclude_paths: list[str] = []
backends_made: dict[str, Any] = {}
result_handlers: dict[Any, Any] = {}
global_state = _Joined()
nodes = _Nodes()
stop_gradient_p = _StandIn()
flattree_of_nones = flattree_of_groups = _refuse_flattree
DType = dtypes.DType

_HERE = "_alias_internals"
_SPLASH = "experimental.pallas.ops.tpu.splash_attention"

ROWS: dict[str, dict[str, Row]] = {
    "_src.ad_util": {"stop_gradient_p": Row(_HERE, "stop_gradient_p", "lineax")},
    "_src.api_util": {
        "infer_argnums_and_argnames": Row(_HERE, "infer_argnums_and_argnames", "e3nn-jax"),
    },
    "_src.array": {"_reconstruct_array": Row(_HERE, "reconstruct_array", "pickles of arrays")},
    "_src.checkify": {
        "Error": Row("experimental.checkify", "Error", "flax"),
        "JaxException": Row("experimental.checkify", "JaxRuntimeError", "flax"),
        "checkify": Row("experimental.checkify", "checkify", "flax"),
        "user_checks": Row("experimental.checkify", "user_checks", "flax"),
    },
    "_src.compiler": {},  # chex replaces what it finds there
    "_src.core": {
        "AbstractValue": Row("core", "AbstractValue", "quax"),
        "Primitive": Row("core", "Primitive", "jax-md"),
        "ShapedArray": Row("core", "ShapedArray", "flax jax-md quadax quax"),
        "Trace": Row("core", "Trace", "quax"),
        "TraceTag": Row("extend.core", "TraceTag", "quax"),
        "Tracer": Row("core", "Tracer", "quax"),
        "concrete_or_error": Row("extend.core", "concrete_or_error", "dynamiqs"),
        "full_lower": Row(_HERE, "full_lower", "quax"),
        "jaxpr_as_fun": Row("core", "jaxpr_as_fun", "quax"),
        "set_current_trace": Row("extend.core", "set_current_trace", "quax"),
        "take_current_trace": Row("extend.core", "take_current_trace", "quax"),
        "trace_state_clean": Row("core.trace", "evaluating", "numpyro"),
    },
    "_src.dispatch": {"wait_for_tokens": Row("", "effects_barrier", "equinox")},
    "_src.distributed": {"global_state": Row(_HERE, "global_state", "orbax-checkpoint")},
    "_src.dtypes": {
        "DType": Row(_HERE, "DType", "flax"),
        "ExtendedDType": Row("dtypes", "ExtendedDType", "flax"),
        "TypePromotionError": Row("dtypes", "TypePromotionError", "equinox"),
        "dtype": Row("dtypes", "dtype", "optree"),
        "extended": Row("dtypes", "extended", "flax"),
        "finfo": Row("dtypes", "finfo", "flax"),
        "result_type": Row("dtypes", "result_type", "optree"),
        "supports_inf": Row(_HERE, "supports_inf", "flax"),
        "to_complex_dtype": Row("dtypes", "to_complex_dtype", "tinygp"),
    },
    "_src.earray": {"EArray": Row(_HERE, "EArray", "flax")},
    "_src.flatten_util": {"ravel_pytree": Row("flatten_util", "ravel_pytree", "blackjax sbijax")},
    "_src.flattree": {
        "nones": Row(_HERE, "flattree_of_nones", "quax"),
        "pack": Row(_HERE, "flattree_of_groups", "quax"),
    },
    "_src.interpreters.batching": {
        "is_vmappable": Row("api.mapped_axes", "is_mapped_otherwise", "jaxoplanet"),
    },
    "_src.interpreters.pxla": {"global_result_handlers": Row(_HERE, "result_handlers", "flax")},
    "_src.lib.xla_client": {"XlaRuntimeError": Row("errors", "JaxRuntimeError", "dynamiqs")},
    "_src.literals": {
        name: Row(_HERE, "TypedLiteral", libraries)
        for name, libraries in (
            ("TypedComplex", "quax"),
            ("TypedFloat", "quax"),
            ("TypedInt", "quax"),
            ("TypedNdArray", "equinox"),
        )
    },
    "_src.nn.functions": {"glu": Row("nn", "glu", "sbijax")},
    "_src.numpy.util": {
        "promote_dtypes_complex": Row(_HERE, "promote_dtypes_complex", "s2fft"),
        "promote_dtypes_inexact": Row(_HERE, "promote_dtypes_inexact", "orthax"),
    },
    "_src.pjit": {
        "auto_axes": Row("sharding", "auto_axes", "jaxns"),
        "jit_p": Row("extend.core.primitives", "jit_p", "quax"),
    },
    "_src.public_test_util": {"check_close": Row(_HERE, "check_close", "tinygp")},
    "_src.scipy.special": {
        "gammaln": Row("scipy.special", "gammaln", "jaxctx jaxns"),
        "logsumexp": Row("scipy.special", "logsumexp", "jaxctx"),
    },
    "_src.sharding_impls": {
        "canonicalize_sharding": Row(_HERE, "canonicalize_sharding", "jaxns"),
    },
    "_src.state.types": {"AbstractRef": Row("ref", "AbstractRef", "flax")},
    "_src.traceback_util": {
        "_exclude_paths": Row(_HERE, "exclude_paths", "flax"),
        "api_boundary": Row(_HERE, "api_boundary", "flax"),
        "include_frame": Row(_HERE, "include_frame", "equinox"),
        "register_exclusion": Row("source", "exclude", "equinox"),
    },
    "_src.tree_util": {
        "_registry": Row(_HERE, "nodes", "flax jaxlie"),
        "flatten_one_level": Row("tree_util", "flatten_one_level", "orbax-checkpoint"),
    },
    "_src.typing": {"SupportsDType": Row(_HERE, "SupportsDType", "jaxctx")},
    f"{_SPLASH}.splash_attention_kernel": {
        "SegmentIds": Row(_HERE, "refuse_attention", "keras"),
        "make_splash_mha": Row(_HERE, "refuse_attention", "keras"),
    },
    f"{_SPLASH}.splash_attention_mask": {
        "CausalMask": Row(_HERE, "refuse_attention", "keras"),
        "MultiHeadMask": Row(_HERE, "refuse_attention", "keras"),
        "NumpyMask": Row(_HERE, "refuse_attention", "keras"),
    },
    "_src.xla_bridge": {"_backends": Row(_HERE, "backends_made", "chex")},
}
"""For each module below the alias the names that it has."""
