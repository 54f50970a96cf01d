"""Wrong input: the error names the function, the argument, what was given and what would work."""

import inspect
import re

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import (
    ConcretizationTypeError,
    NoMeshError,
    ShapeMismatchError,
    TracerIntegerConversionError,
)

X = jnp.ones((2, 3))
V = jnp.ones(3)
KEY = jx.random.key(0)

OF_VALUES = [
    ("choose(mode='raise')", lambda x: jnp.choose(x, [V, V])),
    ("ravel_multi_index(mode='raise')", lambda x: jnp.ravel_multi_index((x,), (3,))),
    ("trim_leading_zeros=True", lambda x: jnp.polymul(x, x, trim_leading_zeros=True)),
]


@pytest.mark.parametrize(("named", "call"), OF_VALUES)
def test_a_choice_that_needs_values_says_so_where_they_are_traced(named, call):
    with pytest.raises(ConcretizationTypeError) as caught:
        jx.jit(call)(np.arange(3) % 2)
    assert f"{named} needs a concrete value" in str(caught.value)


TRACED = [
    ("reshape(..., shape=...)", lambda k: X.reshape(k, 3)),
    ("reshape(..., shape=...)", lambda k: jnp.reshape(X, (k, -1))),
    ("zeros(..., shape=...)", jnp.zeros),
    ("ones(..., shape=...)", lambda k: jnp.ones((k, 2))),
    ("full(..., shape=...)", lambda k: jnp.full(k, 1.0)),
    ("linspace(..., num=...)", lambda k: jnp.linspace(0, 1, k)),
    ("eye(..., N=...)", jnp.eye),
    ("tri(..., N=...)", jnp.tri),
    ("triu(..., k=...)", lambda k: jnp.triu(X, k)),
    ("diag(..., k=...)", lambda k: jnp.diag(V, k)),
    ("vander(..., N=...)", lambda k: jnp.vander(V, k)),
    ("split(..., indices_or_sections=...)", lambda k: jnp.split(V, k)),
    ("broadcast_to(..., shape=...)", lambda k: jnp.broadcast_to(V, (k, 3))),
    ("sum(..., axis=...)", lambda k: jnp.sum(X, axis=k)),
    ("concatenate(..., axis=...)", lambda k: jnp.concatenate([X, X], axis=k)),
    ("stack(..., axis=...)", lambda k: jnp.stack([V, V], axis=k)),
    ("transpose(..., axis=...)", lambda k: jnp.transpose(X, (k, 1))),
    ("expand_dims(..., axis=...)", lambda k: jnp.expand_dims(V, k)),
    ("sort(..., axis=...)", lambda k: jnp.sort(V, axis=k)),
    ("rot90(..., k=...)", lambda k: jnp.rot90(X, k)),
    ("bincount(..., length=...)", lambda k: jnp.bincount(jnp.arange(3), length=k)),
    ("polyder(..., m=...)", lambda k: jnp.polyder(V, k)),
    ("one_hot(..., num_classes=...)", lambda k: jx.nn.one_hot(jnp.arange(3), k)),
    ("top_k(..., k=...)", lambda k: jnp.top_k(V, k)),
]


@pytest.mark.parametrize(("named", "call"), TRACED)
def test_a_traced_number_that_shapes_the_program_is_named(named, call):
    with pytest.raises(TracerIntegerConversionError) as caught:
        jx.jit(call)(1)
    message = str(caught.value)
    assert f"{named} needs a Python integer" in message
    assert "static_argnames" in message
    assert "depends on the traced argument" in message


def test_a_traced_end_of_a_range_is_named():
    with pytest.raises(ConcretizationTypeError, match=r"arange\(..., stop=...\) needs a concrete"):
        jx.jit(lambda k: jnp.arange(0, k))(3)


