"""How precisely contractions multiply: named precisions, algorithms, and the ways to write them."""

import enum
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from jxkernel import config, dtypes, hlo
from jxkernel.dtypes import DType
from jxkernel.records import record

__all__ = ["DotAlgorithm", "DotAlgorithmPreset", "Precision", "PrecisionLike"]


class Precision(enum.Enum):
    """How many bits of float32 operands a product keeps on hardware that could drop some.

    ``DEFAULT`` is fastest, ``HIGHEST`` keeps all.  CPUs always keep all.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    def __repr__(self) -> str:
        return f"Precision.{self.name}"

    def __str__(self) -> str:
        return self.name

    @classmethod
    def _missing_(cls, value: object) -> "Precision | None":
        if value is None:
            return cls.DEFAULT
        return _NAMES.get(value) if isinstance(value, str) else None


_NAMES: dict[str, Precision] = {
    "default": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}


class DotAlgorithm(NamedTuple):
    """The arithmetic of a matrix product, step by step.

    Attributes:
      lhs_precision_type: the dtype the left operand is rounded to.
      rhs_precision_type: the dtype the right operand is rounded to.
      accumulation_type: the dtype of sums.
      lhs_component_count: into how many parts the left operand is decomposed.
      rhs_component_count: into how many parts the right operand is decomposed.
      num_primitive_operations: how many products of parts are summed.
      allow_imprecise_accumulation: whether sums may be less precise inside hardware steps.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Algorithms by name: operand dtypes, then the dtype of sums; ``X3`` sums three products."""

    DEFAULT = enum.auto()
    ANY_F8_ANY_F8_F32 = enum.auto()
    ANY_F8_ANY_F8_F32_FAST_ACCUM = enum.auto()
    ANY_F8_ANY_F8_ANY = enum.auto()
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = enum.auto()
    F16_F16_F16 = enum.auto()
    F16_F16_F32 = enum.auto()
    BF16_BF16_BF16 = enum.auto()
    BF16_BF16_F32 = enum.auto()
    BF16_BF16_F32_X3 = enum.auto()
    BF16_BF16_F32_X6 = enum.auto()
    BF16_BF16_F32_X9 = enum.auto()
    TF32_TF32_F32 = enum.auto()
    TF32_TF32_F32_X3 = enum.auto()
    F32_F32_F32 = enum.auto()
    F64_F64_F64 = enum.auto()

    def __repr__(self) -> str:
        return f"DotAlgorithmPreset.{self.name}"

    def __str__(self) -> str:
        return self.name


Algorithm = DotAlgorithm | DotAlgorithmPreset
Canonical = tuple[Precision, Precision] | Algorithm | None
PrecisionLike = str | Precision | tuple[Any, Any] | Algorithm | None
"""What functions take as ``precision``: a name, a precision, one per operand, or an algorithm."""


def canonical_precision(name: str, precision: PrecisionLike) -> Canonical:
    """Return a precision as a hashable parameter; None stands for the configured default.

    Args:
      name: the function it was given to.
      precision: what was given.

    Raises:
      ValueError: no precision or algorithm has that name.
    """
    if precision is None:
        configured = config.default_matmul_precision.value
        return None if configured is None else canonical_precision(name, configured)
    if isinstance(precision, DotAlgorithm):
        return precision
    if isinstance(precision, DotAlgorithmPreset):
        return None if precision is DotAlgorithmPreset.DEFAULT else precision
    if isinstance(precision, (tuple, list)) and len(precision) == 2:
        first, second = (_one(name, part) for part in precision)
        return (first, second)
    if isinstance(precision, str) and precision in DotAlgorithmPreset.__members__:
        return DotAlgorithmPreset[precision]
    one = _one(name, precision)
    return (one, one)


def _one(name: str, precision: Any) -> Precision:
    try:
        return Precision(precision)
    except ValueError:
        known = ", ".join(repr(name) for name in _NAMES)
        raise ValueError(
            f"{name} got an unknown precision {precision!r:.100}: there are {known}, Precision, "
            "DotAlgorithmPreset and pairs of these"
        ) from None


_ELEMENTS = {"BF16": "bf16", "F16": "f16", "F32": "f32", "F64": "f64", "TF32": "tf32"}
_PRODUCTS = {"X3": 3, "X6": 6, "X9": 9}
_ON_CPU = (
    *("F16_F16_F16", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6"),
    *("F32_F32_F32", "F64_F64_F64"),
)
"""The algorithms that XLA has for CPUs."""


def _attribute_text(steps: DotAlgorithm) -> str:
    """Return ``#stablehlo.dot_algorithm`` of steps whose dtypes are texts; its names are ours."""
    words = {**steps._asdict(), "allow_imprecise_accumulation": "true" if steps[-1] else "false"}
    fields = [f"{name} = {value}" for name, value in words.items()]
    return f"#stablehlo.dot_algorithm<{', '.join(fields)}>"


