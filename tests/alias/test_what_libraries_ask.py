"""What released libraries ask of the name ``jax``, a row each, and what they must get."""

import collections

import numpy as np
import pytest


def named(x):
    """Double: a callable whose name is no text."""
    return 2 * x


class Doubled:
    """A callable whose name is no text, as modules of equinox are."""

    __name__ = 3

    def __call__(self, x):
        return named(x)


Pair = collections.namedtuple("Pair", "first second")

ROWS = {
    "empty parts of signatures": "jnp.vectorize(lambda a, b: a * b.sum(), signature='(),(n)->()')"
    "(jnp.ones(2), x).tolist() == [3, 3]",
    "zeros of trees": "jax.custom_derivatives.zero_from_primal({'a': x}, symbolic_zeros=True)"
    "['a'].aval.shape == (3,)",
    "callables without a name": "jax.vmap(Doubled())(x).tolist() == [0, 2, 4]"
    " and jax.grad(Doubled())(1.0) == jax.jit(Doubled())(1.0) == 2",
    "named tuples as nodes": "jax.tree_util.register_pytree_node(Pair, lambda p: (p[:], None),"
    " lambda _, parts: Pair(*parts)) is None and jax.tree.leaves(Pair(1, 2)) == [1, 2]",
    "einsum by another product": "jnp.einsum('ij,jk->ik', jnp.eye(2), jnp.eye(2),"
    " _dot_general=jax.lax.dot_general).sum() == 2",
    "reduce_axes": "jax.value_and_grad(lambda x: x**2, reduce_axes=())(2.0) == (4, 4)",
    "types of scalars in types": "jax.eval_shape(lambda x: x + 1,"
    " jax.core.ShapedArray((2,), np.float32)).shape == (2,)",
    "methods of the class": "all(map(callable, (jax.Array.all, jax.Array.sum, jax.Array.astype)))",
    "what is array-like": "isinstance(x, typing.get_args(jax.typing.ArrayLike))",
    "settings": "jax.config.x64_enabled is False",
    "explicit axes": "jax.sharding.get_abstract_mesh().explicit_axes == ()",
    "transposed solutions": "strict(lambda: jax.scipy.linalg.lu_solve(jax.scipy.linalg.lu_factor("
    "2 * jnp.eye(2)), jnp.ones(2), trans=1)).tolist() == [0.5, 0.5]",
    "tangents are arrays": "isinstance(jax.jvp(lambda x: x + 1, (1.0,), (1.0,))[1], jax.Array)",
    "calls with rules": "[e.primitive.name for e in jax.make_jaxpr(jax.nn.relu)(1.0).eqns]"
    " == ['custom_jvp_call']",
    "formats": "len(jax.jit(lambda x: x).lower(x).compile().output_formats.layout.major_to_minor)"
    " == 1",
    "axes of abstract meshes": "jax.sharding.AbstractMesh((2,), ('x',)).manual_axes == ()",
    "texts of types": "jax.typeof(x).str_short() == 'float32[3]'",
    "sources of equations": "jax.make_jaxpr(jnp.sin)(1.0).eqns[0].source_info is not None",
    "texts of programs": "'sin' in jax.make_jaxpr(jnp.sin)(1.0).pretty_print()",
    "parts of pullbacks": "len(jax.vjp(jnp.sin, 1.0)[1].args_res) == 1",
    "axes of size 1": "jax.lax.mul(jnp.ones((3, 4)), jnp.ones((3, 1))).shape == (3, 4)",
    "loops without unrolling": "jax.lax.scan(lambda c, a: (c + a, None), 0.0, x, unroll=0)[0] == 3",
    "functions as attributes": "jax.lax.composite(lambda x, *, f: f(x), 'a.b')(x, f=jnp.sign)"
    ".tolist() == [0, 1, 1]",
    "arrays of other kinds": "jnp.asarray(Boxed()).tolist() == (Boxed() + jnp.zeros(2)).tolist()",
}


class Boxed:
    """An object that says which array it is."""

    def __jax_array__(self):
        return np.float32([1, 2])

    def __add__(self, other):
        return other + self


@pytest.mark.parametrize("expression", ROWS.values(), ids=ROWS)
def test_libraries_get_what_they_ask_for(alias, expression):
    import typing

    import jax
    import jax.numpy as jnp

    def strict(function):
        with jax.numpy_dtype_promotion("strict"):
            return function()

    names = {"jax": jax, "jnp": jnp, "typing": typing, "strict": strict, "x": jnp.arange(3.0)}
    assert eval(expression, {**globals(), **names})


def test_an_error_of_a_callback_is_one_of_the_runtime_that_carries_it(alias):
    import jax

    def fail(x):
        raise ValueError("the callback's own words")

    with pytest.raises(jax.errors.JaxRuntimeError, match="the callback's own words") as caught:
        jax.block_until_ready(
            jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct((), np.float32), x))(1.0)
        )
    assert isinstance(caught.value.__cause__, ValueError)


def test_jit_takes_platforms_by_name_and_fails_at_the_call(alias):
    import jax

    calls = []
    for where in ({"device": "cpu"}, {"backend": "cpu"}, {"backend": "nowhere"}):
        with pytest.warns(DeprecationWarning, match="is an older argument"):
            calls.append(jax.jit(named, **where))
    assert [float(call(1.0)) for call in calls[:2]] == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="nowhere"):
        calls[2](1.0)
