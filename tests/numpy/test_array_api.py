"""What the array API standard asks beside its functions: what a namespace says of itself."""

import copy
import pickle

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

INFO = jnp.__array_namespace_info__()


def test_arrays_name_their_namespace():
    assert jnp.ones(2).__array_namespace__() is jnp
    assert jnp.ones(2).__array_namespace__(api_version="2024.12") is jnp
    assert jnp.__array_api_version__ == "2024.12"
    seen = []
    jx.jit(lambda x: seen.append(x.__array_namespace__()) or x)(1.0)
    assert seen == [jnp]
    with pytest.raises(ValueError, match=r"api_version '1999.1': there are 2021.12"):
        jnp.ones(2).__array_namespace__(api_version="1999.1")


def test_the_namespace_tells_what_it_can_do():
    assert set(INFO.capabilities()) == {
        "boolean indexing",
        "data-dependent shapes",
        "max dimensions",
    }
    assert INFO.default_device() is None
    assert INFO.devices() == (None, *jx.devices())
    assert jnp.ones(2, device=INFO.devices()[1]).devices() == {INFO.devices()[1]}


@pytest.mark.parametrize("x64", [False, True])
def test_dtypes_are_those_that_arrays_may_have(x64):
    with jx.enable_x64(x64):
        all_of_them = INFO.dtypes()
        assert ("float64" in all_of_them) == x64
        assert all(jnp.zeros(1, dtype).dtype == dtype for dtype in all_of_them.values())
        made = {"real floating": 1.0, "complex floating": 1j, "integral": 1, "indexing": 1}
        assert INFO.default_dtypes() == {k: jnp.asarray([v]).dtype for k, v in made.items()}
    assert list(INFO.dtypes(kind="bool")) == ["bool"]
    kinds = INFO.dtypes(kind=("bool", "unsigned integer"))
    assert list(kinds) == ["bool", "uint8", "uint16", "uint32"]
    assert INFO.dtypes(kind="integral").keys() < INFO.dtypes(kind="numeric").keys()


def test_wrong_questions_are_refused():
    with pytest.raises(ValueError, match="kind 'odd': kinds are bool"):
        INFO.dtypes(kind="odd")
    with pytest.raises(ValueError, match="no device 'moon'"):
        INFO.default_dtypes(device="moon")


@pytest.mark.parametrize("dtype", ["bool", "int8", "bfloat16", "float32", "complex64", "int4"])
def test_copies_and_pickles_are_equal_arrays_of_their_own(dtype):
    x = jnp.ones((2, 3), dtype)
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert made is not x
        assert made.aval == x.aval
        assert bool((made == x).all())
    weak = jnp.asarray(1.0)
    assert pickle.loads(pickle.dumps(weak)).weak_type


def test_numpy_reads_arrays_by_its_protocols():
    x = jnp.arange(3)
    assert x.__array__(np.float64).dtype == np.float64
    assert not np.asarray(x).flags.writeable
    assert np.array(x).flags.writeable
    assert np.asarray(memoryview(x)).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="copy=False forbids"):
        x.__array__(np.float64, copy=False)
    assert jnp.asarray(x, copy=False) is x
    assert jnp.asarray([1, 2], copy=False).tolist() == [1, 2]  # as in JAX: the device has no choice
    # NumPy leaves the operation to us.
    assert isinstance(np.ones(3) * x, jx.Array)
    assert isinstance(np.float32(2) + x, jx.Array)


def test_arrays_say_where_they_are_and_move():
    device = jx.devices()[0]
    x = jnp.ones(2)
    assert {x.device} == x.devices()
    assert x.to_device(device).committed
    with pytest.raises(NotImplementedError, match="stream"):
        x.to_device(device, stream=1)