def _preset_steps(name: str) -> DotAlgorithm:
    words = name.split("_")
    left, right, total = (_ELEMENTS[word] for word in words[:3])
    return DotAlgorithm(left, right, total, num_primitive_operations=_PRODUCTS.get(words[-1], 1))


@cache
def _known_steps() -> dict[str, DotAlgorithm]:
    """Return the steps of the presets that do not depend on the operands."""
    names = DotAlgorithmPreset.__members__
    return {n: _preset_steps(n) for n in names if not n.startswith(("ANY", "DEFAULT"))}


def _element_text(dtype: DType) -> str:
    return str(hlo.element_type(np.dtype(dtypes.as_dtype(dtype))))


def _is_eight_bits(element: str) -> bool:
    return element.lower().startswith("f8")


def _steps_of(algorithm: Algorithm, dtypes_in: tuple[Any, Any], platform: str) -> DotAlgorithm:
    """Return an algorithm that a platform knows, its dtypes as texts.

    Raises:
      ValueError: it knows none such, or the operands are not what the algorithm is for.
    """
    known = _ON_CPU if platform == "cpu" else tuple(DotAlgorithmPreset.__members__)[1:]
    if isinstance(algorithm, DotAlgorithmPreset):
        if algorithm.name not in known:
            raise _unknown(algorithm, known, platform)
        return _known_steps().get(algorithm.name) or _eight_bit_steps(algorithm, dtypes_in)
    left, right, total = (_element_text(dtype) for dtype in algorithm[:3])
    steps = DotAlgorithm(left, right, total, *algorithm[3:])
    of_eight_bits = platform != "cpu" and _is_eight_bits(left) and _is_eight_bits(right)
    if steps in [_known_steps().get(name) for name in known] or (
        of_eight_bits and steps[:6] == DotAlgorithm(left, right, "f32")[:6]
    ):
        return steps
    raise _unknown(algorithm, known, platform)


def _eight_bit_steps(preset: DotAlgorithmPreset, dtypes_in: tuple[Any, Any]) -> DotAlgorithm:
    left, right = (_element_text(dtype) for dtype in dtypes_in)
    if not (_is_eight_bits(left) and _is_eight_bits(right)):
        raise ValueError(
            f"dot_general with {preset!r} takes operands of 8-bit floating dtypes, got {left} and "
            f"{right}"
        )
    return DotAlgorithm(
        left, right, "f32", allow_imprecise_accumulation=preset.name.endswith("ACCUM")
    )


def _unknown(algorithm: Algorithm, known: tuple[str, ...], platform: str) -> ValueError:
    return ValueError(
        f"dot_general with the algorithm {algorithm!r} is not supported on platform {platform!r}, "
        f"which knows DotAlgorithmPreset.DEFAULT, {', '.join(known)}"
    )


def _stored(element: str, products: int, dtype: DType) -> Any:
    """Return the dtype in which an operand of a dtype is handed to an algorithm."""
    if products > 1 or element in ("tf32", "f32"):
        return np.dtype(np.float32)
    if element == "bf16":
        return dtype if dtype == np.float32 else dtypes.as_dtype("bfloat16")
    return {"f16": np.dtype(np.float16), "f64": np.dtype(np.float64)}.get(element, dtype)


@record()
class Arithmetic:
    """How ``stablehlo.dot_general`` is to multiply.

    Attributes:
      operands: the dtypes it takes.
      result: the dtype it gives; None for that of the result.
      attributes: its attributes.
    """

    operands: tuple[Any, Any]
    result: Any
    attributes: dict[str, Any]


def arithmetic(precision: Canonical, dtypes_in: tuple[Any, Any], platform: str) -> Arithmetic:
    """Return how operands of two dtypes are multiplied with a precision.

    Raises:
      ValueError: the platform does not know the algorithm.
    """
    if not isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        names = ("DEFAULT", "DEFAULT") if precision is None else tuple(p.name for p in precision)
        common = dtypes_in[0]
        if dtypes_in[0] != dtypes_in[1]:
            common = dtypes.promote_types(*dtypes_in)
        config = hlo.precision_config((names[0], names[-1]))
        return Arithmetic((common, common), None, {"precision_config": config})
    if any(np.dtype(dtype).kind == "c" for dtype in dtypes_in):
        raise ValueError(
            f"dot_general with the algorithm {precision!r} takes real operands, got complex ones: "
            "leave the precision out, or multiply real and imaginary parts"
        )
    steps = _steps_of(precision, dtypes_in, platform)
    left, right = dtypes_in
    operands = (
        _stored(steps.lhs_precision_type, steps.num_primitive_operations, left),
        _stored(steps.rhs_precision_type, steps.num_primitive_operations, right),
    )
    totals = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
    total = np.dtype(totals.get(steps.accumulation_type) or dtypes.as_dtype("bfloat16"))
    attributes = {
        "precision_config": hlo.precision_config(("DEFAULT", "DEFAULT")),
        "algorithm": hlo.parse_attribute(_attribute_text(steps)),
    }
    return Arithmetic(operands, total, attributes)
