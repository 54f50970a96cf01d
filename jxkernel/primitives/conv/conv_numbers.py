"""How a convolution reads its operands: which axis is what, padding by name, and result shapes.

Specs are canonical here: batch, feature and spatial axes of operand and result as positions, and
output feature, input feature and spatial axes of the kernel.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from jxkernel.core.dimensions import greater
from jxkernel.errors import ShapeError
from jxkernel.primitives.arguments import integers, sequence

__all__ = [
    "ConvDimensionNumbers",
    "ConvGeneralDilatedDimensionNumbers",
    "conv_dimension_numbers",
    "conv_general_permutations",
    "conv_general_shape_tuple",
    "conv_shape_tuple",
    "conv_transpose_shape_tuple",
    "padtype_to_pads",
]

Pads = tuple[tuple[int, int], ...]


class ConvDimensionNumbers(NamedTuple):
    """Which axis of each array of a convolution is what.

    Attributes:
      lhs_spec: the operand's batch axis, feature axis, then its spatial axes.
      rhs_spec: the kernel's output feature axis, input feature axis, then its spatial axes.
      out_spec: the result's batch axis, feature axis, then its spatial axes.
    """

    lhs_spec: tuple[int, ...]
    rhs_spec: tuple[int, ...]
    out_spec: tuple[int, ...]


ConvGeneralDilatedDimensionNumbers = tuple[str, str, str] | ConvDimensionNumbers | None
"""What convolutions take as ``dimension_numbers``."""


def conv_dimension_numbers(
    lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return dimension numbers in canonical form.

    Args:
      lhs_shape: the operand's shape.
      rhs_shape: the kernel's shape.
      dimension_numbers: None (batch, feature, spatial ...; the kernel's output features first), a
        ``ConvDimensionNumbers``, or three strings such as ``("NHWC", "HWIO", "NHWC")``: ``N`` is
        the batch, ``C`` the features, ``O`` and ``I`` the kernel's output and input features;
        other letters are spatial axes, in the kernel's order.

    Raises:
      ValueError: ranks differ, or the specs do not fit them.

    >>> from jxkernel import lax
    >>> numbers = lax.conv_dimension_numbers((1, 8, 8, 3), (3, 3, 3, 16), ("NHWC", "HWIO", "NHWC"))
    >>> numbers.lhs_spec, numbers.rhs_spec
    ((0, 3, 1, 2), (3, 2, 0, 1))
    """
    return canonical_numbers("conv_dimension_numbers", lhs_shape, rhs_shape, dimension_numbers)


def canonical_numbers(
    name: str, lhs_shape: Sequence[int], rhs_shape: Sequence[int], dimension_numbers: Any
) -> ConvDimensionNumbers:
    """Return what ``conv_dimension_numbers`` does, for the function ``name``."""
    rank = len(lhs_shape)
    if rank < 2 or len(rhs_shape) != rank:
        raise ShapeError(
            f"{name} got shapes {tuple(lhs_shape)} and {tuple(rhs_shape)}: both have a batch "
            "or output feature axis, a feature axis, and the same number of spatial axes"
        )
    if dimension_numbers is None:
        every = tuple(range(rank))
        return ConvDimensionNumbers(every, every, every)
    specs: Any = sequence(name, "dimension_numbers", dimension_numbers, "three specs")
    if len(specs) != 3:
        raise ShapeError(
            f"{name} got dimension_numbers={dimension_numbers!r:.100}: there are three specs, of "
            "the operand, the kernel and the result"
        )
    if all(type(spec) is str for spec in specs):
        numbers = ConvDimensionNumbers(*_permutations(name, specs))
    else:
        numbers = ConvDimensionNumbers(
            *[integers(name, "dimension_numbers", spec) for spec in specs]
        )
    if any(sorted(spec) != list(range(rank)) for spec in numbers):
        raise ShapeError(
            f"{name} got dimension_numbers={dimension_numbers!r:.100} for shapes "
            f"{tuple(lhs_shape)} and {tuple(rhs_shape)}: each spec names each of the {rank} axes "
            "once"
        )
    return numbers


