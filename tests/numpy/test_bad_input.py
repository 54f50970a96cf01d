"""Wrong input: the error names the function, the argument, what was given and what would work."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.errors import (
    ConcretizationTypeError,
    ShapeMismatchError,
    TracerIntegerConversionError,
)

X = jnp.ones((2, 3))
V = jnp.ones(3)
KEY = jx.random.key(0)

TRACED = [
    ("reshape(..., shape=...)", lambda k: X.reshape(k, 3)),
    ("reshape(..., shape=...)", lambda k: jnp.reshape(X, (k, -1))),
    ("zeros(..., shape=...)", jnp.zeros),
    ("ones(..., shape=...)", lambda k: jnp.ones((k, 2))),
    ("full(..., shape=...)", lambda k: jnp.full(k, 1.0)),
    ("linspace(..., num=...)", lambda k: jnp.linspace(0, 1, k)),
    ("eye(..., N=...)", jnp.eye),
    ("eye(..., k=...)", lambda k: jnp.eye(3, k=k)),
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


def test_assignment_shows_the_line_to_write():
    with pytest.raises(TypeError, match=r"x = x.at\[0\].set\(1\)"):
        X[0] = 1


def test_whole_numbers_of_every_kind_are_taken():
    for number in (2, np.int64(2), jnp.array(2)):
        assert jnp.zeros((number, 3)).shape == X.reshape(number, 3).shape == (2, 3)


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
]


@pytest.mark.parametrize(("message", "call"), NOT_WHOLE, ids=[row[0] for row in NOT_WHOLE])
def test_an_argument_of_another_kind_is_told_with_its_function(message, call):
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert message in str(caught.value)
