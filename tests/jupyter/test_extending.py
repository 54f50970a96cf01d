"""A primitive defined in the cells of a real kernel."""

from tests.jupyter.kernels import running_kernel

DEFINE = """
from jxkernel.core import Primitive, ShapedArray
triple_p = Primitive("triple")

def triple(x):
    return triple_p.bind(x)

@triple_p.def_abstract_eval
def triple_abstract_eval(x):
    return ShapedArray(x.shape, x.dtype)

@triple_p.def_lower
def triple_lower(context, x):
    twice = context.value("stablehlo.add", context.out_type, (x, x))
    return context.value("stablehlo.add", context.out_type, (twice, x))

@triple_p.def_batch
def triple_batch(axis, args, dims):
    return triple_p.bind(*args), dims[0]
"""

DERIVATIVES = """
@triple_p.def_jvp
def triple_jvp(primals, tangents):
    return triple_p.bind(*primals), triple_p.bind(*tangents)

@triple_p.def_transpose
def triple_transpose(ct, x):
    return [triple_p.bind(ct)]
"""

USE = """
def loss(x):
    return (triple(x) * x).sum()

scanned = lambda x: jx.lax.scan(lambda c, r: (c + triple(r), triple(c)), 0.0, x)[0]
results = [
    jx.jit(jx.grad(loss))(x[:3]),
    jx.vmap(jx.grad(loss))(x[:3]),
    jx.jacfwd(jx.jacrev(loss))(x[:2])[0],
    jx.grad(scanned)(x[:3]),
    jx.grad(jx.checkpoint(loss))(x[:3]),
    jx.jit(jx.vmap(lambda a: jx.lax.cond(a > 1, triple, jnp.sin, a)))(x[:3]).round(),
]
print([one.tolist() for one in results])
"""

EXPECTED = [
    [0.0, 6.0, 12.0],
    [0.0, 6.0, 12.0],
    [6.0, 0.0],
    [3.0, 3.0, 3.0],
    [0.0, 6.0, 12.0],
    [0.0, 1.0, 6.0],
]


def test_a_primitive_of_a_cell_works_under_every_transform_and_may_be_defined_again():
    with running_kernel() as kernel:
        kernel.ok(DEFINE)
        missing = kernel.run("jx.grad(lambda x: triple(x))(1.0)")
        assert missing.status == "error"
        assert "'triple' has no jvp rule" in missing.traceback
        assert "@triple_p.def_jvp" in missing.traceback
        kernel.ok(DERIVATIVES)
        assert kernel.ok(USE).streams.strip() == str(EXPECTED)
        # Both cells again: rules first, for a rule may be mended alone; then the primitive.
        kernel.ok(DERIVATIVES)
        kernel.ok("f = jx.jit(lambda x: triple(x)); f(1.0)")
        kernel.ok(DEFINE.replace("(twice, x)", "(twice, twice)"))
        kernel.ok(DERIVATIVES)
        reply = kernel.ok("print(f(1.0), triple(1.0), jx.grad(triple)(1.0))")
        assert "3.0 4.0 4.0\n" in reply.streams, "what was traced keeps its primitive"
        assert "f was traced with triple, which has changed since" in reply.streams