# Each row: the call, the error's class, words of the message in order.
WRONG = [
    # shapes
    (
        lambda: jnp.compress(jnp.array([True, False, True]), X, axis=0),
        ValueError,
        "compress got a condition of 3 elements that holds beyond the 2 parts",
    ),
    (lambda: X.reshape(4, 2), TypeError, r"reshape .*\(4, 2\) .*\(2, 3\) and 6 elements"),
    (lambda: X.reshape(-1, -1), ValueError, r"reshape got shape \(-1, -1\)"),
    (lambda: X.reshape("a"), TypeError, "reshape got shape='a' of type str"),
    (lambda: X.reshape(2.0, 3), TypeError, "reshape got shape=2.0 of type float"),
    (lambda: jnp.zeros(-1), ValueError, r"zeros got shape=\(-1,\)"),
    (lambda: jnp.zeros("a"), TypeError, "zeros got shape='a'"),
    (lambda: jnp.ones(2.5), TypeError, "ones got shape=2.5"),
    (lambda: X + jnp.ones((3, 2)), ShapeMismatchError, r"add got shapes \(2, 3\) and \(3, 2\)"),
    (lambda: X @ X, ShapeMismatchError, r"matmul got shapes \(2, 3\) and \(2, 3\)"),
    (lambda: jnp.dot(X, X), ShapeMismatchError, r"dot got .* axis 1 of the first .* axis 0"),
    (lambda: jnp.vdot(V, V[:2]), ShapeMismatchError, r"vdot got shapes \(3,\) and \(2,\)"),
    (lambda: jnp.inner(V, V[:2]), ShapeMismatchError, r"inner got shapes \(3,\) and \(2,\)"),
    (lambda: jnp.tensordot(X, X, 1), ShapeMismatchError, "tensordot got shapes"),
    (lambda: jnp.einsum("ij,jk", X, X), ValueError, "einsum got sizes 3 and 2 for the label 'j'"),
    (lambda: jnp.einsum("ii->i", X), ValueError, "sizes 2 and 3 for the label 'i' of one operand"),
    (lambda: jnp.einsum("ii", X[:1]), ValueError, "sizes 1 and 3 for the label 'i' of one operand"),
    (lambda: jnp.einsum("ij", V), ValueError, "einsum got subscripts 'ij' for operand 0"),
    (lambda: jnp.concatenate([X, V]), ShapeMismatchError, r"concatenate got shapes \(2, 3\)"),
    (lambda: jnp.concatenate([]), ValueError, "concatenate needs at least one array"),
    (lambda: jnp.concatenate(3), TypeError, "concatenate takes a sequence of arrays, got 3"),
    (lambda: jnp.stack([X, V]), ValueError, r"stack needs arrays of one shape, got \(2, 3\), "),
    (lambda: jnp.split(V, 2), ValueError, "split cannot divide an axis of size 3 into 2"),
    (
        lambda: jnp.broadcast_to(X, (3, 3)),
        ValueError,
        r"cannot be broadcast to .*\(3, 3\)",
    ),
    (lambda: jnp.histogram(X, bins=-1), ValueError, "histogram got bins=-1"),
    (
        lambda: jnp.interp(1, V, V[:2]),
        ValueError,
        r"interp takes two vectors, got .*\(2,\)",
    ),
    (lambda: lax.add(X, V), ShapeMismatchError, "add got shapes .* jxkernel.numpy broadcasts"),
    (lambda: lax.conv(X, X, (1,), "SAME"), ValueError, r"window_strides=\(1,\) for 0 spatial axes"),
    # dtypes and kinds of argument
    (lambda: jnp.add(X, None), TypeError, "add takes arrays and numbers, got None .* argument 1"),
    (lambda: jnp.sum([1, 2]), TypeError, r"sum takes .* got \[1, 2\] .* write jnp.asarray"),
    (lambda: jnp.zeros(2, "nope"), TypeError, "'nope'"),
    (lambda: jnp.zeros(2, object), TypeError, "cannot have the dtype object"),
    (lambda: jnp.array("a"), TypeError, "only booleans and numbers"),
    (lambda: jnp.floor(1j), TypeError, "floor does not accept dtype complex64"),
    (lambda: X << 1, TypeError, "shift_left does not accept dtype float32 .* integer dtypes"),
    (lambda: jnp.bincount(V), TypeError, "bincount counts integers, got dtype float32"),
    (lambda: lax.add(V, jnp.arange(3)), TypeError, r"add needs operands of one dtype.*astype"),
    # axes
    (lambda: jnp.sum(X, axis=2), ValueError, "sum got axis 2 .* axes are from -2 to 1"),
    (lambda: jnp.sum(X, axis="a"), TypeError, "sum got axis='a' of type str"),
    (lambda: jnp.sum(X, axis=(0, 0)), ValueError, r"sum got axes \(0, 0\): .* once"),
    (lambda: jnp.sort(X, axis=3), ValueError, "sort got axis 3"),
    (lambda: jnp.moveaxis(X, 0, 5), ValueError, "moveaxis got axis 5"),
    (lambda: jnp.squeeze(X, 0), ValueError, r"cannot squeeze axes \(0,\) of shape \(2, 3\)"),
    (lambda: jx.random.categorical(KEY, V, axis=3), ValueError, "random.categorical got axis 3"),
    (lambda: jx.nn.softmax(X, axis=3), ValueError, "softmax got axis 3"),
    # indices
    (lambda: X[0, 0, 0], IndexError, "too many indices: the array has rank 2, and 3 are indexed"),
    (lambda: X["a"], TypeError, "got 'a' of type str"),
    (lambda: X[1.5], TypeError, "got 1.5 of type float"),
    (lambda: X[[0, 1]], TypeError, r"a list is not an index: write x\[jnp.array"),
    (lambda: X[jnp.array([0.5])], TypeError, "integers or booleans, got an array of dtype float32"),
    (lambda: X[jnp.ones((3, 3), bool)], IndexError, r"boolean index of shape \(3, 3\)"),
    (lambda: X.at[0].set(jnp.ones(7)), ValueError, r"\(7,\) cannot be broadcast to shape \(3,\)"),
    (lambda: X.at[0].set(1, mode="zz"), ValueError, "indexing mode 'zz': there are 'fill'"),
    (lambda: jnp.take(X, 0, mode="zz"), ValueError, "mode 'zz'"),
    (lambda: jnp.insert(V, 5, 1), IndexError, "insert got obj=5, out of bounds .* from -3 to 3"),
    (lambda: jnp.insert(V, X > 0, 1), IndexError, r"insert got a mask of shape \(2, 3\) as obj"),
    (lambda: jnp.delete(V, 3), IndexError, "delete got obj=3, out of bounds .* from -3 to 2"),
    (lambda: jnp.delete(V, X[0, :2] > 0), IndexError, r"delete got a mask of shape \(2,\) as obj"),
    (lambda: jnp.arange(0, 1, 0), ZeroDivisionError, "arange got step=0"),
    # keys
    (lambda: jx.random.normal(0), TypeError, "random.normal takes a key, made by random.key"),
    (lambda: jx.random.split("a"), TypeError, "random.split takes a key"),
]


