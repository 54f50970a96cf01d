"""What ``vjp`` returns: the way back, with what it keeps, as values or into references."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from jxkernel import tree
from jxkernel.api.reference_arguments import flatten_arguments, named
from jxkernel.core.avals import ShapedArray
from jxkernel.core.filtering import filtered
from jxkernel.core.zeros import Zero
from jxkernel.higher_order.references import AbstractRef, Ref, check_distinct
from jxkernel.primitives.shape.broadcast import instantiate
from jxkernel.tree import physical
from jxkernel.tree.prefix import structure_text

__all__ = [
    "VJP",
    "DidntWant",
    "DontWant",
    "GradRef",
    "GradValue",
    "NotNeeded",
    "NotSaveable",
    "booleans_like",
    "made",
    "spread_booleans",
    "taking_references",
]


class _Mark:
    """A mark in a tree, equal to others of its class."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class GradValue(_Mark):
    """For ``with_refs``: return this argument's gradient as a value."""


class DontWant(_Mark):
    """For ``with_refs``: leave this argument's gradient out."""


class GradRef(_Mark):
    """In a result: the gradient was added to a reference."""


class DidntWant(_Mark):
    """In a result: the gradient was left out."""


@tree.register_static
class NotNeeded(_Mark):
    """In ``args_res``: the way back does not read this argument."""


@tree.register_static
class NotSaveable(_Mark):
    """In ``args_res``: the way back reads this argument, which is to be put here before."""


