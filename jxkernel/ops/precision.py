"""How precisely contractions multiply: named precisions, algorithms, and the ways to write them."""

import enum
from typing import Any, NamedTuple

import numpy as np

from jxkernel import config, dtypes, hlo

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
_COMPONENTS = {"X3": (2, 3), "X6": (3, 6), "X9": (3, 9)}


def _parts_of_preset(
    preset: DotAlgorithmPreset, dtypes_in: tuple[Any, Any], accumulate: Any
) -> tuple[Any, ...]:
    words = preset.name.split("_")
    if words[0] == "ANY":
        left, right = (_element_text(dtype) for dtype in dtypes_in)
        total = _element_text(accumulate) if preset.name.split("_")[4] == "ANY" else "f32"
        return left, right, total, 1, 1, 1, words[-1] == "ACCUM"
    left, right, total = (_ELEMENTS[word] for word in words[:3])
    parts, products = _COMPONENTS.get(words[-1], (1, 1))
    return left, right, total, parts, parts, products, False


def _element_text(dtype: Any) -> str:
    return str(hlo.element_type(np.dtype(dtypes.as_dtype(dtype))))


def algorithm_attribute(algorithm: Algorithm, dtypes_in: tuple[Any, Any], accumulate: Any) -> Any:
    """Return the ``#stablehlo.dot_algorithm`` attribute of an algorithm."""
    if isinstance(algorithm, DotAlgorithmPreset):
        parts = _parts_of_preset(algorithm, dtypes_in, accumulate)
    else:
        parts = (*(_element_text(dtype) for dtype in algorithm[:3]), *algorithm[3:])
    left, right, total, left_parts, right_parts, products, imprecise = parts
    return hlo.parse_attribute(
        f"#stablehlo.dot_algorithm<lhs_precision_type = {left}, rhs_precision_type = {right}, "
        f"accumulation_type = {total}, lhs_component_count = {left_parts}, "
        f"rhs_component_count = {right_parts}, num_primitive_operations = {products}, "
        f"allow_imprecise_accumulation = {'true' if imprecise else 'false'}>"
    )


def precision_attributes(
    precision: Canonical, dtypes_in: tuple[Any, Any], accumulate: Any
) -> dict[str, Any]:
    """Return the attributes that a ``stablehlo.dot_general`` gets for a precision."""
    if isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        default = hlo.precision_config(("DEFAULT", "DEFAULT"))
        algorithm = algorithm_attribute(precision, dtypes_in, accumulate)
        return {"precision_config": default, "algorithm": algorithm}
    names = ("DEFAULT", "DEFAULT") if precision is None else tuple(p.name for p in precision)
    return {"precision_config": hlo.precision_config((names[0], names[-1]))}