Z = jnp.array([1 + 1j, 2])
BY_PART = [
    (lambda: jnp.median(X, axis=5), ValueError, "median got axis 5"),
    (lambda: jnp.median(Z), TypeError, "median does not accept dtype complex64"),
    (lambda: jnp.percentile("a", 5), TypeError, "percentile takes arrays"),
    (lambda: jnp.nanargmax(X, axis=5), ValueError, "nanargmax got axis 5"),
    (lambda: jnp.nanargmin(jnp.zeros(0)), ValueError, "nanargmin of no elements"),
    (lambda: jnp.nanmax(X, axis=5), ValueError, "nanmax got axis 5"),
    (lambda: jnp.nansum([1, 2]), TypeError, r"nansum takes .* got \[1, 2\]"),
    (lambda: jnp.nancumsum(X, axis=5), ValueError, "nancumsum got axis 5"),
    (lambda: jnp.ptp(X, axis=5), ValueError, "ptp got axis 5"),
    (lambda: jnp.modf(Z), TypeError, "modf does not accept dtype complex64"),
    (lambda: jnp.unwrap(Z), TypeError, "unwrap does not accept dtype complex64"),
    (lambda: jnp.cross(V, V, axis=5), ValueError, "cross got axis 5"),
    (lambda: jnp.unstack(V, axis=5), ValueError, "unstack got axis 5"),
    (lambda: jnp.append(V, V, axis=5), ValueError, "append got axis 5"),
    (lambda: jnp.ravel("a"), TypeError, "ravel takes arrays"),
    (lambda: jnp.trace(V), ValueError, r"trace needs an array of rank 2 or more, got shape \(3,\)"),
    (lambda: jnp.fliplr(V), ValueError, r"fliplr needs an array of rank 2 or more"),
    (lambda: jnp.sort_complex(jnp.float32(1)), ValueError, "sort_complex got axis -1"),
    (lambda: jnp.partition(V, 1.5), TypeError, "partition got kth=1.5 of type float"),
    (lambda: jnp.unique_values("a"), TypeError, "unique_values takes arrays"),
    (lambda: jnp.hanning(2.5), TypeError, "hanning got M=2.5 of type float"),
    (lambda: jnp.indices((2.5,)), TypeError, "indices got dimensions=2.5 of type float"),
    (lambda: jnp.identity(2.5), TypeError, "identity got n=2.5 of type float"),
    (lambda: jnp.pad(V, 1.5), TypeError, "pad got pad_width=1.5"),
    (lambda: jnp.pad(V, 1, ["edge"]), NotImplementedError, r"pad got mode \['edge'\]: there are"),
    (lambda: jnp.quantile(V, 0.5, weights=V), NotImplementedError, "needs method='inverted_cdf'"),
    (lambda: jnp.std(V, ddof=None), TypeError, "std got ddof=None: it takes a number"),
    (lambda: jnp.nanvar(V, ddof=None), TypeError, "nanvar got ddof=None: it takes a number"),
    (lambda: jnp.outer(V, V, out=np.ones((3, 3))), NotImplementedError, r"outer\(out=...\)"),
    (lambda: jnp.linspace(0, 3, axis=1), IndexError, "linspace got axis 1 for an array of rank 1"),
    (lambda: jnp.logspace(0, V, axis=-3), IndexError, "got axis -3 for an array of rank 2"),
    (lambda: jnp.unique(V, size=-1), ValueError, "unique got size=-1: it is 0 or more"),
    (lambda: jnp.tile(V, 1.5), TypeError, "tile got reps=1.5"),
    (lambda: jnp.fft.fftfreq(2.5), TypeError, "fftfreq got n=2.5"),
    (lambda: jnp.zeros(2, "foo"), TypeError, "zeros got dtype='foo'"),
    (lambda: X.astype("foo"), TypeError, "astype got dtype='foo'"),
    (lambda: jnp.linspace("a", 1), TypeError, "linspace takes arrays and numbers, got 'a'"),
    (lambda: jnp.arange(None), TypeError, "arange got start=None"),
    (lambda: jnp.where(V > 0, V, X[:, :2]), ValueError, r"where got shapes \(3,\)"),
    (lambda: jnp.broadcast_arrays(V, X[:, :2]), ValueError, r"broadcast_arrays got shapes \(3,"),
    (lambda: jnp.asarray([V, X]), TypeError, "array got a list of arrays of unequal shapes"),
    (lambda: jnp.repeat(V, "a"), TypeError, "repeat got repeats='a'"),
    (lambda: jnp.repeat(V, -1), ValueError, "repeat got repeats=-1"),
    (lambda: jnp.repeat(V, np.array([1, -1, 1])), ValueError, "repeat got repeats=.*not negative"),
    (lambda: jnp.round(V, 1.5), TypeError, "round got decimals=1.5"),
    (lambda: jnp.outer([1], V), TypeError, r"outer takes .* got \[1\]"),
    (lambda: jnp.resize([1], 2), TypeError, r"resize takes .* got \[1\]"),
    (lambda: jnp.tensordot(V, X), TypeError, r"tensordot\(axes=2\) needs as many axes"),
    (lambda: jnp.transpose(X, (0, 0)), TypeError, r"transpose got axes \(0, 0\)"),
    (lambda: jnp.fromfunction(3, (2,)), TypeError, "fromfunction .*callable.* 3"),
    (lambda: jnp.linalg.matrix_power(jnp.eye(2), 1.5), TypeError, "matrix_power got n=1.5"),
    (lambda: lax.add(V, "a"), TypeError, "add: Value 'a' .* is not a valid array type"),
    (lambda: lax.sin([1.0]), TypeError, r"sin: Value \[1.0\]"),
    (lambda: lax.dynamic_slice(V, (0, 0), (1,)), ValueError, "dynamic_slice got 2 start indices"),
    (lambda: jx.random.normal(KEY, "a"), TypeError, "random.normal got shape='a'"),
    (lambda: jx.random.exponential(KEY, -1), ValueError, r"random.exponential got shape=\(-1,\)"),
    (lambda: jx.random.choice(KEY, 3, "a"), TypeError, "random.choice got shape='a'"),
    (lambda: jx.random.split(KEY, "a"), TypeError, "random.split got num='a'"),
    (lambda: jx.random.split(KEY, -1), ValueError, r"random.split got num=\(-1,\)"),
    (lambda: jx.random.orthogonal(KEY, "a"), TypeError, "random.orthogonal got n='a'"),
    (lambda: jx.random.key(1.5), TypeError, "random.key takes an integer as seed, got 1.5"),
    (lambda: jx.image.resize(X, ("a", 3), "linear"), TypeError, "resize got shape='a'"),
    (lambda: jx.grad(lambda x: x)("a"), TypeError, "the gradient of .* was given 'a'"),
]


