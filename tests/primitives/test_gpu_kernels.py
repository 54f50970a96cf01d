"""Factorisations in programs for GPUs: which kernels they call, with what; no GPU is needed.

The kernels, their attributes and the order of operands and results are those that real JAX's
programs for the platform name.
"""

import re

import numpy as np
import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel import lax
from jxkernel.runtime import plugins

linalg = lax.linalg


def programs_text(function, *shapes, dtype=np.float32, platform="cuda"):
    types = [jx.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    return jx.jit(function).trace(*types).lower(lowering_platforms=(platform,)).as_text()


def calls(text):
    """Return, for each call of a kernel, its name and its attributes."""
    return re.findall(r"custom_call @(\w+)\(.*?backend_config = \{(.*?)\}, operand", text)


QR = [("cusolver_geqrf_ffi", ""), ("cusolver_orgqr_ffi", "")]
LU = [("cusolver_getrf_ffi", ""), ("cu_lu_pivots_to_permutation", "")]
EIGH = [("cusolver_syevd_ffi", "algorithm = 0 : ui8, lower = true")]
ROTATED = "compute_uv = {}, full_matrices = true"
ITERATED = "compute_uv = {}, full_matrices = {}, transposed = {}"

KERNELS = {
    "qr": (jnp.linalg.qr, [(2, 6, 4)], QR),
    "qr-complete": (lambda a: jnp.linalg.qr(a, mode="complete"), [(6, 4)], QR),
    "qr-pivoting": (
        lambda a: linalg.qr(a, pivoting=True, full_matrices=False),
        [(6, 4)],
        [("cuhybrid_geqp3", 'magma = "auto"'), QR[1]],
    ),
    "householder_product": (linalg.householder_product, [(6, 4), (4,)], QR[1:]),
    "ormqr": (
        lambda a, taus, c: linalg.ormqr(a, taus, c, transpose=True),
        [(6, 4), (4,), (6, 3)],
        [("cusolver_ormqr_ffi", "left = true, transpose = true")],
    ),
    "lu": (linalg.lu, [(3, 4, 4)], LU),
    "solve": (jnp.linalg.solve, [(4, 4), (4,)], LU),
    "eigh": (linalg.eigh, [(4, 4)], EIGH),
    "eigvalsh": (jnp.linalg.eigvalsh, [(3, 4, 4)], EIGH),
    "svd": (jnp.linalg.svd, [(6, 4)], [("cusolver_gesvdj_ffi", ROTATED.format("true"))]),
    "svd-values": (
        lambda a: jnp.linalg.svd(a, compute_uv=False),
        [(4, 6)],
        [("cusolver_gesvdj_ffi", ROTATED.format("false"))],
    ),
    "svd-long": (
        lambda a: jnp.linalg.svd(a, full_matrices=False),
        [(2000, 40)],
        [("cusolver_gesvd_ffi", ITERATED.format("true", "false", "false"))],
    ),
    "svd-wide": (
        jnp.linalg.svd,
        [(40, 2000)],
        [("cusolver_gesvd_ffi", ITERATED.format("true", "true", "true"))],
    ),
    "svd-iterated": (
        lambda a: linalg.svd(a, algorithm=linalg.SvdAlgorithm.QR, compute_uv=False),
        [(6, 4)],
        [("cusolver_gesvd_ffi", ITERATED.format("false", "true", "false"))],
    ),
    "tridiagonal": (linalg.tridiagonal, [(4, 4)], [("cusolver_sytrd_ffi", "lower = true")]),
    "tridiagonal_solve": (
        linalg.tridiagonal_solve,
        [(3, 4), (3, 4), (3, 4), (3, 4, 2)],
        [("cusparse_gtsv2_ffi", "")],
    ),
    "eig": (
        jnp.linalg.eig,
        [(4, 4)],
        [("cuhybrid_eig_real", 'left = false, magma = "auto", right = true')],
    ),
    "native": (
        lambda a: (jnp.linalg.cholesky(a), jnp.sort(a), jnp.fft.fft(a), lax.top_k(a, 2)),
        [(4, 4)],
        [],
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_programs_for_gpus_call_their_kernels(name):
    function, shapes, expected = KERNELS[name]
    assert calls(programs_text(function, *shapes)) == expected


def test_complex_matrices_go_to_the_same_kernels_but_for_eigenvalues():
    text = programs_text(jnp.linalg.svd, (4, 6), dtype=np.complex64)
    assert calls(text) == [("cusolver_gesvdj_ffi", ROTATED.format("true"))]
    assert "stablehlo.imag" in text, "vᴴ is the conjugate of what the kernel gives"
    assert calls(programs_text(linalg.eigh, (4, 4), dtype=np.complex64)) == EIGH
    text = programs_text(linalg.eig, (4, 4), dtype=np.complex64)
    assert calls(text) == [("cuhybrid_eig_comp", 'left = true, magma = "auto", right = true')]


def test_matrices_lie_by_columns_and_where_the_kernel_wants_the_transpose_by_rows():
    long = programs_text(lambda a: jnp.linalg.svd(a, full_matrices=False), (2000, 40))
    assert "operand_layouts = [dense<[0, 1]>" in long
    assert "-> (tensor<2000x40xf32>, tensor<40xf32>, tensor<2000x40xf32>, tensor<40x40xf32>" in long
    wide = programs_text(lambda a: jnp.linalg.svd(a, full_matrices=False), (40, 2000))
    assert "operand_layouts = [dense<[1, 0]>" in wide
    assert "-> (tensor<40x2000xf32>, tensor<40xf32>, tensor<40x2000xf32>, tensor<40x40xf32>" in wide


def test_other_makers_have_their_own_names_and_missing_kernels_are_told():
    names = [
        name for name, _ in calls(programs_text(jnp.linalg.solve, (4, 4), (4,), platform="rocm"))
    ]
    assert names == ["hipsolver_getrf_ffi", "hip_lu_pivots_to_permutation"]
    for function in (linalg.schur, linalg.hessenberg):
        with pytest.raises(NotImplementedError, match="has no kernel for platform 'cuda'"):
            programs_text(function, (4, 4))
    with pytest.raises(NotImplementedError, match="lu has no kernel for platform 'tpu'"):
        programs_text(linalg.lu, (4, 4), platform="tpu")


UNIQUE = {
    "solve": (jnp.linalg.solve, [(4, 4), (4,)]),
    "qr": (jnp.linalg.qr, [(3, 6, 4)]),
    "lu": (linalg.lu, [(3, 5, 5)]),
    "eigvalsh": (jnp.linalg.eigvalsh, [(3, 4, 4)]),
    "eigh": (linalg.eigh, [(5, 5)]),
    "svd": (lambda a: jnp.linalg.svd(a, full_matrices=False), [(3, 6, 4)]),
    "svd-wide": (lambda a: jnp.linalg.svd(a, full_matrices=False), [(4, 6)]),
    "svd-long": (lambda a: jnp.linalg.svd(a, full_matrices=False), [(1200, 3)]),
    "svd-very-wide": (lambda a: jnp.linalg.svd(a, full_matrices=False), [(3, 1200)]),
    "svd-values": (lambda a: jnp.linalg.svd(a, compute_uv=False), [(6, 4)]),
    "tridiagonal_solve": (linalg.tridiagonal_solve, [(3, 4), (3, 4), (3, 4), (3, 4, 2)]),
    "det": (jnp.linalg.det, [(4, 4)]),
    "cholesky": (lambda a: jnp.linalg.cholesky(a @ a.T + 4 * jnp.eye(4)), [(4, 4)]),
}
"""What has one result, but for signs and phases of vectors."""


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("name", UNIQUE)
@pytest.mark.skipif(
    not plugins.hinted_platforms(), reason="needs an accelerator: no device file shows one"
)
def test_gpu_factorizes_as_the_cpu_does(name, dtype):
    try:
        gpu = jx.devices("gpu")[0]
    except RuntimeError as error:
        pytest.skip(f"no GPU started: {error}")
    function, shapes = UNIQUE[name]
    rng = np.random.default_rng(0)
    args = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    if dtype == np.complex64 and name != "cholesky":
        args = [arg + 1j * rng.normal(size=arg.shape).astype(np.float32) for arg in args]
    expected = jx.tree.leaves(jx.jit(function)(*jx.device_put(args, jx.devices("cpu")[0])))
    found = jx.tree.leaves(jx.jit(function)(*jx.device_put(args, gpu)))
    for one, other in zip(found, expected, strict=True):
        assert one.devices() == {gpu}
        np.testing.assert_allclose(abs(np.asarray(one)), abs(np.asarray(other)), 1e-3, 1e-4)