class VJP:
    """The way back through a function at a point: a function of a cotangent of its value.

    It is a pytree whose leaves are what is kept, so ``jit`` may return it or take it.

    Args:
      fun: the way back as a function of all that is kept, in order, and the cotangent.
      in_tree: the structure of the arguments.
      out_tree: the structure of the value.
      places: for each thing that is kept, which leaf of the arguments it is, or None.
      args_res: for each argument a tree like it, with the leaves that are kept.
      opaque_residuals: what is kept besides.
      refs: where references are among the arguments, and the type of each one's cotangent; ``fun``
        takes (cotangent, cotangents of what the references hold afterwards).

    Attributes:
      args_res: may be changed, such as to let go of an argument and put it back later.
      opaque_residuals: likewise.
    """

    __slots__ = ("args_res", "fun", "in_tree", "opaque_residuals", "out_tree", "places", "refs")

    def __init__(
        self,
        fun: Callable[..., Any],
        in_tree: Any,
        out_tree: Any,
        places: tuple[int | None, ...],
        args_res: Sequence[Any],
        opaque_residuals: Sequence[Any],
        refs: tuple[tuple[int, ShapedArray], ...] = (),
    ) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.places = places
        self.args_res = list(args_res)
        self.opaque_residuals = list(opaque_residuals)
        self.refs = refs

    @property
    def out_nzs(self) -> Any:
        """Which arrays of the value have a derivative, as a tree of booleans."""
        way: Any = self.fun
        return booleans_like(self.out_tree, way.nonzero)

    @filtered
    def __call__(self, *cotangent: Any) -> Any:
        """Return the cotangents of the arguments, as a tuple, for a cotangent of the value.

        Raises:
          TypeError: not one cotangent is given.
          ValueError: the cotangent does not fit, or an argument that was let go of is needed; or
            an argument is a reference, whose cotangent is in another (``with_refs``).
        """
        self._check_references([None] * self._like().num_leaves)
        return self.fun(*self._residuals(), *cotangent)

    def with_refs(self, *wanted: Any) -> Callable[[Any], Any]:
        """Return a way back that adds gradients to references.

        Where an argument of the function is a reference, so is its cotangent: it holds that of the
        array afterwards (zeros, if nothing is known of it), and then that of the array before.

        Args:
          *wanted: a tree like each argument, with a reference, whose array is of the type of the
            gradient, a ``GradValue()`` or a ``DontWant()`` for each leaf.

        Returns:
          a function like this one, which has ``GradRef()`` and ``DidntWant()`` in its result in
          place of gradients that are not returned.

        Raises:
          ValueError: the trees are not like the arguments, or a reference is of another type.
          TypeError: a leaf is none of these.

        >>> import jxkernel as jx
        >>> total = jx.new_ref(0.0)
        >>> _, pullback = jx.vjp(lambda x, y: x * y, 2.0, 5.0)
        >>> pullback.with_refs(total, jx.ad.DontWant())(1.0)
        (GradRef(), DidntWant())
        >>> float(total[...])
        5.0
        """
        flat, structure = physical.flatten(wanted)
        like = self._like()
        if structure != like:
            raise ValueError(
                f"with_refs of {self.fun} takes trees like the arguments, "
                f"{structure_text(like)}, and got "
                f"{structure_text(structure)}: one reference, GradValue() or DontWant() for "
                f"each array (None is an "
                "empty tree)"
            )
        for leaf in flat:
            if not isinstance(leaf, (Ref, GradValue, DontWant)):
                raise TypeError(
                    f"with_refs of {self.fun} got a {type(leaf).__name__}: it takes references, "
                    "jax.ad.GradValue() and jax.ad.DontWant()"
                )
        self._check_references(flat)

        def pulled(*cotangent: Any) -> Any:
            gradients = structure.flatten_up_to(self._pulled(flat, cotangent))
            given = {at for at, _ in self.refs}
            return structure.unflatten(
                [
                    _given_back(want, ct) if at in given else _accumulated(want, ct)
                    for at, (want, ct) in enumerate(zip(flat, gradients, strict=True))
                ]
            )

        return filtered(pulled)

    def _pulled(self, wanted: Sequence[Any], cotangent: tuple[Any, ...]) -> Any:
        if self.refs:
            after = [_cotangent_after(wanted[at], aval) for at, aval in self.refs]
            cotangent = tuple([(ct, after) for ct in cotangent])
        return self.fun(*self._residuals(), *cotangent)

    def _like(self) -> Any:
        """Return the structure of the arguments, of which a random key is one and no tree."""
        return flatten_arguments(self.in_tree.unflatten([0] * self.in_tree.num_leaves))[1]

    def _check_references(self, wanted: Sequence[Any]) -> None:
        """Check what stands for the cotangents of arguments that are references.

        Raises:
          ValueError: it is no reference, or one of another type.
          RefError: one reference stands for two.
        """
        given = {at: wanted[at] for at, _ in self.refs if not isinstance(wanted[at], DontWant)}
        places = named("args", self._like(), given)
        for (at, want), (place, _) in zip(given.items(), places, strict=True):
            aval = dict(self.refs)[at]
            if not isinstance(want, Ref):
                raise ValueError(
                    f"{self.fun}: {place} is a reference, whose gradient is in a reference too: "
                    "pullback.with_refs(...) takes it, or jax.ad.DontWant()"
                )
            if want.aval != AbstractRef(aval):
                raise ValueError(
                    f"{self.fun}: {place} is a reference with gradients of type {aval.short()}, "
                    f"and with_refs got one of type {want.aval}"
                )
        check_distinct(f"with_refs of {self.fun}", places)

    def _residuals(self) -> list[Any]:
        own, others = self.in_tree.flatten_up_to(tuple(self.args_res)), iter(self.opaque_residuals)
        kept = [next(others) if place is None else own[place] for place in self.places]
        gone = [
            residual for residual in kept if residual is None or isinstance(residual, NotSaveable)
        ]
        if gone:
            raise ValueError(
                f"{self.fun} needs an argument whose place in args_res is {gone[0]}: "
                "put it back first"
            )
        return kept

    def __repr__(self) -> str:
        return f"VJP({self.fun})"


def _is_leaf(structure: tree.PyTreeDef) -> bool:
    return structure.num_leaves == structure.num_nodes == 1


def booleans_like(structure: tree.PyTreeDef, flags: Sequence[bool]) -> Any:
    """Return a tree of booleans: tuples stand for containers that are no tuple, list or dict."""
    if _is_leaf(structure):
        return flags[0]
    kind, keys = structure.node_data() or (type(None), ())
    found: list[Any] = []
    start = 0
    for child in structure.children():
        found.append(booleans_like(child, flags[start : start + child.num_leaves]))
        start += child.num_leaves
    if kind is dict:
        return dict(zip(keys, found, strict=True))
    return None if kind is type(None) else found if kind is list else tuple(found)