@pytest.mark.parametrize(("call", "error", "words"), BY_PART)
def test_functions_made_of_others_name_themselves(call, error, words):
    with pytest.raises(error, match=words):
        call()


OF_OPERATIONS = [
    (jnp.fmod, (Z, 2), "fmod(c64[2], 2)"),
    (jnp.trunc, (Z,), "trunc(c64[2])"),
    (jnp.copysign, (Z, Z), "copysign(c64[2], c64[2])"),
    (jnp.negative, (jnp.array([True]),), "negative(bool[1])"),
    (lambda x: -x, (jnp.array([True]),), "negative(bool[1])"),
]


@pytest.mark.parametrize(("function", "args", "told"), OF_OPERATIONS)
def test_errors_of_operations_tell_the_call(function, args, told):
    for run in (function, jx.jit(function)):
        with pytest.raises(TypeError) as caught:
            run(*args)
        assert told.split("(")[0] in "".join(caught.value.__notes__)
    with pytest.raises(TypeError) as caught:
        function(*args)
    assert caught.value.__notes__ == [f"The call: {told}"]


@pytest.mark.parametrize(("call", "error", "words"), WRONG)
def test_errors_say_what_was_given_and_what_would_work(call, error, words):
    with pytest.raises(error, match=words):
        call()


PLACED = [
    (jnp.zeros, 3),
    (jnp.ones, 3),
    (jnp.empty, 3),
    (jnp.full, 3, 1.0),
    (jnp.arange, 3),
    (jnp.array, V),
    (jnp.asarray, V),
    (jnp.zeros_like, V),
    (jnp.ones_like, V),
    (jnp.empty_like, V),
    (jnp.full_like, V, 1.0),
    (jnp.linspace, 0, 1, 3),
    (jnp.eye, 3),
    (jnp.fft.fftfreq, 3),
    (jx.random.normal, KEY),
    (jx.random.cauchy, KEY),
    (jx.random.permutation, KEY, 3),
]


@pytest.mark.parametrize(("function", "args"), [(row[0], row[1:]) for row in PLACED])
def test_a_place_that_is_none_is_told_with_the_function(function, args):
    name = function.__name__ if function.__module__ != "jxkernel.random" else "random."
    for argument in set(inspect.signature(function).parameters) & {"device", "out_sharding"}:
        with pytest.raises(TypeError, match=f"{name}.* got 'there' of type str in {argument}"):
            function(*args, **{argument: "there"})
        with pytest.raises(NoMeshError, match=f"{name}.* {argument} requires a non-empty mesh"):
            function(*args, **{argument: jx.P("x")})


def test_assignment_shows_the_line_to_write():
    with pytest.raises(TypeError, match=r"x = x.at\[0\].set\(1\)"):
        X[0] = 1


def test_whole_numbers_of_every_kind_are_taken():
    for number in (2, np.int64(2), jnp.array(2)):
        assert jnp.zeros((number, 3)).shape == X.reshape(number, 3).shape == (2, 3)


GATHER = lax.GatherDimensionNumbers((1,), (0,), (0,))
SCATTER = lax.ScatterDimensionNumbers((1,), (0,), (0,))
PLACES = jnp.zeros((2, 1), int)
IMAGE, KERNEL = jnp.ones((1, 2, 5, 5)), jnp.ones((3, 2, 3, 3))


def convolve(*args, strides=(1, 1), **how):
    return lax.conv_general_dilated(IMAGE, KERNEL, strides, *(args or ("SAME",)), **how)