def conv_general_permutations(
    dimension_numbers: Sequence[str],
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Return three specs given as strings, as positions of axes.

    Raises:
      ValueError: a letter is missing or repeated, or spatial letters differ.

    >>> from jxkernel import lax
    >>> lax.conv_general_permutations(("NWC", "WIO", "NWC"))
    ((0, 2, 1), (2, 1, 0), (0, 2, 1))
    """
    return _permutations("conv_general_permutations", dimension_numbers)


def _permutations(
    name: str, dimension_numbers: Sequence[str]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    lhs, rhs, out = dimension_numbers
    spatial = [letter for letter in rhs if letter not in "OI"]
    for spec, named in ((lhs, "NC"), (rhs, "OI"), (out, "NC")):
        if sorted(spec) != sorted([*named, *spatial]):
            raise ShapeError(
                f"{name} got specs {lhs!r}, {rhs!r}, {out!r}: operand and result have N and "
                "C, the kernel O and I, once each, and all the same other letters"
            )

    def places(spec: str, named: str) -> tuple[int, ...]:
        return tuple([spec.index(letter) for letter in (*named, *spatial)])

    return places(lhs, "NC"), places(rhs, "OI"), places(out, "NC")


def dilated(size: int, dilation: int) -> int:
    """Return how many positions an axis spans once its elements stand ``dilation`` apart."""
    return 0 if size == 0 else (size - 1) * dilation + 1


def padtype_to_pads(
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """Return the padding that a name stands for, per spatial axis: low and high.

    Args:
      in_shape: the operand's spatial sizes.
      window_shape: the windows' sizes, dilation included.
      window_strides: the steps.
      padding: ``VALID``: none.  ``SAME``: as much as gives one window per step, more of it after
        than before where it is odd; ``SAME_LOWER``: more before.

    Raises:
      ValueError: the name is unknown.

    >>> from jxkernel import lax
    >>> lax.padtype_to_pads((7, 8), (3, 4), (1, 1), "SAME")
    [(1, 1), (1, 2)]
    """
    sizes, windows, steps = (
        integers("padtype_to_pads", argument, given)
        for argument, given in (
            ("in_shape", in_shape),
            ("window_shape", window_shape),
            ("window_strides", window_strides),
        )
    )
    if not len(sizes) == len(windows) == len(steps) or any(step < 1 for step in steps):
        raise ShapeError(
            f"padtype_to_pads got in_shape={sizes}, window_shape={windows} and "
            f"window_strides={steps}: one number per axis each, and steps are positive"
        )
    return named_padding("padtype_to_pads", sizes, windows, steps, padding)


def named_padding(
    function: str,
    in_shape: Sequence[int],
    window_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str,
) -> list[tuple[int, int]]:
    """Return what ``padtype_to_pads`` does, for the function of that name."""
    name = str(padding).upper()
    if name not in ("SAME", "SAME_LOWER", "VALID"):
        raise ValueError(
            f"{function} got an unknown padding {padding!r}: there are 'SAME', 'SAME_LOWER', "
            "'VALID'"
        )
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    pads: list[tuple[int, int]] = []
    for size, window, step in zip(in_shape, window_shape, window_strides, strict=True):
        total = max((-(-size // step) - 1) * step + window - size, 0)
        less, more = total // 2, total - total // 2
        pads.append((less, more) if name == "SAME" else (more, less))
    return pads


def window_count(size: int, window: int, stride: int) -> int:
    """Return how many windows fit into an axis, padding and dilation included in the sizes."""
    count: Any = greater(0, (size - window) // stride + 1)
    return count


def conv_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    strides: Sequence[int],
    pads: str | Sequence[tuple[int, int]],
    batch_group_count: int = 1,
) -> tuple[int, ...]:
    """Return the shape of a convolution whose axes are in the default order.

    Raises:
      TypeError: shapes, strides and pads are not of one number of axes.

    >>> from jxkernel import lax
    >>> lax.conv_shape_tuple((1, 3, 8, 8), (16, 3, 3, 3), (1, 1), [(0, 0), (1, 1)])
    (1, 16, 6, 8)
    """
    name = "conv_shape_tuple"
    left, right = integers(name, "lhs_shape", lhs_shape), integers(name, "rhs_shape", rhs_shape)
    steps, padding = integers(name, "strides", strides), pads
    if isinstance(padding, str):
        padding = padtype_to_pads(left[2:], right[2:], steps, padding)
    padding = [
        integers(name, "pads", pair) for pair in sequence(name, "pads", padding, "pairs of numbers")
    ]
    pairs = all(len(pair) == 2 for pair in padding)
    if not pairs or not len(left) == len(right) == len(steps) + 2 == len(padding) + 2:
        raise ShapeError(
            f"{name} got lhs_shape={left}, rhs_shape={right}, strides={steps} and pads={padding}: "
            "shapes have two axes more than there are steps, and pads a pair for each step"
        )
    spatial = [
        window_count(size + low + high, window, step)
        for size, window, step, (low, high) in zip(left[2:], right[2:], steps, padding, strict=True)
    ]
    return (left[0] // batch_group_count, right[0], *spatial)


def conv_general_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of a convolution with the given dimension numbers.

    Raises:
      ValueError: ``padding`` names no padding.

    >>> from jxkernel import lax
    >>> axes = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_general_shape_tuple((1, 8, 8, 3), (3, 3, 3, 16), (2, 2), "SAME", axes)
    (1, 4, 4, 16)
    """
    numbers = canonical_numbers("conv_general_shape_tuple", lhs_shape, rhs_shape, dimension_numbers)
    left = [lhs_shape[axis] for axis in numbers.lhs_spec]
    right = [rhs_shape[axis] for axis in numbers.rhs_spec]
    shape = conv_shape_tuple(left, right, window_strides, padding)
    return in_order(shape, numbers.out_spec)


def conv_transpose_shape_tuple(
    lhs_shape: Sequence[int],
    rhs_shape: Sequence[int],
    window_strides: Sequence[int],
    padding: str | Sequence[tuple[int, int]],
    dimension_numbers: Any,
) -> tuple[int, ...]:
    """Return the shape of a transposed convolution with the given dimension numbers.

    >>> from jxkernel import lax
    >>> axes = ("NHWC", "HWIO", "NHWC")
    >>> lax.conv_transpose_shape_tuple((1, 4, 4, 3), (2, 2, 3, 5), (2, 2), "VALID", axes)
    (1, 8, 8, 5)
    """
    numbers = canonical_numbers(
        "conv_transpose_shape_tuple", lhs_shape, rhs_shape, dimension_numbers
    )
    left = [lhs_shape[axis] for axis in numbers.lhs_spec]
    right = [rhs_shape[axis] for axis in numbers.rhs_spec]
    pads = padding
    if isinstance(pads, str):
        pads = [
            transposed_padding("conv_transpose_shape_tuple", window, step, pads)
            for window, step in zip(right[2:], window_strides, strict=True)
        ]
    spread = [dilated(size, step) for size, step in zip(left[2:], window_strides, strict=True)]
    shape = conv_shape_tuple([*left[:2], *spread], right, [1] * len(spread), pads)
    return in_order(shape, numbers.out_spec)


def in_order(sizes: Sequence[int], spec: Sequence[int]) -> tuple[int, ...]:
    """Return batch, feature and spatial sizes in the order of the axes."""
    shape = [0] * len(spec)
    for axis, size in zip(spec, sizes, strict=True):
        shape[axis] = size
    return tuple(shape)


def transposed_padding(name: str, window: int, stride: int, padding: str) -> tuple[int, int]:
    """Return the padding of a transposed convolution that undoes the named padding's shape.

    Args:
      name: the function.
      window: the kernel's size along the axis, dilation included.
      stride: by how much the axis grows.
      padding: ``SAME`` makes ``size * stride`` positions of ``size``; ``VALID`` as many as the
        forward convolution would have needed at least.

    Raises:
      ValueError: the name is neither.
    """
    if padding == "SAME":
        total = window + stride - 2
        low = window - 1 if stride > window - 1 else -(-total // 2)
    elif padding == "VALID":
        total = window + stride - 2 + max(window - stride, 0)
        low = window - 1
    else:
        raise ValueError(
            f"{name} got an unknown padding {padding!r} of a transposed convolution: there are "
            "'SAME', 'VALID'"
        )
    return low, total - low
