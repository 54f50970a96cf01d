"""Where and when a function is computed: what the compiler is told, and that results stay."""

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental.compute_on import compute_on
from jxkernel.experimental.overlap import program_order
from jxkernel.experimental.scheduling_groups import scheduling_group
from jxkernel.memory import Space

DEVICE = {"out_memory_spaces": Space.Device}


def lowered(f, *args):
    return jx.jit(f).lower(*args).as_text()


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("device", '_xla_compute_type = "dense"'),
        ("device_host", '_xla_compute_type = "host"'),
        ("tpu_sparsecore", '_xla_compute_type = "sparseoffload"'),
        ("gpu_stream:1", '_xla_stream_annotation = "1", inlineable = "false"'),
    ],
)
def test_compilers_are_told_where_of_calls_and_of_what_they_call(place, told):
    @compute_on(compute_type=place, **DEVICE)
    def double(x):
        return x * 2

    text = lowered(lambda x: double(x) + 1, 1.0)
    call, multiply, add = [
        next(line for line in text.splitlines() if word in line)
        for word in ("call @", "stablehlo.multiply", "stablehlo.add")
    ]
    assert told in call
    assert told in multiply
    assert told not in add


def test_functions_that_are_computed_elsewhere_are_the_same():
    f = compute_on(lambda x, *, y: {"a": x * y}, compute_type="device_host", **DEVICE)
    assert float(f(3.0, y=2.0)["a"]) == 6.0
    assert float(jx.grad(lambda x: f(x, y=2.0)["a"])(3.0)) == 2.0
    assert jx.vmap(lambda x: f(x, y=2.0)["a"])(jnp.ones(3)).tolist() == [2.0] * 3
    assert float(jx.jit(f)(3.0, y=2.0)["a"]) == 6.0


def test_results_lie_in_the_spaces_asked_for():
    def pair(x):
        return x + 1, [x]

    both = compute_on(pair, compute_type="device_host", out_memory_spaces=Space.Host)(1.0)
    assert {leaf.sharding.memory_kind for leaf in jx.tree.leaves(both)} == {"pinned_host"}
    spaces = (Space.Device, Space.Host)
    first, (second,) = compute_on(pair, compute_type="device_host", out_memory_spaces=spaces)(1.0)
    assert first.sharding.memory_kind == "device"
    assert second.sharding.memory_kind == "pinned_host"


@pytest.mark.parametrize(
    ("how", "error", "said"),
    [
        ({"compute_type": "moon", **DEVICE}, ValueError, "compute_type='moon': there are 'device'"),
        ({"compute_type": 3, **DEVICE}, ValueError, "compute_type=3"),
        (
            {"compute_type": "device", **DEVICE, "compiler_options": {"a": 1}},
            NotImplementedError,
            "passes no compiler_options",
        ),
        (
            {"compute_type": "device", "out_memory_spaces": "device"},
            ValueError,
            "'device' in out_memory_spaces",
        ),
        ({"compute_type": "device", "out_memory_spaces": (Space.Host,) * 2}, ValueError, "tree"),
    ],
)
def test_places_that_do_not_exist_are_refused(how, error, said):
    with pytest.raises(error, match=said):
        compute_on(lambda x: x, **how)(1.0)
    with pytest.raises(TypeError, match="callable"):
        compute_on(3, compute_type="device", **DEVICE)


def test_a_group_is_told_of_calls_and_of_derivatives():
    f = scheduling_group(3)(lambda x: jnp.sin(x) * 2)
    assert float(f(0.0)) == 0.0
    for text in (lowered(f, 1.0), lowered(jx.grad(f), 1.0)):
        assert 'scheduling_group = "3"' in text


def two(x, y):
    return jnp.sin(x) * 2.0, jnp.cos(y)


def test_barriers_stand_between_operations():
    program = jx.make_jaxpr(program_order(two, enforce=True))(1.0, 2.0)
    assert str(program) == (
        "{ lambda ; a:f32[] b:f32[]. let\n"
        "    c:f32[] = sin a\n"
        "    d:f32[] = optimization_barrier c\n"
        "    e:f32[] = mul d 2.0:f32[]\n"
        "    f:f32[] g:f32[] = optimization_barrier e b\n"
        "    h:f32[] = cos g\n"
        "  in (f, h) }"
    )


@pytest.mark.parametrize(
    ("strict", "count"), [(False, 2), ((True, False), 3), ((False, True), 3), (True, 4)]
)
def test_the_ends_may_be_strict(strict, count):
    f = program_order(two, enforce=True, strict_in_out=strict)
    assert str(jx.make_jaxpr(f)(1.0, 2.0)).count("optimization_barrier") == count
    assert [float(y) for y in f(1.0, 2.0)] == [float(y) for y in two(1.0, 2.0)]


def test_ordered_functions_are_the_same():
    @program_order(enforce=True)
    def f(x, *, key):
        return {"y": jnp.cos(jnp.sin(x) * jx.random.uniform(key))}

    key = jx.random.key(0)
    plain = f.__wrapped__
    for transform in (lambda f: f, jx.jit, lambda f: jx.jacfwd(f), lambda f: jx.jacrev(f)):
        found, wanted = transform(f)(1.0, key=key)["y"], transform(plain)(1.0, key=key)["y"]
        assert float(found) == pytest.approx(float(wanted), rel=1e-6)
    assert jx.vmap(lambda x: f(x, key=key)["y"])(jnp.ones(3)).shape == (3,)
    scale = jnp.arange(3.0)
    assert (
        jx.grad(lambda s: program_order(lambda x: (x * s).sum(), enforce=True)(2.0))(scale).tolist()
        == [2.0] * 3
    )


def test_an_order_that_is_not_kept_changes_nothing():
    assert program_order(two, enforce=False, exclude_argnames="y") is two
    with pytest.raises(ValueError, match="strict_in_out and enforce=False"):
        program_order(two, enforce=False, strict_in_out=True)
    with pytest.raises(ValueError, match="exclude_argnames and enforce=True"):
        program_order(two, enforce=True, exclude_argnames="y")
    with pytest.raises(TypeError, match="callable"):
        program_order(3, enforce=True)
