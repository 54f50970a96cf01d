"""Layouts and formats: what arrays and programs tell, and what is taken where shardings are."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel._jaxlib import version
from jxkernel.experimental.layout import Format, Layout
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