OF_LAX = [
    ("broadcast_in_dim got shape=5", lambda: lax.broadcast_in_dim(X, 5, (0, 1))),
    ("broadcast_in_dim got shape=2.5", lambda: lax.broadcast_in_dim(X, (2.5, 3), (0, 1))),
    ("broadcast_in_dim got shape (2, -3)", lambda: lax.broadcast_in_dim(X, (2, -3), (0, 1))),
    ("broadcast_in_dim got broadcast_dimensions=0", lambda: lax.broadcast_in_dim(X, (2, 3), 0)),
    ("dimensions (0,) of shape (2, 3)", lambda: lax.broadcast_in_dim(X, (2, 3), (0,))),
    ("dimensions (0, 2) of shape (2, 3)", lambda: lax.broadcast_in_dim(X, (2, 3), (0, 2))),
    ("dimensions must differ", lambda: lax.broadcast_in_dim(X, (2, 3), (1, 1))),
    ("broadcast_in_dim: Value [1]", lambda: lax.broadcast_in_dim([1], (2,), (0,))),
    ("reduce_sum got axes=0 of type int", lambda: lax.reduce_sum(X, 0)),
    ("reduce_sum got axes=None", lambda: lax.reduce_sum(X, None)),
    ("reduce_sum got axes=0.5", lambda: lax.reduce_sum(X, (0.5,))),
    ("reduce_sum got axes='a'", lambda: lax.reduce_sum(X, "a")),
    ("reduce_sum got axes (2,)", lambda: lax.reduce_sum(X, (2,))),
    ("reduce_sum got axes (0, 0)", lambda: lax.reduce_sum(X, (0, 0))),
    ("reduce_sum: Value 'a'", lambda: lax.reduce_sum("a", ())),
    ("reduce_and does not accept dtype float32", lambda: lax.reduce_and(X, (0,))),
    ("reduce_or got axes (1,)", lambda: lax.reduce_or(jnp.arange(3), (1,))),
    ("argmax got axis 2", lambda: lax.argmax(X, 2, "int32")),
    ("argmin got axis='a'", lambda: lax.argmin(X, "a", "int32")),
    ("transpose got permutation=1", lambda: lax.transpose(X, 1)),
    ("transpose got permutation=0.0", lambda: lax.transpose(X, (0.0, 1.0))),
    ("transpose got permutation (0, 0)", lambda: lax.transpose(X, (0, 0))),
    ("transpose: Value [1]", lambda: lax.transpose([1], (0,))),
    ("reduce_precision got exponent_bits=8.5", lambda: lax.reduce_precision(V, 8.5, 3)),
    ("reduce_precision got mantissa_bits=None", lambda: lax.reduce_precision(V, 8, None)),
    ("needs exponent_bits ≥ 1", lambda: lax.reduce_precision(V, 0, 3)),
    ("collapse got start_dimension=0.5", lambda: lax.collapse(X, 0.5)),
    ("collapse got stop_dimension='a'", lambda: lax.collapse(X, 0, "a")),
    ("collapse: Value 'a'", lambda: lax.collapse("a", 0)),
    ("expand_dims: Value None", lambda: lax.expand_dims(None, (0,))),
    ("tile: Value 'a'", lambda: lax.tile("a", (2,))),
    ("concatenate got dimension=0.5", lambda: lax.concatenate([X, X], 0.5)),
    ("concatenate got operands=3", lambda: lax.concatenate(3, 0)),
    ("concatenate got axis 5", lambda: lax.concatenate([X], 5)),
    ("pad got padding_config=3", lambda: lax.pad(X, 0.0, 3)),
    (
        "got f32 and the Python number 1j",
        lambda: lax.pad(V, 1j, ((0, 0, 0),)),
    ),
    ("got i32 and the Python number 0.5", lambda: lax.pad(jnp.arange(3), 0.5, ((0, 0, 0),))),
    ("pad: Value 'a'", lambda: lax.pad("a", 0.0, ())),
    ("slice shape (2, 3) from (0, 0)", lambda: lax.slice(X, (0, 0), (2, 3), (1,))),
    ("slice_in_dim got start_index=3, limit_index=1", lambda: lax.slice_in_dim(V, 3, 1)),
    ("slice_in_dim got start_index=0, limit", lambda: lax.slice_in_dim(V, 0, 1, 0)),
    ("dynamic_slice got start_indices=0", lambda: lax.dynamic_slice(X, 0, (1, 1))),
    ("dynamic_slice: Value 'a'", lambda: lax.dynamic_slice(X, ("a", 0), (1, 1))),
    ("dynamic_slice_in_dim: Value 'a'", lambda: lax.dynamic_slice_in_dim(X, "a", 1)),
    ("dynamic_slice_in_dim got slice_size=5", lambda: lax.dynamic_slice_in_dim(X, 0, 5)),
    ("dynamic_slice_in_dim got a start index", lambda: lax.dynamic_slice_in_dim(X, 0.5, 1)),
    ("dynamic_index_in_dim got axis 5", lambda: lax.dynamic_index_in_dim(X, 0, 5)),
    (
        "dynamic_update_slice got start_indices=None",
        lambda: lax.dynamic_update_slice(X, X, None),
    ),
    (
        "dynamic_update_slice_in_dim got shapes (2, 3) and (3,)",
        lambda: lax.dynamic_update_slice_in_dim(X, V, 0, 0),
    ),
    (
        "dynamic_update_index_in_dim got shapes (2, 3) and ()",
        lambda: lax.dynamic_update_index_in_dim(X, 1.0, 0, 0),
    ),
    ("sort got dimension 2", lambda: lax.sort(X, 2)),
    ("approx_min_k got k=4", lambda: lax.approx_min_k(V, 4)),
    ("approx_max_k got reduction_dimension 1", lambda: lax.approx_max_k(V, 1, 1)),
    ("approx_min_k got recall_target='a'", lambda: lax.approx_min_k(V, 1, -1, "a")),
    ("approx_min_k got i32[3]", lambda: lax.approx_min_k(jnp.arange(3), 1)),
    ("top_k got k=4", lambda: lax.top_k(V, 4)),
    ("iota got size=1.5", lambda: lax.iota("float32", 1.5)),
    ("iota got shape (-1,)", lambda: lax.iota("float32", -1)),
    ("broadcasted_iota got dimension 2", lambda: lax.broadcasted_iota("int32", (2, 3), 2)),
    ("broadcasted_iota got shape=3", lambda: lax.broadcasted_iota("int32", 3, 0)),
    ("broadcasted_iota does not accept", lambda: lax.broadcasted_iota(bool, (2,), 0)),
    ("cumsum got axis 2", lambda: lax.cumsum(X, 2)),
    ("conv_general_dilated got an unknown padding 'NO'", lambda: convolve("NO")),
    ("conv_general_dilated got padding=3", lambda: convolve(3)),
    ("conv_general_dilated got window_strides=(0, 1)", lambda: convolve(strides=(0, 1))),
    ("conv_general_dilated got dimension_numbers=3", lambda: convolve(dimension_numbers=3)),
    ("there are three specs", lambda: convolve(dimension_numbers=("NCHW", "OIHW"))),
    (
        "conv_general_dilated got specs 'NCHW', 'OIHW', 'NHWX'",
        lambda: convolve(dimension_numbers=("NCHW", "OIHW", "NHWX")),
    ),
    ("each of the 4 axes once", lambda: convolve(dimension_numbers=("NCH", "OIH", "NCH"))),
    ("conv_general_dilated got an unknown precision 'no'", lambda: convolve(precision="no")),
    ("conv_general_dilated: Value None", lambda: lax.conv(None, KERNEL, (1, 1), "SAME")),
    ("conv_transpose got strides=(1,)", lambda: lax.conv_transpose(IMAGE, KERNEL, (1,), "SAME")),
    ("conv_transpose got strides=None", lambda: lax.conv_transpose(IMAGE, KERNEL, None, "SAME")),
    ("conv_transpose got padding=3", lambda: lax.conv_transpose(IMAGE, KERNEL, (1, 1), 3)),
    (
        "patches got filter_shape=(3,)",
        lambda: lax.conv_general_dilated_patches(IMAGE, (3,), (), ()),
    ),
    ("window_strides=(0,): one number", lambda: lax.padtype_to_pads((7,), (3,), (0,), "SAME")),
    ("reduce_window got an unknown", lambda: lax.reduce_window(V, 0.0, lax.add, (1,), (1,), "NO")),
    ("dot_general got an unknown precision", lambda: lax.dot(X, X.T, precision="no")),
    ("batch_matmul: Value 'a'", lambda: lax.batch_matmul(X, "a")),
    ("gather got dimension_numbers=None", lambda: lax.gather(X, PLACES, None, (1, 3))),
    ("gather: unknown indexing mode", lambda: lax.gather(X, PLACES, GATHER, (1, 3), mode="no")),
    ("gather: Value 'a'", lambda: lax.gather(X, PLACES, GATHER, (1, 3), fill_value="a")),
    ("gather got fill_value=", lambda: lax.gather(X, PLACES, GATHER, (1, 3), fill_value=V)),
    ("scatter_add got dimension_numbers=3", lambda: lax.scatter_add(X, PLACES, X, 3)),
    ("scatter_mul: unknown", lambda: lax.scatter_mul(X, PLACES, X, SCATTER, mode="no")),
    (
        "scatter_min got dimension_numbers=1",
        lambda: lax.scatter_min(X, PLACES, X, lax.ScatterDimensionNumbers(1, 0, 0)),
    ),
    ("reduce_max got out_sharding=3", lambda: lax.reduce_max(X, (0,), out_sharding=3)),
]

