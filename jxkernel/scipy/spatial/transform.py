"""Rotations in space, as unit quaternions, and interpolation between them.

Quaternions have their scalar part last.  Euler angles are found as in E. Bernardes, S. Viollet,
"Quaternion to Euler angles conversion: a direct, general and computationally efficient method",
PLOS ONE 2022; rotations are averaged as in F. Markley et al., "Averaging quaternions", 2007.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from jxkernel import numpy as jnp
from jxkernel import random
from jxkernel.dtypes import DTypeLike

__all__ = ["Rotation", "Slerp"]

_AXES = {"x": 0, "y": 1, "z": 2}
_CLOSE = 1e-7


class Rotation(NamedTuple):
    """A rotation of three axes, or a stack of them.

    Attributes:
      quat: unit quaternions, of shape (..., 4).

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.scipy.spatial.transform import Rotation
    >>> turn = Rotation.from_euler("z", 90.0, degrees=True)
    >>> turn.apply(jnp.array([1.0, 0.0, 0.0])).round(3).tolist()
    [0.0, 1.0, 0.0]
    """

    quat: Any

    @classmethod
    def identity(cls, num: int | None = None, dtype: DTypeLike = float) -> "Rotation":
        """Return the rotation that leaves all as it is, or ``num`` of them."""
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> "Rotation":
        """Return a rotation drawn at random, or ``num`` of them, all as likely as others."""
        shape = (4,) if num is None else (num, 4)
        return cls.from_quat(random.normal(random_key, shape))

    @classmethod
    def from_quat(cls, quat: Any) -> "Rotation":
        """Return the rotation of quaternions, of shape (..., 4), of any length but 0."""
        q = _floating(quat)
        return cls(q / jnp.linalg.norm(q, axis=-1, keepdims=True))

    @classmethod
    def from_matrix(cls, matrix: Any) -> "Rotation":
        """Return the rotation of orthogonal matrices of determinant 1, of shape (..., 3, 3)."""
        return cls(_quaternion_of(_floating(matrix)))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> "Rotation":
        """Return the rotation about vectors, of shape (..., 3), by as much as their lengths."""
        v = _floating(rotvec)
        v = jnp.deg2rad(v) if degrees else v
        squared = jnp.sum(v * v, -1, keepdims=True)
        small = squared < 1e-6
        angle = jnp.sqrt(jnp.where(small, 1, squared))
        series = 0.5 - squared / 48 + squared * squared / 3840
        scale = jnp.where(small, series, jnp.sin(angle / 2) / angle)
        scalar = jnp.where(small, 1 - squared / 8 + squared**2 / 384, jnp.cos(angle / 2))
        return cls(jnp.concatenate([scale * v, scalar], -1))

    @classmethod
    def from_mrp(cls, mrp: Any) -> "Rotation":
        """Return the rotation of modified Rodrigues parameters, of shape (..., 3)."""
        p = _floating(mrp)
        squared = jnp.sum(p * p, -1, keepdims=True)
        return cls(jnp.concatenate([2 * p, 1 - squared], -1) / (1 + squared))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> "Rotation":
        """Return the rotation about axes, one after the other.

        Args:
          seq: one to three of ``xyz``, fixed axes, or of ``XYZ``, axes that turn along.
          angles: the angles, of shape (..., axes); for one axis a scalar as well.
          degrees: whether they are in degrees.

        Raises:
          ValueError: ``seq`` is something else, or there are not so many angles.
        """
        axes, fixed = _sequence(seq)
        turns = _floating(angles)
        turns = jnp.deg2rad(turns) if degrees else turns
        turns = turns[..., None] if turns.ndim == 0 else turns
        if turns.shape[-1] != len(axes):
            raise ValueError(f"{seq!r} takes {len(axes)} angles, got shape {turns.shape}")
        found = None
        for place, axis in enumerate(axes):
            one = cls.from_rotvec(turns[..., place, None] * np.eye(3, dtype=turns.dtype)[axis])
            found = one if found is None else one * found if fixed else found * one
        assert found is not None, "a sequence has axes"
        return found

    @classmethod
    def concatenate(cls, rotations: "Sequence[Rotation]") -> "Rotation":
        """Return a stack of all rotations."""
        return cls(jnp.concatenate([jnp.atleast_2d(one.quat) for one in rotations]))

    @property
    def single(self) -> bool:
        """Whether this is one rotation, and no stack."""
        return self.quat.ndim == 1

    def __len__(self) -> int:
        if self.single:
            raise TypeError("a single rotation has no length")
        return self.quat.shape[0]

    def __getitem__(self, indexer: Any) -> "Rotation":
        if self.single:
            raise TypeError("a single rotation has no parts")
        return Rotation(self.quat[indexer])

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    # Rotations are tuples, so that they are pytrees; no tuple is repeated here.
    def __mul__(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, other: "Rotation"
    ) -> "Rotation":
        """Return the rotation that turns by ``other`` and then by this one."""
        (p, a), (q, b) = ((r.quat[..., :3], r.quat[..., 3:]) for r in (self, other))
        vector = a * q + b * p + jnp.cross(p, q)
        scalar = a * b - jnp.sum(p * q, -1, keepdims=True)
        return Rotation.from_quat(jnp.concatenate([vector, scalar], -1))

    def inv(self) -> "Rotation":
        """Return the rotation that undoes this one."""
        return Rotation(self.quat * np.array([-1, -1, -1, 1], self.quat.dtype))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """Return vectors, of shape (..., 3), turned; the other way round if ``inverse``."""
        matrix = self.as_matrix()
        matrix = jnp.swapaxes(matrix, -1, -2) if inverse else matrix
        return jnp.einsum("...ij,...j->...i", matrix, jnp.asarray(vectors))

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """Return the quaternions.

        Args:
          canonical: whether to give, of the two of a rotation, the one with a positive scalar.
          scalar_first: whether the scalar part comes first.
        """
        q = _canonical(self.quat) if canonical else self.quat
        return jnp.roll(q, 1, -1) if scalar_first else q

    def as_matrix(self) -> Any:
        """Return the matrices, of shape (..., 3, 3)."""
        x, y, z, w = jnp.moveaxis(self.quat, -1, 0)
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        return jnp.stack([jnp.stack(row, -1) for row in rows], -2)

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Return the axes of rotation, as long as the angles, at most half a turn."""
        q = _canonical(self.quat)
        squared = jnp.sum(q[..., :3] ** 2, -1, keepdims=True)
        small = squared < 2.5e-7
        length = jnp.sqrt(jnp.where(small, 1, squared))
        angle = 2 * jnp.arctan2(length, q[..., 3:])
        series = 2 + squared / 3 + 3 * squared * squared / 20
        v = jnp.where(small, series, angle / length) * q[..., :3]
        return jnp.rad2deg(v) if degrees else v

    def as_mrp(self) -> Any:
        """Return the modified Rodrigues parameters, those of at most half a turn."""
        q = _canonical(self.quat)
        return q[..., :3] / (1 + q[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """Return angles about three axes: see ``from_euler``.

        Where the first and the third axis fall together the third angle is 0.

        Raises:
          ValueError: ``seq`` has not three axes.
        """
        axes, fixed = _sequence(seq)
        if len(axes) != 3:
            raise ValueError(f"as_euler finds angles about three axes, got {seq!r}")
        angles = _euler_angles(self.quat, axes, fixed)
        return jnp.rad2deg(angles) if degrees else angles

    def magnitude(self) -> Any:
        """Return the angles, at most half a turn."""
        return 2 * jnp.arctan2(
            jnp.linalg.norm(self.quat[..., :3], axis=-1), jnp.abs(self.quat[..., 3])
        )

    def mean(self, weights: Any = None) -> "Rotation":
        """Return the rotation nearest to all of the stack together.

        Args:
          weights: how much each counts; alike where not given.
        """
        count = len(self)
        scale = jnp.ones(count, self.quat.dtype) if weights is None else jnp.asarray(weights)
        moments = jnp.einsum("n,ni,nj->ij", scale, self.quat, self.quat)
        _, vectors = jnp.linalg.eigh(moments)
        return Rotation(vectors[:, -1])


class Slerp(NamedTuple):
    """Rotations at some times, and those between, which turn evenly: made by ``Slerp.init``.

    Attributes:
      times: the times.
      timedelta: how long each part takes.
      rotations: the rotations at the beginning of each part.
      rotvecs: about what, and how far, each part turns.
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> "Slerp":
        """Return what interpolates between rotations.

        Args:
          times: ascending times, at least two.
          rotations: a stack of as many rotations.

        Raises:
          ValueError: there are not so many.

        >>> import jxkernel.numpy as jnp
        >>> from jxkernel.scipy.spatial.transform import Rotation, Slerp
        >>> ends = Rotation.from_euler("z", jnp.array([[0.0], [90.0]]), degrees=True)
        >>> half = Slerp.init(jnp.array([0.0, 1.0]), ends)(0.5)
        >>> print(f"{jnp.rad2deg(half.magnitude()):.2f}")
        45.00
        """
        when = jnp.asarray(times)
        if rotations.single or when.ndim != 1 or len(rotations) != when.size or when.size < 2:
            raise ValueError(
                f"Slerp takes two rotations or more and a time for each, got times of shape "
                f"{when.shape} and rotations of shape {rotations.quat.shape[:-1]}"
            )
        first, last = (Rotation(rotations.quat[part]) for part in np.s_[:-1, 1:])
        return cls(when, jnp.diff(when), first, (first.inv() * last).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """Return the rotations at some times; before the first and after the last those there."""
        t = jnp.clip(jnp.asarray(times), self.times[0], self.times[-1])
        last = self.timedelta.shape[0] - 1
        part = jnp.clip(jnp.searchsorted(self.times, t, side="right") - 1, 0, last)
        share = (t - self.times[part]) / self.timedelta[part]
        turn = Rotation.from_rotvec(self.rotvecs[part] * share[..., None])
        return self.rotations[part] * turn


def _floating(x: Any) -> Any:
    array = jnp.asarray(x)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def _canonical(q: Any) -> Any:
    """Return, of the two quaternions of a rotation, the one whose scalar is not negative."""
    return jnp.where(q[..., 3:] < 0, -q, q)


def _sequence(seq: str) -> tuple[list[int], bool]:
    """Return the axes of a sequence, and whether they are fixed."""
    axes = [_AXES.get(letter.lower(), -1) for letter in seq]
    if not 1 <= len(seq) <= 3 or -1 in axes or not (seq.islower() or seq.isupper()):
        raise ValueError(f"a sequence is one to three of 'xyz', or of 'XYZ', got {seq!r}")
    if any(first == second for first, second in pairwise(axes)):
        raise ValueError(f"axes that follow each other must differ, got {seq!r}")
    return axes, seq.islower()


def _quaternion_of(m: Any) -> Any:
    """Return the quaternion of a matrix, by whichever of its parts is largest."""
    diagonal = jnp.diagonal(m, axis1=-2, axis2=-1)
    trace = jnp.sum(diagonal, -1, keepdims=True)
    choice = jnp.argmax(jnp.concatenate([diagonal, trace], -1), -1)
    found = []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        parts: list[Any] = [None] * 4
        parts[i] = 1 - trace[..., 0] + 2 * m[..., i, i]
        parts[j] = m[..., j, i] + m[..., i, j]
        parts[k] = m[..., k, i] + m[..., i, k]
        parts[3] = m[..., k, j] - m[..., j, k]
        found.append(jnp.stack(parts, -1))
    skew = [m[..., (i + 2) % 3, (i + 1) % 3] - m[..., (i + 1) % 3, (i + 2) % 3] for i in range(3)]
    found.append(jnp.stack([*skew, 1 + trace[..., 0]], -1))
    q = jnp.take_along_axis(jnp.stack(found, -2), choice[..., None, None], -2)[..., 0, :]
    return q / jnp.linalg.norm(q, axis=-1, keepdims=True)


def _euler_angles(q: Any, axes: list[int], fixed: bool) -> Any:
    i, j, k = axes if fixed else axes[::-1]
    proper = i == k
    k = 3 - i - j if proper else k
    sign = (i - j) * (j - k) * (k - i) // 2
    x = [q[..., axis] for axis in range(4)]
    if proper:
        a, b, c, d = x[3], x[i], x[j], x[k] * sign
    else:
        a, b, c, d = x[3] - x[j], x[i] + x[k] * sign, x[j] + x[3], x[k] * sign - x[i]
    middle = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
    half_sum, half_difference = jnp.arctan2(b, a), jnp.arctan2(d, c)
    together = jnp.abs(middle) <= _CLOSE
    opposite = jnp.abs(middle - np.pi) <= _CLOSE
    turn = jnp.where(together, 2 * half_sum, 2 * half_difference * (-1 if fixed else 1))
    locked = together | opposite
    first, last = half_sum - half_difference, half_sum + half_difference
    first, last = (first, last) if fixed else (last, first)
    first, last = jnp.where(locked, turn, first), jnp.where(locked, 0, last)
    if not proper:
        middle = middle - np.pi / 2
        first, last = (first, last * sign) if fixed else (first * sign, last)
    angles = jnp.stack([first, middle, last], -1)
    return jnp.where(
        angles > np.pi, angles - 2 * np.pi, jnp.where(angles < -np.pi, angles + 2 * np.pi, angles)
    )
