"""Rotations against SciPy's, and their derivatives."""

import numpy as np
import pytest
from scipy.spatial import transform as theirs

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.scipy.spatial.transform import Rotation, Slerp

QUATS = np.array([[0.1, -0.2, 0.3, 0.9], [1.0, 2.0, 3.0, -4.0], [0.0, 0.0, 0.0, 1.0]])
OURS, THEIRS = Rotation.from_quat(QUATS), theirs.Rotation.from_quat(QUATS)
V = np.array([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0], [0.0, 1.0, 1.0]])


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, atol=3e-6)


ASKED = {
    "quaternions": lambda r: r.as_quat(),
    "canonical": lambda r: r.as_quat(canonical=True),
    "scalar first": lambda r: r.as_quat(scalar_first=True),
    "matrices": lambda r: r.as_matrix(),
    "vectors": lambda r: r.as_rotvec(),
    "vectors in degrees": lambda r: r.as_rotvec(degrees=True),
    "parameters": lambda r: r.as_mrp(),
    "angles": lambda r: r.magnitude(),
    "turned": lambda r: r.apply(V),
    "turned back": lambda r: r.apply(V, inverse=True),
    "one turned": lambda r: r.apply(V[0]),
    "inverse": lambda r: r.inv().as_matrix(),
    "squared": lambda r: (r * r).as_matrix(),
    "second": lambda r: r[1].as_matrix(),
    "mean": lambda r: r.mean(np.array([1.0, 2.0, 0.5])).as_matrix(),
}


@pytest.mark.parametrize("name", ASKED)
def test_rotations_give_what_they_give_with_scipy(name):
    same(ASKED[name](OURS), ASKED[name](THEIRS))


@pytest.mark.parametrize("seq", ["zyx", "ZYX", "xyx", "XYX", "xzy", "YXZ", "zxz", "ZXZ", "yzy"])
def test_angles_about_axes_go_and_come(seq):
    angles = np.array([[0.4, -0.5, 0.6], [2.0, 0.3, -1.0]])
    made = Rotation.from_euler(seq, angles)
    same(made.as_matrix(), theirs.Rotation.from_euler(seq, angles).as_matrix())
    same(made.as_euler(seq), theirs.Rotation.from_euler(seq, angles).as_euler(seq))
    same(
        Rotation.from_euler(seq, made.as_euler(seq, degrees=True), degrees=True).as_matrix(),
        made.as_matrix(),
    )


@pytest.mark.parametrize(("seq", "middle"), [("xyx", 0.0), ("ZXZ", 0.0), ("xyz", np.pi / 2)])
def test_angles_about_axes_that_fall_together_have_one_zero(seq, middle):
    angles = Rotation.from_euler(seq, np.array([0.4, middle, 0.6])).as_euler(seq)
    assert float(angles[2]) == 0.0
    wanted = theirs.Rotation.from_euler(seq, [0.4, middle, 0.6]).as_matrix()
    np.testing.assert_allclose(Rotation.from_euler(seq, angles).as_matrix(), wanted, atol=1e-3)


@pytest.mark.parametrize("seq", ["x", "Y", "xy", "ZX"])
def test_fewer_axes_take_fewer_angles(seq):
    angles = np.array([0.5, 0.2])[: len(seq)]
    same(
        Rotation.from_euler(seq, angles).as_matrix(),
        theirs.Rotation.from_euler(seq, angles if len(seq) > 1 else angles[0]).as_matrix(),
    )
    if len(seq) == 1:
        same(Rotation.from_euler(seq, 0.5).as_quat(), Rotation.from_euler(seq, angles).as_quat())


@pytest.mark.parametrize("quat", [*np.eye(4), *QUATS[:2]])
def test_matrices_give_their_rotation(quat):
    matrix = theirs.Rotation.from_quat(quat).as_matrix()
    same(Rotation.from_matrix(matrix).as_matrix(), matrix)


def test_vectors_and_parameters_give_their_rotation():
    for v in (V, V * 1e-5, np.zeros(3)):
        same(Rotation.from_rotvec(v).as_matrix(), theirs.Rotation.from_rotvec(v).as_matrix())
    same(
        Rotation.from_rotvec(90 * V[2], degrees=True).as_matrix(),
        theirs.Rotation.from_rotvec(90 * V[2], degrees=True).as_matrix(),
    )
    same(Rotation.from_mrp(V / 4).as_matrix(), theirs.Rotation.from_mrp(V / 4).as_matrix())


def test_stacks_and_single_rotations():
    assert (len(OURS), OURS.single, OURS[0].single) == (3, False, True)
    assert len(Rotation.concatenate([OURS, OURS[0]])) == 4
    assert [one.quat.shape for one in OURS] == [(4,)] * 3
    same(Rotation.identity().as_matrix(), np.eye(3))
    assert Rotation.identity(2).quat.shape == (2, 4)
    drawn = Rotation.random(jx.random.key(0), 5)
    same(jnp.linalg.norm(drawn.quat, axis=-1), np.ones(5))
    for fails in (len, lambda r: r[0], Rotation.mean):
        with pytest.raises(TypeError, match="a single rotation has no"):
            fails(OURS[0])


def test_rotations_between_turn_evenly():
    times, at = np.array([0.0, 1.0, 3.0]), np.array([0.25, 1.0, 2.5, 3.0])
    found = jx.jit(Slerp.init(times, OURS))(at)
    same(found.as_matrix(), theirs.Slerp(times, THEIRS)(at).as_matrix())
    same(Slerp.init(times, OURS)(9.0).as_matrix(), OURS[2].as_matrix())
    with pytest.raises(ValueError, match="two rotations or more and a time for each"):
        Slerp.init(times[:2], OURS)


def test_derivatives_are_there_where_nothing_turns():
    spin = jx.jacobian(lambda v: Rotation.from_rotvec(v).as_matrix())(jnp.zeros(3))
    same(spin[..., 0], [[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    same(jx.jacobian(lambda v: Rotation.from_rotvec(v).as_rotvec())(jnp.zeros(3)), np.eye(3))
    batched = jx.vmap(lambda q: Rotation.from_quat(q).as_matrix())(QUATS)
    same(batched, THEIRS.as_matrix())


@pytest.mark.parametrize(
    ("seq", "said"),
    [("xx", "must differ"), ("xyzx", "one to three"), ("xY", "one to three"), ("ab", "one to")],
)
def test_sequences_that_are_none_are_refused(seq, said):
    with pytest.raises(ValueError, match=said):
        Rotation.from_euler(seq, np.ones(len(seq)))
    with pytest.raises(ValueError, match="takes 2 angles"):
        Rotation.from_euler("xy", np.ones(3))
    with pytest.raises(ValueError, match="about three axes"):
        OURS.as_euler("xy")