REFUSED = [
    ("missing 1 required positional argument: 'axes'", lambda: jnp.permute_dims(X)),
    ("positional argument", lambda: jnp.array(V, "float32", True)),
    ("hankel takes vectors r, got a number", lambda: jx.scipy.linalg.hankel(V, 1.0)),
    ("not a valid array type", lambda: lax.broadcast_like(object(), 0)),
    ("not a valid array type", lambda: lax.broadcast_like(1, {"a": 1})),
    ("cannot broadcast f32[3] to shape ()", lambda: lax.broadcast_like(V, 1)),
    ("needs a callable as policy, got 1.0", lambda: jx.checkpoint(jnp.sin, policy=1.0)),
    ("integer_pow does not accept dtype bool", lambda: lax.integer_pow(V > 0, 1)),
    ("not callable", lambda: jx.checkpoint_policies()),
    ("keys are no numbers", lambda: jnp.around(jx.random.key(0))),
    ("takes a set of mesh axes, got 1", lambda: jx.sharding.ManualAxisType(varying=1)),
]


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_was_taken_in_silence_is_refused(message, call):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        call()


NOT_WHOLE = [
    ("full got shape=1.5", lambda: lax.full((1.5,), 0.0)),
    ("reshape got new_sizes=1.5", lambda: lax.reshape(V, (1.5,))),
    ("reduce_max got axes=None", lambda: lax.reduce_max(V, None)),
    ("rev got dimensions=0 of type int: it takes a sequence", lambda: lax.rev(V, 0)),
    ("tile got reps='ab'", lambda: lax.tile(V, "ab")),
    ("slice got strides=1.5", lambda: lax.slice(V, (0,), (2,), (1.5,))),
    ("slice_in_dim got start_index=0.5", lambda: lax.slice_in_dim(V, 0.5, 2)),
    ("index_in_dim got index=None", lambda: lax.index_in_dim(V, None)),
    ("dynamic_slice_in_dim got slice_size=[1]", lambda: lax.dynamic_slice_in_dim(V, 0, [1])),
    ("split got sizes=3", lambda: lax.split(V, 3)),
    ("expand_dims got dimensions=None", lambda: lax.expand_dims(V, None)),
    ("broadcast_to_rank got rank='a'", lambda: lax.broadcast_to_rank(V, "a")),
    ("top_k got k=2.0", lambda: lax.top_k(V, 2.0)),
    ("sort got num_keys=None", lambda: lax.sort([V, V], num_keys=None)),
    ("integer_pow got y=0.5", lambda: lax.integer_pow(V, 0.5)),
    ("conv_general_dilated got window_strides=1", lambda: lax.conv(X[None], X[None], 1, "SAME")),
    ("stack got operands=None", lambda: lax.stack(None)),
    ("stack got operands={'a': 1}", lambda: lax.stack({"a": 1})),
    ("dot_general got dimension_numbers=((1,),)", lambda: lax.dot_general(X, X, ((1,),))),
    ("transpose got axes=1.5", lambda: jnp.transpose(X, axes=1.5)),
    ("array got ndmin='2'", lambda: jnp.array(1.0, ndmin="2")),
    ("diag_indices got ndim=2.0", lambda: jnp.diag_indices(3, 2.0)),
    ("tril_indices got k='a'", lambda: jnp.tril_indices(3, "a")),
    ("triu_indices got m=1.5", lambda: jnp.triu_indices(3, 0, 1.5)),
    ("unique got size='2'", lambda: jnp.unique(V, size="2")),
    ("repeat got total_repeat_length=2.5", lambda: jnp.repeat(V, 2, total_repeat_length=2.5)),
    ("tensordot got axes", lambda: jnp.tensordot(X, X, [[1]])),
    ("tensorinv got ind='a'", lambda: jnp.linalg.tensorinv(X, "a")),
    ("multi_dot got arrays=None", lambda: jnp.linalg.multi_dot(None)),
    ("fft got n=2.5", lambda: jnp.fft.fft(V, n=2.5)),
    ("fftn got s=1.5", lambda: jnp.fft.fftn(V, s=1.5)),
    ("fft2 got axes='ab'", lambda: jnp.fft.fft2(X, axes="ab")),
    ("hfft got norm=[1]", lambda: jnp.fft.hfft(V, norm=[1])),
    ("dct got s=2.5", lambda: jx.scipy.fft.dct(V, n=2.5)),
    ("choose got choices=None", lambda: jnp.choose(jnp.arange(2), None)),
    ("select got condlist=None", lambda: jnp.select(None, [V])),
    ("lexsort got keys=None", lambda: jnp.lexsort(None)),
    ("searchsorted got shapes (3,) and (2,)", lambda: jnp.searchsorted(V, V, sorter=jnp.arange(2))),
    ("histogram got range=(1, 2, 3)", lambda: jnp.histogram(V, range=(1, 2, 3))),
    ("histogramdd takes points of shape (n, d)", lambda: jnp.histogramdd(V)),
    ("histogramdd takes arrays", lambda: jnp.histogramdd(X, weights=[1, 2])),
    ("polyval takes a vector", lambda: jnp.polyval(2.0, V)),
    ("interp does not accept dtype complex64", lambda: jnp.interp(1j, V, V)),
    ("gcd takes integers, got bool and bool", lambda: jnp.gcd(V > 0, V > 1)),
    ("trim_zeros got trim 5", lambda: jnp.trim_zeros(V, 5)),
    ("einsum got optimize=1.5", lambda: jnp.einsum("i->", V, optimize=1.5)),
    ("vectorize got signature=5", lambda: jnp.vectorize(jnp.sin, signature=5)),
    ("vectorize got excluded=1.5", lambda: jnp.vectorize(jnp.sin, excluded=1.5)),
    ("linspace got shapes (2, 3) and (2,)", lambda: jnp.linspace(X, jnp.ones(2))),
    ("logspace takes arrays and numbers, got 'a'", lambda: jnp.logspace(0, 1, base="a")),
    ("random.permutation got x=2.5", lambda: jx.random.permutation(KEY, 2.5)),
    ("random.permutation got axis='a'", lambda: jx.random.permutation(KEY, X, "a")),
    ("random.choice got a=None", lambda: jx.random.choice(KEY, None)),
    ("random.categorical got axis -1 for", lambda: jx.random.categorical(KEY, 1.0)),
    ("no generator is named [1]", lambda: jx.random.key(0, impl=[1])),
    ("hilbert got n=2.5", lambda: jx.scipy.linalg.hilbert(2.5)),
    ("stft got nperseg=[4]", lambda: jx.scipy.signal.stft(V, nperseg=[4])),
    ("bernoulli got n=2.5", lambda: jx.scipy.special.bernoulli(2.5)),
    ("eigh got subset_by_index='a'", lambda: lax.linalg.eigh(X @ X.T, subset_by_index="a")),
    ("arrays and numbers are taken here, got [[1]]", lambda: jnp.sum(V, initial=[[1]])),
    ("pad got axis 5 for an array of rank 2", lambda: jnp.pad(X, {5: 2})),
    ("pad got axis='a'", lambda: jnp.pad(X, {"a": 2})),
    ("pad got stat_length=1.5", lambda: jnp.pad(V, 1, "mean", stat_length=1.5)),
    ("pad got stat_length=0", lambda: jnp.pad(V, 1, "mean", stat_length=0)),
    ("pad got constant_values=None", lambda: jnp.pad(V, 1, constant_values=None)),
    ("no option end_values: its option is constant_v", lambda: jnp.pad(V, 1, end_values=1)),
    ("no option stat_length: it has none", lambda: jnp.pad(V, 1, "edge", stat_length=1)),
    ("which returned None: arrays cannot be", lambda: jnp.pad(V, 1, lambda *given: None)),
    ("insert got obj=0.5 of dtype float64", lambda: jnp.insert(V, 0.5, 1)),
    ("insert got obj=slice('a', None, None)", lambda: jnp.insert(V, slice("a", None), 1)),
    ("insert got shapes (2, 3) and (4,)", lambda: jnp.insert(X, 0, jnp.ones(4), 0)),
    ("insert got axis 2", lambda: jnp.insert(X, 0, 1, 2)),
    ("delete got obj=slice", lambda: jnp.delete(V, slice(0.5))),
    ("stft got window=None", lambda: jx.scipy.signal.stft(V, window=None)),
    ("stft got window='no': no window is named", lambda: jx.scipy.signal.stft(V, window="no")),
    ("stft takes 0 ≤ noverlap", lambda: jx.scipy.signal.stft(V, nperseg=2, noverlap=-1)),
    ("stft takes arrays and numbers, got None", lambda: jx.scipy.signal.stft(V, None)),
    ("istft got time_axis 2", lambda: jx.scipy.signal.istft(X, time_axis=2)),
    ("istft got freq_axis='a'", lambda: jx.scipy.signal.istft(X, freq_axis="a")),
    ("istft got nperseg='a'", lambda: jx.scipy.signal.istft(X, nperseg="a")),
    ("welch got scaling='a'", lambda: jx.scipy.signal.welch(V, scaling="a")),
    ("welch got axis 3", lambda: jx.scipy.signal.welch(V, axis=3)),
    ("fftconvolve got axes='a'", lambda: jx.scipy.signal.fftconvolve(V, V, axes=("a",))),
    ("detrend got bp='a'", lambda: jx.scipy.signal.detrend(V, bp="a")),
    ("issubdtype got arg1='foo'", lambda: jnp.issubdtype("foo", jnp.floating)),
    ("issubdtype got arg2=3", lambda: jnp.issubdtype(jnp.float32, 3)),
    ("is no dtype: write x.dtype", lambda: jnp.issubdtype(V, jnp.floating)),
    ("issubdtype got arg1=[1]", lambda: jnp.issubdtype([1], jnp.floating)),
    ("can_cast got from_='foo'", lambda: jnp.can_cast("foo", jnp.float32)),
    ("can_cast got to=[1]", lambda: jnp.can_cast(jnp.float32, [1])),
    ("can_cast got casting='some'", lambda: jnp.can_cast(jnp.int8, jnp.int16, casting="some")),
    ("promote_types got b='foo'", lambda: jnp.promote_types(jnp.int8, "foo")),
    ("result_type: A value of type list", lambda: jnp.result_type([1])),
    ("isdtype got dtype='foo'", lambda: jnp.isdtype("foo", "integral")),
    ("isdtype got kind='foo'", lambda: jnp.isdtype(jnp.int8, "foo")),
    ("from_dlpack got device='cpu'", lambda: jnp.from_dlpack(V, device="cpu")),
    ("device_put, x['a']: Value 'b'", lambda: jx.device_put({"a": "b"})),
    ("device_put, x[1]: Value 'b'", lambda: jx.device_put((V, "b"), jx.devices()[0])),
    ("at[...].divide: unknown indexing mode", lambda: X.at[0].divide(1, mode="no")),
    ("at[...].power: unknown indexing mode", lambda: X.at[0].power(1, mode="no")),
    ("at[...].add: unknown indexing mode ['clip']", lambda: X.at[0].add(1, mode=["clip"])),
    ("segment_sum: unknown", lambda: jx.ops.segment_sum(V, jnp.arange(3), mode="no")),
    ("einsum got out_sharding=3", lambda: jnp.einsum("i->", V, out_sharding=3)),
    ("histogram got out_sharding=3", lambda: jnp.histogram(V, out_sharding=3)),
    ("segment_max got out_sharding=3", lambda: jx.ops.segment_max(V, V, out_sharding=3)),
]


