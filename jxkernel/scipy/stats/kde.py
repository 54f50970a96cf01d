"""Densities estimated from samples by a normal distribution about each of them."""

from collections.abc import Callable
from math import log, pi
from typing import Any

import numpy as np

import jxkernel.numpy as jnp
from jxkernel import random, tree
from jxkernel.nn import logsumexp
from jxkernel.numpy.creation import canonical_shape
from jxkernel.numpy.fusing import fused
from jxkernel.numpy.promotion import inexact_dtype, promote_inexact, refuse_complex, result_dtype
from jxkernel.primitives.linalg.cholesky import cholesky, triangular_solve
from jxkernel.scipy.special import ndtr

__all__ = ["gaussian_kde"]


@fused(name="gaussian_kde")
def _covariance(dataset: Any, weights: Any, factor: Any) -> tuple[Any, Any]:
    """Return the weighted covariance times the factor's square, and its inverse."""
    mean = (dataset * weights).sum(1, keepdims=True)
    centered = dataset - mean
    covariance = (centered * weights) @ centered.T / (1 - (weights * weights).sum())
    covariance = covariance * factor**2
    if covariance.shape == (1, 1):
        return covariance, 1 / covariance
    lower = cholesky(covariance)
    eye = jnp.eye(lower.shape[0], dtype=lower.dtype)
    half = triangular_solve(lower, eye, left_side=True, lower=True)
    return covariance, half.T @ half


def _log_kernels(points: Any, dataset: Any, covariance: Any) -> Any:
    """Return the logarithm of each sample's normal density at each point, of shape (n, m)."""
    lower = cholesky(covariance)
    size = dataset.shape[0]
    apart = (points[:, None, :] - dataset[:, :, None]).reshape(size, -1)
    z = triangular_solve(lower, apart, left_side=True, lower=True)
    squares = (z * z).sum(0).reshape(dataset.shape[1], points.shape[1])
    volume = jnp.log(jnp.diagonal(lower)).sum()
    return -0.5 * (squares + size * log(2 * pi)) - volume


@fused(name="gaussian_kde.logpdf")
def _log_density(points: Any, dataset: Any, weights: Any, covariance: Any) -> Any:
    kernels = _log_kernels(points, dataset, covariance)
    return logsumexp(kernels, 0, weights[:, None])


@fused(static=("count",), name="gaussian_kde.resample")
def _drawn(key: Any, dataset: Any, weights: Any, covariance: Any, count: int) -> Any:
    for_index, for_noise = random.split(key)
    chosen = random.choice(for_index, dataset.shape[1], (count,), p=weights)
    noise = random.normal(for_noise, (dataset.shape[0], count), dataset.dtype)
    return dataset[:, chosen] + cholesky(covariance) @ noise


