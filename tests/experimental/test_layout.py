"""Layouts and formats: what arrays and programs tell, and what is taken where shardings are."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel._jaxlib import version
from jxkernel.experimental.layout import Format, Layout, with_layout_constraint
from tests.many_devices import over

ROWS, COLUMNS = Layout((0, 1)), Layout((1, 0))


@pytest.fixture
def x():
    return jnp.arange(6.0).reshape(2, 3)


def test_formats_of_arrays_are_row_major_where_they_lie(x, mesh):
    assert x.format == Format(Layout((0, 1), ()), x.sharding)
    assert x.T.format.layout.major_to_minor == (0, 1)
    told = jnp.zeros(3, "int4").format.layout.sub_byte_element_size_in_bits
    assert told == 4 or (told == 0 and version < (0, 12))  # older jaxlibs do not tell it
    divided = jx.device_put(jnp.zeros((4, 2)), over(mesh, "x"))
    assert divided.format.sharding == divided.sharding
    assert jx.ShapeDtypeStruct((2,), np.float32).format == Format()


def test_formats_stand_where_shardings_may(x, mesh):
    asked = Format(ROWS, over(mesh, None, None))
    put = jx.device_put({"x": np.ones((2, 2))}, asked)["x"]
    assert put.sharding == asked.sharding
    assert jx.jit(jnp.sin, in_shardings=asked, out_shardings=asked)(x).sharding == asked.sharding
    assert jx.ShapeDtypeStruct((2, 3), np.float32, sharding=asked).sharding == asked.sharding
    for open_format in (Format(), Format(Layout.AUTO)):
        assert jx.device_put(x, open_format) is x
        assert jx.jit(jnp.sin, in_shardings=open_format, out_shardings=open_format)(x).shape == (
            2,
            3,
        )


def test_compiled_functions_tell_formats_of_arguments_and_results(x):
    constant = jnp.arange(3.0)
    compiled = jx.jit(lambda a, unread, *, b: [a * 2, b + constant]).lower(x, x, b=x[0]).compile()
    (first, unread), named = compiled.input_formats
    assert first.layout.major_to_minor == (0, 1)
    assert unread == Format()
    assert named["b"].layout.major_to_minor == (0,)
    assert [f.layout.major_to_minor for f in compiled.output_formats] == [(0, 1), (0,)]
    assert first.sharding == compiled.input_shardings[0][0]


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda x: Layout(3), TypeError, "a sequence of axes as major_to_minor, got 3"),
        (lambda x: Layout((0, 2)), ValueError, r"each axis once as major_to_minor, got \(0, 2\)"),
        (lambda x: Format((0, 1), x.sharding), TypeError, "needs a Layout, .* of type tuple"),
        (lambda x: Format(None, 3), TypeError, "needs a sharding or None as sharding, got 3"),
        (lambda x: Format(ROWS), ValueError, "and no sharding: say where the array lies"),
        (
            lambda x: jx.device_put(x, Format(COLUMNS, x.sharding)),
            NotImplementedError,
            r"device_put device got a layout .*\(1, 0\): arrays are row-major here \(\(0, 1\)\)",
        ),
        (
            lambda x: jx.jit(jnp.sin, out_shardings=Format(COLUMNS, x.sharding))(x),
            NotImplementedError,
            "jit out_shardings got a layout",
        ),
        (
            lambda x: jx.ShapeDtypeStruct((2, 3), float, sharding=Format(COLUMNS, x.sharding)),
            NotImplementedError,
            "ShapeDtypeStruct got a layout",
        ),
    ],
)
def test_other_layouts_are_refused(make, error, said, x):
    with pytest.raises(error, match=said):
        make(x)


def test_values_of_programs_lie_as_they_are_to(x):
    f = jx.jit(lambda x: with_layout_constraint(x, COLUMNS) * 2)
    assert "@LayoutConstraint" in f.lower(x).as_text()
    assert "operand_layouts = [dense<[0, 1]> : tensor<2xindex>]" in f.lower(x).as_text()
    np.testing.assert_array_equal(f(x), 2 * x)
    np.testing.assert_array_equal(jx.jit(lambda x: with_layout_constraint(x, COLUMNS))(x), x)
    assert with_layout_constraint(x, ROWS) is x
    tree = jx.jit(lambda t: with_layout_constraint(t, COLUMNS))({"a": x, "b": x + 1})
    np.testing.assert_array_equal(tree["b"], x + 1)
    several = {"a": COLUMNS, "b": ROWS}
    text = jx.jit(lambda t: with_layout_constraint(t, several)).lower({"a": x, "b": x}).as_text()
    assert "[dense<[1, 0]> : tensor<2xindex>]" in text


def test_an_order_passes_transforms(x):
    def f(x):
        return (with_layout_constraint(x * 2, COLUMNS) ** 2).sum()

    np.testing.assert_array_equal(jx.jit(jx.grad(f))(x), 8 * x)
    np.testing.assert_array_equal(jx.jit(lambda x: jx.jvp(f, (x,), (x,))[1])(x), 8 * (x**2).sum())
    assert jx.jit(jx.grad(f)).lower(x).as_text().count("@LayoutConstraint") == 2
    batched = jx.jit(jx.vmap(lambda x: with_layout_constraint(x, COLUMNS), in_axes=2))
    many = jnp.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(batched(many), np.moveaxis(np.asarray(many), 2, 0))
    assert "operand_layouts = [dense<[0, 1, 2]> : tensor<3xindex>]" in batched.lower(many).as_text()


def test_an_order_holds_over_meshes(mesh):
    divided = jx.device_put(np.arange(8.0, dtype=np.float32).reshape(4, 2), over(mesh, "x", "y"))
    found = jx.jit(lambda x: with_layout_constraint(x, COLUMNS) + 1)(divided)
    np.testing.assert_array_equal(found, np.asarray(divided) + 1)


@pytest.mark.parametrize(
    ("use", "error", "said"),
    [
        (lambda x: with_layout_constraint(x, 3), ValueError, "takes a Layout for each array"),
        (
            lambda x: with_layout_constraint(x, Format(ROWS, x.sharding)),
            ValueError,
            "takes a Layout for each array",
        ),
        (lambda x: with_layout_constraint(x, Layout((0,))), ValueError, r"of shape \(2, 3\)"),
        (lambda x: with_layout_constraint(x, COLUMNS), NotImplementedError, "row-major here"),
    ],
)
def test_orders_that_cannot_be_are_refused(x, use, error, said):
    with pytest.raises(error, match=said):
        use(x)
