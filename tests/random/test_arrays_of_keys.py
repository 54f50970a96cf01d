"""Arrays of keys go through what moves elements, as arrays of numbers do."""

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp

KEYS = jx.random.split(jx.random.key(3), 6)
NUMBERS = np.arange(6)

MOVES = {
    "reshape": lambda x: jnp.reshape(x, (2, -1)),
    "method": lambda x: x.reshape(2, 3).T,
    "fortran": lambda x: jnp.reshape(x, (2, 3), order="F"),
    "ravel": lambda x: jnp.ravel(x.reshape(3, 2)),
    "stack": lambda x: jnp.stack([x[0], x[1]]),
    "stack_last": lambda x: jnp.stack([x, x[::-1]], axis=-1),
    "concatenate": lambda x: jnp.concatenate([x, x[:2]]),
    "vstack": lambda x: jnp.vstack([x, x]),
    "append": lambda x: jnp.append(x, x[0]),
    "array": lambda x: jnp.array([x[0], x[4]]),
    "asarray": jnp.asarray,
    "where": lambda x: jnp.where(jnp.arange(6) < 2, x, x[::-1]),
    "select": lambda x: jnp.select([jnp.arange(6) < 2], [x], x[0]),
    "broadcast_to": lambda x: jnp.broadcast_to(x, (3, 6)),
    "expand_dims": lambda x: jnp.expand_dims(x, 0),
    "squeeze": lambda x: jnp.squeeze(x[None]),
    "moveaxis": lambda x: jnp.moveaxis(x.reshape(2, 3, 1), 0, -1),
    "transpose": lambda x: x.reshape(1, 2, 3).transpose(2, 0, 1),
    "tile": lambda x: jnp.tile(x, (2, 1)),
    "repeat": lambda x: jnp.repeat(x, 2),
    "flip": jnp.flip,
    "roll": lambda x: jnp.roll(x, 2),
    "rot90": lambda x: jnp.rot90(x.reshape(2, 3)),
    "take": lambda x: jnp.take(x, jnp.array([4, 0])),
    "take_along_axis": lambda x: jnp.take_along_axis(x, jnp.array([4, 0]), 0),
    "split": lambda x: jnp.split(x, 2)[1],
    "diagonal": lambda x: x.reshape(2, 3).diagonal(),
    "delete": lambda x: jnp.delete(x, 1),
    "at_set": lambda x: x.at[1].set(x[5]),
    "at_set_several": lambda x: x.at[jnp.array([0, 1])].set(x[3:5]),
    "at_get": lambda x: x.at[jnp.array([2, 3])].get(mode="clip"),
    "index": lambda x: x[jnp.array([[0, 1], [2, 3]])],
    "list_index": lambda x: x.reshape(2, 3)[[0, 1], 1:],
}


@pytest.mark.parametrize("name", MOVES)
def test_keys_move_as_numbers_do(name):
    move = MOVES[name]
    where = np.asarray(move(jnp.asarray(NUMBERS)))
    moved = move(KEYS)
    assert moved.dtype == KEYS.dtype
    assert moved.shape == where.shape
    words = np.asarray(jx.random.key_data(KEYS))[where]
    assert (np.asarray(jx.random.key_data(moved)) == words).all()
    assert (np.asarray(jx.random.key_data(jx.jit(move)(KEYS))) == words).all()


def test_keys_are_arrays_but_not_of_numbers():
    assert isinstance(KEYS, jx.Array)
    assert not isinstance(jnp.ones(2), type(KEYS))
    assert (KEYS.itemsize, KEYS.nbytes) == (8, 48)
    assert jx.random.key(0).devices() == jnp.ones(1).devices()
    assert jx.ShapeDtypeStruct(KEYS.shape, KEYS.dtype).dtype == KEYS.dtype
    for wrong in (lambda: np.asarray(KEYS), lambda: jnp.sum(KEYS), lambda: KEYS + 1):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(NotImplementedError, match="key_data"):
        KEYS.astype("uint32")


def test_keys_of_two_generators_do_not_mix():
    with pytest.raises(TypeError, match="one kind"):
        jnp.stack([jx.random.key(0), jx.random.key(0, impl="rbg")])