@tree.register_pytree_node_class
class gaussian_kde:
    """A density estimated from samples, with a normal distribution about each.

    Args:
      dataset: samples, of shape (n,) or, of vectors with d components, (d, n).
      bw_method: how wide the normal distributions are: ``"scott"`` (the default) or
        ``"silverman"``, a number, or a function of this object.
      weights: the samples' weights, of shape (n,); equal ones where not given.

    Attributes:
      dataset: the samples, of shape (d, n).
      weights: the weights, summing to 1.
      covariance: the covariance of each normal distribution.
      inv_cov: its inverse.
      neff: the effective number of samples.

    Raises:
      TypeError: samples or weights are complex.
      ValueError: there is no sample, or weights do not fit.

    Sources: D. Scott, "Multivariate density estimation", 1992; B. Silverman, "Density estimation
    for statistics and data analysis", 1986.

    >>> import jxkernel as jx
    >>> jx.scipy.stats.gaussian_kde(jx.numpy.array([1.0, 2.0, 4.0])).evaluate(2.0).round(4)
    Array([0.2149], dtype=float32)
    """

    def __init__(self, dataset: Any, bw_method: Any = None, weights: Any = None) -> None:
        given = (dataset,) if weights is None else (dataset, jnp.asarray(weights))
        dtype = inexact_dtype(result_dtype("gaussian_kde", given)[0])
        refuse_complex("gaussian_kde", dtype)
        samples = jnp.atleast_2d(jnp.asarray(dataset, dtype))
        if samples.ndim > 2 or samples.shape[1] < 2:
            raise ValueError(
                f"gaussian_kde takes at least two samples, of shape (n,) or (d, n), got shape "
                f"{np.shape(dataset)}"
            )
        self.dataset = samples
        if weights is None:
            self.weights = jnp.full(self.n, 1 / self.n, dtype)
        else:
            given = jnp.atleast_1d(jnp.asarray(weights, dtype))
            if given.shape != (self.n,):
                raise ValueError(
                    f"gaussian_kde takes weights of shape {(self.n,)}, got {given.shape}"
                )
            self.weights = given / given.sum()
        self.neff = 1 / (self.weights**2).sum()
        self.covariance, self.inv_cov = _covariance(
            self.dataset, self.weights, self._bandwidth(bw_method)
        )

    def _bandwidth(self, method: str | float | Callable[..., Any] | None) -> Any:
        """Return the factor of the samples' standard deviation."""
        if method is None or method == "scott":
            return self.neff ** (-1 / (self.d + 4))
        if method == "silverman":
            return (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        if isinstance(method, str):
            raise ValueError(f"gaussian_kde got bw_method={method!r}: 'scott' or 'silverman'")
        return method(self) if callable(method) else method

    @property
    def d(self) -> int:
        """The number of components."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.dataset.shape[1]

    def tree_flatten(self) -> Any:
        """Return the arrays it is made of, and no more."""
        arrays = (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov)
        return arrays, None

    @classmethod
    def tree_unflatten(cls, _: None, arrays: Any) -> "gaussian_kde":
        """Return the density made of such arrays."""
        made = object.__new__(cls)
        made.neff, made.dataset, made.weights, made.covariance, made.inv_cov = arrays
        return made

    def _points(self, points: Any) -> Any:
        """Return points as an array of shape (d, m)."""
        found = jnp.atleast_2d(jnp.asarray(points))
        if found.shape[0] != self.d and found.shape == (1, self.d):
            found = found.T
        if found.shape[0] != self.d:
            raise ValueError(
                f"this density is of {self.d} components, got points of shape {np.shape(points)}"
            )
        return found

    def logpdf(self, x: Any) -> Any:
        """Return the logarithm of the density at points of shape (d, m)."""
        given = (self._points(x), self.dataset, self.weights, self.covariance)
        return _log_density(*promote_inexact("gaussian_kde", *given))

    def evaluate(self, points: Any) -> Any:
        """Return the density at points of shape (d, m)."""
        return jnp.exp(self.logpdf(points))

    def __call__(self, points: Any) -> Any:
        """Return the density at points of shape (d, m)."""
        return self.evaluate(points)

    def pdf(self, x: Any) -> Any:
        """Return the density at points of shape (d, m)."""
        return self.evaluate(x)

    def integrate_gaussian(self, mean: Any, cov: Any) -> Any:
        """Return the integral of the density times a normal one.

        Args:
          mean: the normal distribution's mean, of shape (d,).
          cov: its covariance, of shape (d, d).
        """
        middle = jnp.atleast_1d(jnp.asarray(mean, self.dataset.dtype))[:, None]
        total = self.covariance + jnp.atleast_2d(jnp.asarray(cov, self.dataset.dtype))
        kernels = jnp.exp(_log_kernels(middle, self.dataset, total))
        return (kernels[:, 0] * self.weights).sum()

    def integrate_box_1d(self, low: Any, high: Any) -> Any:
        """Return the weight of an interval, for samples of one component."""
        if self.d != 1:
            raise ValueError(f"integrate_box_1d needs samples of one component, not {self.d}")
        width = jnp.sqrt(self.covariance[0, 0])
        shares = [ndtr((end - self.dataset[0]) / width) for end in (low, high)]
        return ((shares[1] - shares[0]) * self.weights).sum()

    def integrate_kde(self, other: "gaussian_kde") -> Any:
        """Return the integral of this density times another one."""
        if other.d != self.d:
            raise ValueError(
                f"integrate_kde needs densities of as many components, got {self.d} and {other.d}"
            )
        total = self.covariance + other.covariance
        kernels = jnp.exp(_log_kernels(other.dataset, self.dataset, total))
        return self.weights @ kernels @ other.weights

    def resample(self, key: Any, shape: Any = ()) -> Any:
        """Return random points of the density, of shape (d, *shape).

        Args:
          key: a key.
          shape: how many.
        """
        sizes = canonical_shape(shape, "gaussian_kde.resample")
        count = int(np.prod(sizes))
        drawn = _drawn(key, self.dataset, self.weights, self.covariance, count)
        return drawn.reshape(self.d, *sizes)

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Any:
        """Refuse: boxes of several components have no formula; see ``integrate_box_1d``."""
        raise NotImplementedError(
            "gaussian_kde.integrate_box has no formula in several components: use integrate_box_1d"
        )

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Refuse: the estimate does not change; make another one with ``bw_method``."""
        raise NotImplementedError(
            "gaussian_kde.set_bandwidth would change the estimate: make another one with bw_method="
        )
