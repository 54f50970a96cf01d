"""Derivatives with respect to sparse arrays: those of stored elements, at the same places."""

from collections.abc import Callable, Sequence
from typing import Any

from jxkernel import numpy as jnp
from jxkernel.api.derivatives import autodiff
from jxkernel.api.derivatives import jacobian as dense
from jxkernel.experimental.sparse.formats import BCOO, JAXSparse, made
from jxkernel.tree import physical

__all__ = ["grad", "jacfwd", "jacobian", "jacrev", "value_and_grad"]

Function = Callable[..., Any]


def _is_sparse(x: Any) -> bool:
    return isinstance(x, JAXSparse)


def _data(argument: Any) -> Any:
    return physical.map(lambda x: x.data if _is_sparse(x) else x, argument, is_leaf=_is_sparse)


def _with_data(argument: Any, data: Any) -> Any:
    """Return an argument with other stored elements."""

    def replace(x: Any, new: Any) -> Any:
        if not _is_sparse(x):
            return new
        children, structure = physical.flatten(x)
        return structure.unflatten([new, *children[1:]])

    return physical.map(replace, argument, data, is_leaf=_is_sparse)


def _by_data(
    transform: Function, fun: Function, argnums: int | Sequence[int], how: dict[str, Any]
) -> tuple[Function, Function]:
    """Return a function of arguments that transforms by stored elements, and what undoes it.

    The second puts what was found for each argument back at the places that it has.
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    def transformed(*args: Any, **kwargs: Any) -> Any:
        def of_data(*data: Any) -> Any:
            full = list(args)
            for number, one in zip(numbers, data, strict=True):
                full[number] = _with_data(args[number], one)
            return fun(*full, **kwargs)

        places = tuple(range(len(numbers)))
        return transform(of_data, argnums=places, **how)(*[_data(args[n]) for n in numbers])

    def placed(args: Any, found: Any, place: Function) -> Any:
        whole = tuple(place(args[n], one) for n, one in zip(numbers, found, strict=True))
        return whole[0] if isinstance(argnums, int) else whole

    return transformed, placed


def grad(
    fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Function:
    """Return the gradient of a function, sparse where its argument is.

    Args:
      fun: a function of arrays and sparse arrays that gives a number.
      argnums: the positions of the arguments.
      has_aux: whether it gives a pair, of which the second is returned as it is.
      **kwargs: further arguments of ``jxkernel.grad``.

    >>> import jxkernel.numpy as jnp
    >>> from jxkernel.experimental import sparse
    >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 3.0], [2.0, 0.0]]))
    >>> sparse.grad(lambda m: jnp.sum((m @ jnp.ones(2)) ** 2))(m).todense().tolist()
    [[0.0, 6.0], [4.0, 0.0]]
    """
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    def gradient(*args: Any, **named: Any) -> Any:
        value, found = both(*args, **named)
        return (found, value[1]) if has_aux else found

    return gradient


def value_and_grad(
    fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
) -> Function:
    """Return a function of the value and the gradient: see ``grad``."""
    how = {"has_aux": has_aux, **kwargs}
    transformed, placed = _by_data(autodiff.value_and_grad, fun, argnums, how)

    def both(*args: Any, **named: Any) -> Any:
        value, found = transformed(*args, **named)
        return value, placed(args, found, _with_data)

    return both


def _jacobian(transform: Function, name: str) -> Function:
    def of(
        fun: Function, argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
    ) -> Function:
        how = {"has_aux": has_aux, **kwargs}
        transformed, placed = _by_data(transform, fun, argnums, how)

        def jacobian(*args: Any, **named: Any) -> Any:
            found = transformed(*args, **named)
            found, aux = found if has_aux else (found, None)
            whole = placed(args, found, _spread)
            return (whole, aux) if has_aux else whole

        return jacobian

    of.__name__ = of.__qualname__ = name
    of.__doc__ = f"""Return ``jxkernel.{name}`` of a function, sparse where its argument is.

    Args:
      fun: a function of arrays and sparse arrays that gives an array.
      argnums: the positions of the arguments.
      has_aux: whether it gives a pair, of which the second is returned as it is.
      **kwargs: further arguments of ``jxkernel.{name}``.
    """
    return of


def _spread(argument: Any, found: Any) -> Any:
    """Return derivatives of an array by stored elements, whose axes come before theirs."""
    if not isinstance(argument, BCOO):
        return found
    extra = found.ndim - argument.data.ndim
    batch = found.shape[:extra]
    indices = jnp.broadcast_to(argument.indices, (*batch, *argument.indices.shape))
    return made(found, indices, argument._sizes)


jacfwd = _jacobian(dense.jacfwd, "jacfwd")
jacrev = _jacobian(dense.jacrev, "jacrev")
jacobian = jacrev