TOLD = [*OF_LAX, *NOT_WHOLE]


@pytest.mark.parametrize(("message", "call"), TOLD, ids=[row[0] for row in TOLD])
def test_an_argument_of_another_kind_is_told_with_its_function(message, call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert message in str(caught.value)


def test_an_axis_that_is_not_there_is_numpys_error() -> None:
    for call in (lambda: jnp.sum(V, axis=3), lambda: jnp.sort(1.0, axis=0)):
        with pytest.raises(np.exceptions.AxisError, match="axis"):
            call()


METHODS = [
    "addressable_data",
    "astype",
    "byteswap",
    "clip",
    "compress",
    "copy",
    "copy_to_host_async",
    "devices",
    "flatten",
    "item",
    "reshape",
    "round",
    "to_device",
    "tobytes",
    "tolist",
    "transpose",
    "view",
]


@pytest.mark.parametrize("name", METHODS)
def test_a_wrong_call_of_an_array_s_method_names_the_method(name):
    with pytest.raises(TypeError, match=rf"^(Array\.)?{name}\(\) "):
        getattr(X, name)(nonsense=1)


@pytest.mark.parametrize(
    "name",
    ["set", "add", "subtract", "mul", "multiply", "divide", "power", "min", "max", "apply", "get"],
)
def test_a_wrong_call_of_an_update_names_its_method(name):
    method = getattr(X.at[0], name)
    with pytest.raises(TypeError, match=rf"IndexedUpdate\.(multiply|{name})\(\) "):
        method(*[2.0] * (name != "get"), nonsense=1)
    expected = {"mode", "indices_are_sorted", "unique_indices", "wrap_negative_indices"}
    assert expected <= set(inspect.signature(method).parameters)


def test_flatten_takes_an_out_sharding():
    assert X.flatten(out_sharding=None).shape == (6,)
    assert jx.jit(lambda x: x.flatten("F", out_sharding=None))(X).shape == (6,)
