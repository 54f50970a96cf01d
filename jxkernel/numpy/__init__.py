"""The NumPy API: what users call, with NumPy's names, promotion and weak types.

Place in the pipeline: above the transforms, below ``nn``, ``random`` and ``scipy``.  Functions
promote and broadcast their operands and apply operations; those that are more than one operation
are fused, one dispatch when run eagerly.  Arrays do not change: no function writes to one.

Each file is one family, and its ``__all__`` says what of it is public.
"""

from typing import TYPE_CHECKING

from jxkernel._lazy import lazy_names
from jxkernel.numpy import (
    argminmax,
    arithmetic,
    contractions,
    creation,
    host,
    joining,
    logic,
    mathematics,
    matrices,
    means,
    predicates,
    ranges,
    reductions,
    scalars,
    selection,
    shapes,
    taking,
    universal,
)
from jxkernel.numpy.argminmax import *  # noqa: F403
from jxkernel.numpy.arithmetic import *  # noqa: F403
from jxkernel.numpy.contractions import *  # noqa: F403
from jxkernel.numpy.creation import *  # noqa: F403
from jxkernel.numpy.host import *  # noqa: F403
from jxkernel.numpy.joining import *  # noqa: F403
from jxkernel.numpy.logic import *  # noqa: F403
from jxkernel.numpy.mathematics import *  # noqa: F403
from jxkernel.numpy.matrices import *  # noqa: F403
from jxkernel.numpy.means import *  # noqa: F403
from jxkernel.numpy.predicates import *  # noqa: F403
from jxkernel.numpy.ranges import *  # noqa: F403
from jxkernel.numpy.reductions import *  # noqa: F403
from jxkernel.numpy.scalars import *  # noqa: F403
from jxkernel.numpy.selection import *  # noqa: F403
from jxkernel.numpy.shapes import *  # noqa: F403
from jxkernel.numpy.taking import *  # noqa: F403
from jxkernel.numpy.universal import *  # noqa: F403
from jxkernel.runtime import Array as ndarray

# Not needed by every program: imported at their first use.
if TYPE_CHECKING:
    from jxkernel.numpy import fft as fft
    from jxkernel.numpy import linalg as linalg
    from jxkernel.numpy.array_api import *  # noqa: F403
    from jxkernel.numpy.bit_packing import *  # noqa: F403
    from jxkernel.numpy.convolutions import *  # noqa: F403
    from jxkernel.numpy.cross_products import *  # noqa: F403
    from jxkernel.numpy.cumulative import *  # noqa: F403
    from jxkernel.numpy.einsums import *  # noqa: F403
    from jxkernel.numpy.floating_parts import *  # noqa: F403
    from jxkernel.numpy.functional import *  # noqa: F403
    from jxkernel.numpy.gcd_and_lcm import *  # noqa: F403
    from jxkernel.numpy.grids import *  # noqa: F403
    from jxkernel.numpy.histograms import *  # noqa: F403
    from jxkernel.numpy.inserting import *  # noqa: F403
    from jxkernel.numpy.minmax_and_top_k import *  # noqa: F403
    from jxkernel.numpy.nan_reductions import *  # noqa: F403
    from jxkernel.numpy.padding import *  # noqa: F403
    from jxkernel.numpy.piecewise_functions import *  # noqa: F403
    from jxkernel.numpy.polynomials import *  # noqa: F403
    from jxkernel.numpy.put_and_place import *  # noqa: F403
    from jxkernel.numpy.quantiles import *  # noqa: F403
    from jxkernel.numpy.rolling import *  # noqa: F403
    from jxkernel.numpy.sets import *  # noqa: F403
    from jxkernel.numpy.sorting import *  # noqa: F403
    from jxkernel.numpy.statistics import *  # noqa: F403
    from jxkernel.numpy.windows import *  # noqa: F403
_LATE_NAMES = {
    "array_api": "__array_api_version__ __array_namespace_info__",
    "bit_packing": "packbits unpackbits",
    "convolutions": "convolve correlate",
    "cross_products": "cross",
    "cumulative": (
        "cumprod cumsum cumulative_prod cumulative_sum diff ediff1d gradient nancumprod "
        "nancumsum trapezoid unwrap"
    ),
    "gcd_and_lcm": "gcd lcm",
    "minmax_and_top_k": "minmax top_k",
    "floating_parts": "frexp ldexp spacing",
    "functional": "apply_along_axis apply_over_axes vectorize",
    "grids": (
        "c_ fromfunction index_exp indices ix_ meshgrid mgrid ogrid r_ ravel_multi_index s_ "
        "unravel_index"
    ),
    "histograms": "bincount digitize histogram histogram2d histogram_bin_edges histogramdd",
    "inserting": "delete insert",
    "nan_reductions": "nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar",
    "padding": "pad",
    "piecewise_functions": "piecewise",
    "put_and_place": "place put trim_zeros",
    "polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "rolling": "roll",
    "sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_values"
    ),
    "sorting": "argpartition argsort lexsort partition searchsorted sort sort_complex",
    "statistics": "average corrcoef cov interp",
    "einsums": "einsum einsum_path",
    "windows": "bartlett blackman hamming hanning kaiser",
}
__getattr__, __dir__ = lazy_names(
    __name__,
    modules="fft linalg",
    names={f"{__name__}.{family}": names for family, names in _LATE_NAMES.items()},
)

__all__ = ["ndarray"]
__all__ += ["fft", "linalg"]
__all__ += " ".join(_LATE_NAMES.values()).split()  # pyright: ignore[reportUnsupportedDunderAll]
__all__ += arithmetic.__all__
__all__ += contractions.__all__
__all__ += creation.__all__
__all__ += host.__all__
__all__ += joining.__all__
__all__ += logic.__all__
__all__ += mathematics.__all__
__all__ += matrices.__all__
__all__ += means.__all__
__all__ += argminmax.__all__
__all__ += predicates.__all__
__all__ += ranges.__all__
__all__ += reductions.__all__
__all__ += scalars.__all__
__all__ += selection.__all__
__all__ += shapes.__all__
__all__ += taking.__all__
__all__ += universal.__all__