def spread_booleans(name: str, given: object, structure: tree.PyTreeDef) -> list[bool]:
    """Return a boolean for each leaf of a structure, from a tree that is no deeper.

    Containers match where they have as many children.

    Args:
      name: what the tree is, such as ``vjp(in_nzs=)``.
      given: the tree of booleans.
      structure: that of the values.

    Raises:
      ValueError: the tree does not match, or holds something else.
    """
    leaves, own = physical.flatten(given)
    if not all(isinstance(leaf, bool) for leaf in leaves):
        raise ValueError(f"{name} takes True and False, or trees of them, got {given!r}")

    def matched(
        own: tree.PyTreeDef, structure: tree.PyTreeDef, leaves: Iterator[bool]
    ) -> list[bool]:
        if _is_leaf(own):
            return [next(leaves)] * structure.num_leaves
        pair = own.children(), structure.children()
        if _is_leaf(structure) or len(pair[0]) != len(pair[1]):
            raise ValueError(
                f"{name} got {given!r}, which is no tree above arguments of structure "
                f"{structure_text(structure)}: "
                "containers have as many children, or one boolean stands for all"
            )
        return [flag for a, b in zip(*pair, strict=True) for flag in matched(a, b, leaves)]

    return matched(own, structure, iter(leaves))


def _cotangent_after(wanted: Any, aval: ShapedArray) -> Any:
    return wanted.read() if isinstance(wanted, Ref) else instantiate(Zero(aval))


def _given_back(wanted: Any, gradient: Any) -> Any:
    """Return what stands for the cotangent of a reference, which is written to another."""
    if isinstance(wanted, DontWant):
        return DidntWant()
    wanted.write(gradient)
    return GradRef()


def _accumulated(wanted: Any, gradient: Any) -> Any:
    """Return what stands for a gradient in the result, which is added to a reference if asked."""
    if isinstance(wanted, GradValue):
        return gradient
    if isinstance(wanted, DontWant):
        return DidntWant()
    own = AbstractRef(ShapedArray(gradient.shape, gradient.dtype))
    if wanted.aval != own:
        raise ValueError(
            f"with_refs got a reference of type {wanted.aval} for a gradient of type {own}"
        )
    wanted.addupdate(gradient)
    return GradRef()


def made(
    fun: Callable[..., Any],
    args: Sequence[Any],
    in_tree: Any,
    out_tree: Any,
    consts: Sequence[Any],
    saveable: Sequence[bool],
) -> VJP:
    """Return a way back, whose residuals that are arguments can be told from the others.

    Args:
      fun: the way back as a function of residuals and a cotangent.
      args: the leaves of the arguments.
      in_tree: their structure.
      out_tree: the structure of the value.
      consts: the residuals.
      saveable: for each argument whether it may be kept.
    """
    known = {id(arg): place for place, arg in enumerate(args)}
    places = tuple([known.get(id(const)) for const in consts])
    kept = [
        (arg if may else NotSaveable()) if place in places else NotNeeded()
        for place, (arg, may) in enumerate(zip(args, saveable, strict=True))
    ]
    opaque = [const for const, place in zip(consts, places, strict=True) if place is None]
    return VJP(fun, in_tree, out_tree, places, in_tree.unflatten(kept), opaque)


def taking_references(pullback: VJP, refs: Mapping[int, Ref]) -> VJP:
    """Return a way back of a function of values as one of references.

    Args:
      pullback: the way back, whose cotangent is (that of the value, those of values afterwards).
      refs: the references, by position among the arguments.
    """
    avals = tuple([(at, ref.aval.inner_aval.tangent()) for at, ref in refs.items()])
    return VJP(
        pullback.fun,
        pullback.in_tree,
        pullback.out_tree.children()[0],
        pullback.places,
        pullback.args_res,
        pullback.opaque_residuals,
        avals,
    )


tree.register_pytree_node(
    VJP,
    lambda pullback: (
        (pullback.args_res, pullback.opaque_residuals),
        (pullback.fun, pullback.in_tree, pullback.out_tree, pullback.places, pullback.refs),
    ),
    lambda fixed, children: VJP(*fixed[:-1], *children, refs=fixed[-1]),
)
