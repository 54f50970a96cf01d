"""Files and text: arrays of ours handed to NumPy's own functions."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp


def test_arrays_are_saved_and_loaded(tmp_path):
    x = jnp.arange(6.0).reshape(2, 3)
    jnp.save(tmp_path / "x.npy", x)
    found = jnp.load(tmp_path / "x.npy")
    assert isinstance(found, jx.Array)
    np.testing.assert_array_equal(found, x)


def test_bfloat16_is_loaded_as_what_it_was(tmp_path):
    jnp.save(tmp_path / "x.npy", jnp.array([2, 4], jnp.bfloat16))
    loaded = jnp.load(tmp_path / "x.npy")
    assert (loaded.dtype, loaded.tolist()) == (jnp.bfloat16, [2, 4])


def test_archives_hold_arrays_by_name(tmp_path):
    jnp.savez(tmp_path / "x.npz", first=jnp.ones(2), second=jnp.int8(3))
    with np.load(tmp_path / "x.npz") as found:
        np.testing.assert_array_equal(found["first"], np.ones(2))
        assert found["second"].dtype == np.int8


def test_text_is_numpys():
    with jnp.printoptions(precision=2):
        assert jnp.get_printoptions()["precision"] == 2
        assert jnp.array_str(jnp.float32([1 / 3, 2])) == "[0.33 2.  ]"
        assert "0.33" in jnp.array_repr(jnp.float32([1 / 3]))


def test_files_and_iterators_are_read(tmp_path):
    path = tmp_path / "numbers"
    np.arange(5, dtype=np.int16).tofile(path)
    assert jnp.fromfile(path, jnp.int16, 2, offset=2).tolist() == [1, 2]
    np.array(1.5, jnp.bfloat16).tofile(path)
    assert jnp.fromfile(path, jnp.bfloat16).tolist() == [1.5]
    path.write_text("1.5, 2.5")
    assert jnp.fromfile(path, sep=",").tolist() == [1.5, 2.5]
    assert jx.jit(lambda: jnp.fromiter(iter([1, 2, 3]), float, 2))().tolist() == [1, 2]
    with pytest.raises(ValueError, match="setting an array element"):
        jx.jit(lambda x: jnp.fromiter([x], float))(1.0)
