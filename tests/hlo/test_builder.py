"""The StableHLO builder: types, constants of every dtype, regions, locations."""

import ml_dtypes
import numpy as np
import pytest

from jxkernel import hlo

F32 = np.dtype(np.float32)


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (np.bool_, "tensor<2xi1>"),
        (np.uint8, "tensor<2xui8>"),
        (ml_dtypes.bfloat16, "tensor<2xbf16>"),
        (np.complex64, "tensor<2xcomplex<f32>>"),
        (ml_dtypes.float8_e5m2, "tensor<2xf8E5M2>"),
        (ml_dtypes.int4, "tensor<2xi4>"),
    ],
)
def test_types_of_dtypes(dtype, text):
    assert str(hlo.tensor_type((2,), np.dtype(dtype))) == text


def test_a_dtype_without_element_type_is_refused():
    with pytest.raises(TypeError, match="no element type"):
        hlo.tensor_type((), np.dtype("datetime64[s]"))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.array([True, False]), "dense<[true, false]>"),
        (np.array([1, -1], np.int8), "dense<[1, -1]>"),
        (np.array([1.5, 2], ml_dtypes.bfloat16), "dense<[1.500000e+00, 2.000000e+00]>"),
        (np.array(1 + 2j, np.complex64), "dense<(1.000000e+00,2.000000e+00)>"),
        (np.array([1, -2], ml_dtypes.int4), "dense<[1, -2]>"),
        (np.zeros((0, 3), np.float32), "dense<>"),
    ],
)
def test_constants_of_every_kind(value, text):
    assert text in str(hlo.dense_elements(value))


def test_names_in_a_module_are_unique():
    module = hlo.ModuleBuilder("m")
    names = [str(module.function("f", [], []).operation.attributes["sym_name"]) for _ in range(3)]
    assert names == ['"f"', '"f_1"', '"f_2"']


def test_locations_name_the_operation_and_the_line():
    module = hlo.ModuleBuilder("m")
    kind = hlo.tensor_type((), F32)
    function = module.function("main", [kind], [kind], public=True)
    function.builder.loc = hlo.file_location("cell.py", 3, 7, "sin")
    value = function.builder.value("stablehlo.sine", kind, function.arguments)
    function.returns([value])
    assert 'loc("cell.py":3:7)' in hlo.module_text(module.module, locations=True)
    assert module.module.operation.verify()


def test_regions_hold_their_own_blocks():
    module = hlo.ModuleBuilder("m")
    kind, scalar = hlo.tensor_type((3,), F32), hlo.tensor_type((), F32)
    function = module.function("main", [kind], [scalar], public=True)
    builder = function.builder
    reduce = builder.op(
        "stablehlo.reduce",
        [scalar],
        [function.arguments[0], builder.constant(0, F32)],
        {"dimensions": hlo.dense_i64_array((0,))},
        regions=1,
    )
    builder.region(
        reduce, 0, [scalar, scalar], lambda b, x, y: [b.value("stablehlo.add", scalar, (x, y))]
    )
    function.returns(reduce.results)
    assert module.module.operation.verify()
