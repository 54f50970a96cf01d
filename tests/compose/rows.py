"""What random programs may compute: templates of expressions.

A row is a template, an expression of NumPy's that gives a result of the same shape and kind (the
template itself, where it is empty), and the kinds of dtype that it takes (all, where it is empty).

``{a}``, ``{b}`` and ``{d}`` are operands: ``{b}`` broadcasts with ``{a}``, ``{d}`` is any other.
"""

Row = tuple[str, ...]

FLOAT = "np.sin({a})"
SAME = "{a}"
REAL = "np.abs(np.sin({a}))"


def _each(names: str, template: str, *rest: str) -> list[Row]:
    return [(template.replace("NAME", name), *rest) for name in names.split()]


ELEMENTWISE: list[Row] = [
    *_each(
        "sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp expm1 exp2 log"
        " log1p log2 log10 sqrt reciprocal",
        "jnp.NAME({a})",
        FLOAT,
    ),
    *_each("cbrt sinc i0 deg2rad rad2deg spacing", "jnp.NAME({a})", FLOAT, "iuf"),
    *_each("sin cos exp log sqrt tanh rsqrt cbrt logistic erf", "lax.NAME({a})", FLOAT, "f"),
    *_each(
        "negative positive abs square conj real imag angle rint isnan isfinite isinf nan_to_num"
        " iscomplex isreal logical_not sign",
        "jnp.NAME({a})",
        "",
        "iufc",
    ),
    *_each("floor ceil trunc fabs isposinf isneginf signbit", "jnp.NAME({a})", "", "iuf"),
    *_each("isposinf isneginf signbit modf", "jnp.NAME({a})[0]", "{a}[0]", "f"),
    *_each("0 1", "jnp.frexp({a})[NAME]", "", "f"),
    *_each("0 1", "jnp.modf({a})[NAME]", "", "f"),
    *_each("invert bitwise_not", "jnp.NAME({a})", "", "biu"),
    *_each("population_count clz", "lax.NAME({a})", SAME, "iu"),
    ("jnp.bitwise_count({a})", SAME, "iu"),
    ("jnp.round({a}, {n})", SAME, "iuf"),
    ("jnp.round({a})", SAME, "iufc"),
    ("lax.round({a}, lax.RoundingMethod.TO_NEAREST_EVEN)", SAME, "f"),
    ("lax.integer_pow({a}, {n})", SAME, "iufc"),
    ("lax.reduce_precision({a}, 5, 3)", SAME, "f"),
    ("lax.is_finite({a})", "np.isfinite({a})", "f"),
    ("lax.exp2({a})", FLOAT, "f"),
    ("lax.clamp(jnp.zeros((), {a}.dtype), {a}, jnp.full((), 2, {a}.dtype))", SAME, "iuf"),
    ("lax.clamp(jnp.full((), 0.5, {a}.dtype), {a}, jnp.full((), 1.5, {a}.dtype))", SAME, "f"),
    ("jnp.clip({a}, {value}, {value})", SAME, "iuf"),
    ("jnp.clip({a}, min={b})", "np.maximum({a}, {b})", "iuf"),
    *_each(
        "relu sigmoid softplus gelu silu elu selu celu soft_sign swish mish leaky_relu log_sigmoid"
        " hard_tanh relu6 hard_sigmoid hard_silu squareplus sparse_plus sparse_sigmoid",
        "jax.nn.NAME({a})",
        FLOAT,
        "iuf",
    ),
    *_each(
        "gammaln gamma digamma erf erfc erfinv expit logit ndtr ndtri log_ndtr entr i0 i0e i1 i1e"
        " loggamma exp1 expi spence factorial",
        "jax.scipy.special.NAME({a})",
        FLOAT,
        "iuf",
    ),
    *_each(
        "xlogy xlog1py betaln gammainc gammaincc rel_entr kl_div beta zeta poch",
        "jax.scipy.special.NAME({a}, {b})",
        "np.arctan2({a}, {b})",
        "iuf",
    ),
    *_each(
        "norm.pdf norm.cdf norm.logpdf expon.pdf cauchy.cdf logistic.logpdf t.pdf poisson.pmf",
        "jax.scipy.stats.NAME({a}, {b})",
        "np.arctan2({a}, {b})",
        "iuf",
    ),
]

BINARY: list[Row] = [
    *_each("+ - *", "{a} NAME {b}", "", "iufc"),
    *_each("+ - * / == != @", "{a} NAME {b}"),
    *_each("+ - * / ** == !=", "{b} NAME {a}", "", "iufc"),
    *_each("// % < <= > >= **", "{a} NAME {b}", "", "biuf"),
    *_each("// % < **", "{b} NAME {a}", "", "biuf"),
    *_each("& | ^", "{a} NAME {b}", "", "biu"),
    *_each("<< >>", "{a} NAME {b}", "", "iu"),
    *_each("0 1", "divmod({a}, {b})[NAME]", "", "iuf"),
    *_each(
        "add subtract multiply divide true_divide maximum minimum fmax fmin power equal not_equal"
        " greater greater_equal less less_equal logical_and logical_or logical_xor isclose"
        " float_power logaddexp",
        "jnp.NAME({a}, {b})",
    ),
    *_each(
        "floor_divide remainder mod fmod arctan2 hypot logaddexp2 copysign nextafter heaviside",
        "jnp.NAME({a}, {b})",
        "",
        "iuf",
    ),
    *_each("bitwise_and bitwise_or bitwise_xor", "jnp.NAME({a}, {b})", "", "biu"),
    *_each("left_shift right_shift gcd lcm", "jnp.NAME({a}, {b})", "", "iu"),
    ("jnp.ldexp({a}, {n})", FLOAT, "iuf"),
    ("jnp.array_equal({a}, {b})", "np.bool_(1)"),
    ("jnp.array_equiv({a}, {b})", "np.bool_(1)"),
    ("jnp.allclose({a}, {b})", "np.bool_(1)", "iuf"),
    *_each(
        "add sub mul div max min pow rem atan2 nextafter eq ne lt ge",
        "lax.NAME({a}, {a})",
        SAME,
        "f",
    ),
    *_each(
        "add mul max bitwise_and bitwise_xor div rem shift_left", "lax.NAME({a}, {a})", SAME, "iu"
    ),
    *_each("add mul sub div max", "lax.NAME({a}, {value})", SAME, "f"),
    ("lax.shift_right_logical({a}, {a})", SAME, "iu"),
    ("lax.complex({a}, {a})", "{a} * 1j", "f"),
    ("jnp.where({a} > 0, {a}, {b})", "np.where({a}, {a}, {b})", "iuf"),
    ("jnp.where({d}, {a}, {b})", ""),
    ("jnp.where({b} == {a}, {d}, {value})", ""),
    ("jnp.select([{a} > 0, {a} < 0], [{a}, {b}], {value})", "np.where({a}, {a}, {b})", "iuf"),
    ("lax.select({a} > 0, {a}, {a})", SAME, "iuf"),
    ("jnp.piecewise({a}, [{a} > 0], [1, lambda u: u])", SAME, "iuf"),
    (
        "jnp.choose(({a} > 0).astype(int), [{a}, {b}], mode='clip')",
        "np.where({a}, {a}, {b})",
        "iuf",
    ),
    ("jnp.interp({a}, jnp.array([0., 1., 2.]), jnp.array([1., 0., 3.]))", FLOAT, "iuf"),
    ("jnp.digitize({a}, jnp.array([0., 1., 2.]))", "{a}.astype(int)", "iuf"),
    ("jnp.polyval(jnp.array([1., 2., 3.]), {a})", FLOAT),
]

CONVERSIONS: list[Row] = [
    *[("{a}.astype({dtype})",)] * 3,
    ("jnp.asarray({a}, {dtype})",),
    ("jnp.astype({a}, {dtype})",),
    ("lax.convert_element_type({a}, {dtype})", "{a}.astype({dtype})"),
    ("lax.bitcast_convert_type({a}, 'int32')", "{a}.astype('int32')", "f"),
    ("jnp.asarray({a}).view('uint8')", "{a}.view('uint8')"),
    ("jnp.full({sizes}, {b})", ""),
    ("jnp.full_like({a}, {b})", "{a} + 0"),
    ("jnp.full_like({a}, {value}, dtype={dtype})", "{a}.astype({dtype})"),
    *_each("zeros ones empty", "jnp.NAME_like({a})"),
    *_each("zeros ones", "jnp.NAME_like({a}, dtype={dtype})"),
    *_each("zeros ones", "jnp.NAME({a}.shape, {dtype})"),
    *_each("zeros ones", "jnp.NAME(jnp.shape({a}))", "np.NAME(np.shape({a}))"),
    ("jnp.arange({n}, {k}, {value})", ""),
    ("jnp.arange({k}, dtype={dtype})", ""),
    ("jnp.linspace({value}, {b}, {k})", ""),
    ("jnp.linspace({a}, {value}, {k}, endpoint={yes}, axis=0)", ""),
    ("jnp.logspace({value}, 1, {k})", ""),
    ("jnp.geomspace(1, 10, {k})", ""),
    ("jnp.eye({k}, {k}, {n}, dtype={dtype})", ""),
    ("jnp.identity({k})", ""),
    ("jnp.tri({k}, {k}, {n})", ""),
    ("jnp.array([{a}, {a}])", ""),
    ("jnp.array([{value}, {value}])", ""),
    ("jnp.array([1, {value}], dtype={dtype})", ""),
    ("jnp.stack([jnp.asarray({value}), jnp.asarray({value})])", "np.array([{value}, {value}])"),
    ("jnp.result_type({a}, {b}).type(1)", "({a} + {b}).ravel()[0]"),
    ("lax.iota({dtype}, {k})", "np.arange({k})"),
    ("lax.broadcasted_iota('int32', {sizes}, 0)", "np.zeros({sizes}, int)"),
    ("lax.full({sizes}, {value}, {dtype})", "np.full({sizes}, {value}, {dtype})"),
    ("jnp.real({a}) + 1j * jnp.imag({a})", ""),
]

REDUCTIONS: list[Row] = [
    *_each(
        "sum prod max min mean std var any all nansum nanprod nanmax nanmin nanmean nanstd nanvar"
        " count_nonzero median nanmedian ptp average",
        "jnp.NAME({a}, axis={axes})",
        "",
        "iuf",
    ),
    *_each("sum prod mean any all max min", "jnp.NAME({a}, axis={axes}, keepdims={yes})"),
    *_each("sum prod mean std var nansum nanmean", "jnp.NAME({a}, {axes}, dtype={dtype})"),
    *_each("sum prod", "jnp.NAME({a}, axis={axes}, initial={value})"),
    *_each("max min", "jnp.NAME({a}, axis={axes}, initial=0, where={a} > 0)", "", "iuf"),
    *_each("sum mean any prod std", "jnp.NAME({a}, axis={axes}, where={a} != 0)", "", "iufc"),
    *_each("std var", "jnp.NAME({a}, axis={axes}, ddof={k})", "", "iufc"),
    *_each("argmax argmin nanargmax nanargmin", "jnp.NAME({a}, axis={axis})", "", "biuf"),
    *_each("argmax argmin", "jnp.NAME({a})"),
    *_each("argmax argmin", "jnp.NAME({a}, axis={axis}, keepdims={yes})", "", "iuf"),
    *_each("argmax argmin", "lax.NAME({a}, 0, 'int32')", "np.NAME({a}, 0)", "iuf"),
    *_each("quantile nanquantile", "jnp.NAME({a}, {q}, axis={axes})", "", "iuf"),
    *_each(
        "linear lower higher midpoint nearest", "jnp.quantile({a}, {q}, method='NAME')", "", "iuf"
    ),
    ("jnp.percentile({a}, 30, axis={axes}, keepdims={yes})", "", "iuf"),
    ("jax.nn.logsumexp({a}, axis={axes})", "np.mean({a}, axis={axes})"),
    ("jax.scipy.special.logsumexp({a}, axis={axes}, b={b})", "np.mean({a}, axis={axes})"),
    *_each(
        "softmax log_softmax standardize",
        "jax.nn.NAME({a}, axis={axis})",
        "np.sin({a}) + np.sum({a}, {axis}) * 0",
        "iuf",
    ),
    ("jax.nn.one_hot({a}, 3)", "np.sin({a})[..., None] * np.ones(3)", "iu"),
    ("jnp.average({a}, axis={axis}, weights={a})", "np.mean({a}, {axis})", "iuf"),
    *_each("sum prod max min and or", "lax.reduce_NAME({a}, (0,))", "{a}[0]", "iub"),
    *_each("sum prod max min", "lax.reduce_NAME({a}, (0,))", "{a}[0]", "fc"),
    ("lax.reduce({a}, 0, lax.add, (0,))", "{a}[0]", "i"),
    ("jnp.cov({a})", "", "iuf"),
    ("jnp.corrcoef({a})", "", "iuf"),
    ("jnp.trace({a}, {n})", ""),
    ("jnp.histogram({a}, bins=3, range=(0, 2))[0]", "", "iuf"),
    ("jnp.bincount({a}, length=4)", "np.zeros(4, int) + {a}[0] * 0", "iu"),
    ("jax.ops.segment_sum({a}, jnp.array([0, 1, 0])[:{a}.shape[0]], 2)", "np.stack([{a}[0]] * 2)"),
    ("jnp.nonzero({a}, size=3)[0]", "np.zeros(3, int) + 0 * {a}.ndim"),
    ("jnp.argwhere({a}, size=2)", "np.zeros((2, {a}.ndim), int)"),
    ("jnp.flatnonzero({a}, size=2, fill_value={n})", "np.zeros(2, int)"),
    ("jnp.unique({a}, size=3)", "np.ones(3, {a}.dtype)"),
    ("jnp.unique({a}, size=2, return_counts=True, fill_value=1)[1]", "np.ones(2, int)", "biuf"),
    ("jnp.unique({a}, size=4, return_inverse=True)[1]", "np.ones({a}.shape, int)"),
    ("jnp.union1d({a}, {d}, size=4)", "np.resize(np.union1d({a}, {d}), 4)"),
    ("jnp.isin({a}, {d})", ""),
    ("jnp.setdiff1d({a}, {d}, size=2)", "np.ones(2, {a}.dtype)"),
]

CUMULATIVE: list[Row] = [
    *_each("cumsum cumprod nancumsum nancumprod", "jnp.NAME({a}, axis={axes})"),
    *_each("cumsum cumprod", "jnp.NAME({a}, {axis}, {dtype})"),
    *_each(
        "cumsum cumprod cummax cummin", "lax.NAME({a}, 0, reverse={yes})", "{a} + {a}[0]", "iuf"
    ),
    ("lax.cumlogsumexp({a}, 0, reverse={yes})", "{a} + {a}[0]", "f"),
    *_each(
        "add mul max", "lax.associative_scan(lax.NAME, {a}, reverse={yes})", "{a} + {a}[0]", "iuf"
    ),
    ("jnp.cumulative_sum({a}, axis={axis}, include_initial={yes})", ""),
    ("jnp.diff({a}, {k}, axis={axis})", ""),
    ("jnp.ediff1d({a})", ""),
    ("jnp.gradient({a}, axis={axis})", "", "iuf"),
    ("jnp.trapezoid({a}, axis={axis})", "", "iuf"),
    *_each(
        "add maximum multiply",
        "jnp.NAME.accumulate({a}, axis={axis})",
        "np.cumsum({a}, axis={axis})",
        "iuf",
    ),
    *_each("add maximum multiply logical_or", "jnp.NAME.reduce({a}, axis={axes})", "", "iuf"),
    *_each("add subtract maximum", "jnp.NAME.outer({a}, {b})", "", "iuf"),
    ("jnp.add.at({a}, 0, {value}, inplace=False)", SAME, "iufc"),
    ("jnp.add.reduceat({a}, jnp.array([0, 1]))", "", "iuf"),
]

SHAPES: list[Row] = [
    ("jnp.reshape({a}, {sizes})", ""),
    ("{a}.reshape({sizes})",),
    ("jnp.reshape({a}, {sizes}, order='F')", ""),
    ("lax.reshape({a}, {sizes})", "np.reshape({a}, {sizes})"),
    ("jnp.ravel({a})",),
    ("jnp.transpose({a}, {order})",),
    ("lax.transpose({a}, {order})", "np.transpose({a}, {order})"),
    ("{a}.T",),
    ("jnp.matrix_transpose({a})", ""),
    ("jnp.moveaxis({a}, {axis}, {axis})", ""),
    ("jnp.swapaxes({a}, {axis}, 0)", ""),
    ("jnp.rollaxis({a}, {axis}, {n})", ""),
    ("jnp.expand_dims({a}, {axis})", ""),
    ("jnp.squeeze({a})", ""),
    ("jnp.squeeze({a}, axis={axis})", ""),
    ("jnp.broadcast_to({a}, (2, *jnp.shape({a})))", "np.stack([{a}] * 2)"),
    ("lax.broadcast({a}, (2,))", "np.stack([{a}] * 2)"),
    ("jnp.tile({a}, {k})", ""),
    ("jnp.tile({a}, (2, 1))", ""),
    ("jnp.repeat({a}, {k}, axis={axis})", ""),
    ("jnp.repeat({a}, {k})", ""),
    (
        "jnp.repeat({a}, jnp.array([2, 0, 1])[:{a}.shape[0]], axis=0, total_repeat_length=3)",
        "np.stack([{a}[0]] * 3)",
    ),
    ("jnp.roll({a}, {n}, axis={axes})", ""),
    ("jnp.flip({a}, axis={axes})", ""),
    *_each("flipud fliplr", "jnp.NAME({a})"),
    ("lax.rev({a}, (0,))", "{a}[::-1]"),
    ("jnp.rot90({a}, {n})", ""),
    *_each("constant edge reflect symmetric wrap empty", "jnp.pad({a}, ({k}, 1), mode='NAME')"),
    *_each("maximum minimum mean linear_ramp", "jnp.pad({a}, {k}, mode='NAME')", "", "iuf"),
    ("jnp.pad({a}, 1, constant_values={value})", ""),
    (
        "lax.pad({a}, {a}.sum(dtype={a}.dtype), [(1, -1, 1)])",
        "np.resize({a}, 2 * {a}.shape[0] - 1)",
    ),
    ("jnp.concatenate([{a}, {d}], axis={axis})", ""),
    ("jnp.concatenate([{a}, {a}, {d}], axis=None)", ""),
    *_each("stack vstack hstack dstack column_stack", "jnp.NAME([{a}, {d}])"),
    ("jnp.stack([{a}, {a}], axis={axis})", ""),
    ("jnp.append({a}, {d})", ""),
    ("jnp.insert({a}, {n}, {value})", ""),
    ("jnp.delete({a}, {n})", ""),
    ("jnp.block([[{a}, {a}]])", ""),
    ("jnp.split({a}, {k}, axis={axis})[0]", ""),
    ("jnp.array_split({a}, {k})[0]", ""),
    ("jnp.unstack({a})[0]", "{a}[0]"),
    *_each("atleast_1d atleast_2d atleast_3d", "jnp.NAME({a})"),
    *_each("tril triu", "jnp.NAME({a}, {n})"),
    ("jnp.diag({a}, {n})", ""),
    ("jnp.diagonal({a}, {n})", ""),
    ("jnp.diagflat({a}, {n})", ""),
    ("jnp.fill_diagonal({a}, {value}, inplace=False)", SAME),
    ("jnp.trim_zeros({a})", ""),
    ("jnp.meshgrid({a}, {d})[1]", ""),
    ("jnp.broadcast_arrays({a}, {b})[1]", "{b} + 0 * {a}"),
    ("jnp.vander({a}, {k})", ""),
    ("jnp.resize({a}, (2, 3))", ""),
    ("jnp.extract({a} > 0, {a})", ""),
    ("jnp.packbits({a}, axis={axis})", "", "b"),
]

SORTS: list[Row] = [
    *_each("sort argsort", "jnp.NAME({a}, axis={axis})"),
    *_each(
        "sort argsort", "jnp.NAME({a}, axis={axis}, descending={yes})", "np.NAME({a}, axis={axis})"
    ),
    ("jnp.sort({a}, axis=None)",),
    ("lax.sort({a}, dimension=0)", "np.sort({a}, axis=0)"),
    *_each("0 1", "lax.sort(({a}, {a}), dimension=0, num_keys=1)[NAME]", "np.sort({a}, axis=0)"),
    *_each(
        "0 1", "lax.top_k({a}, {k})[NAME]", "np.sort({a})[..., :{k}] + {a}[..., {k} - 1:{k}]", "iuf"
    ),
    *_each("partition argpartition", "jnp.NAME({a}, {k}, axis={axis})", "", "f"),
    *_each(
        "left right",
        "jnp.searchsorted(jnp.sort({a}.ravel()), {d}, side='NAME')",
        "{d}.astype(int) + {a}.ndim * 0",
    ),
    (
        "jnp.searchsorted(jnp.array([-1, 0, 2]), {a}, method='compare_all')",
        "{a}.astype(int)",
        "iuf",
    ),
    ("jnp.lexsort(({a}, {a}))", ""),
    ("jnp.sort_complex({a})", ""),
    ("jnp.take({a}, {n}, axis={axis}, mode='clip')", "np.take({a}, 0, axis={axis})"),
    ("jnp.take({a}, jnp.array([0, {n}]), axis={axis})", "np.take({a}, [0, 0], axis={axis})"),
    ("jnp.take({a}, jnp.array([0, {n}]), mode='wrap')", "np.take({a}, [0, 0])"),
    (
        "jnp.take({a}, jnp.array([0, {n}]), axis={axis}, mode='fill', fill_value={value})",
        "np.take({a}, [0, 0], axis={axis})",
    ),
    ("jnp.take_along_axis({a}, jnp.argsort({a}, axis={axis}), axis={axis})", ""),
    ("jnp.compress(np.array([True, False, True]), {a}, axis={axis})", ""),
    ("jnp.put({a}, {n}, {value}, inplace=False)", SAME),
    (
        "jnp.put_along_axis({a}, jnp.zeros({a}.shape, int)[:1], {value}, 0, inplace=False)",
        "{a} + {a}[:1]",
    ),
    ("lax.dynamic_slice_in_dim({a}, {n}, 1)", "{a}[:1]"),
    ("lax.dynamic_index_in_dim({a}, {n}, 0, keepdims={yes})", "np.sum({a}, 0, keepdims={yes})"),
    ("lax.dynamic_update_index_in_dim({a}, {a}[0], {n}, 0)", "{a} + {a}[0]"),
    ("lax.index_in_dim({a}, {n}, 0)", "{a}[:1]"),
    ("lax.slice_in_dim({a}, 0, {k}, 2)", "{a}[:{k}:2]"),
]

CONTRACTIONS: list[Row] = [
    *_each("dot matmul inner outer vdot kron tensordot", "jnp.NAME({a}, {d})"),
    *_each("dot matmul", "jnp.NAME({a}, {a}.T)"),
    (
        "jnp.matmul({a}.T, {a}, preferred_element_type='float32')",
        "{a}.T @ {a} * np.float32(1)",
        "iuf",
    ),
    ("jnp.tensordot({a}, {d}, axes={k})", ""),
    ("jnp.vecdot({a}, {b})", ""),
    *_each("ij,kj->ik ij,ij->i ij->ji ij,jk,kl ij->", "jnp.einsum('NAME', {a}, {a}, {a})"),
    *_each("ij,kj->ik ij,ij->i ...i,...i->... i,j->ji", "jnp.einsum('NAME', {a}, {a})"),
    *_each("ij->ji i... ii->i ii ...->...", "jnp.einsum('NAME', {a})"),
    ("jnp.cross({a}, {d})", "", "iufc"),
    *_each("full same valid", "jnp.convolve({a}, {d}, mode='NAME')"),
    *_each("full same valid", "jnp.correlate({a}, {d}, mode='NAME')"),
    ("jnp.polymul({a}, {d})", ""),
    ("jnp.polyadd({a}, {d})", ""),
    ("jnp.polyder({a})", ""),
    ("jnp.polyint({a}, {k})", ""),
    *_each(
        "full same valid",
        "jax.scipy.signal.convolve({a}, {a}, mode='NAME')",
        "np.convolve({a}, {a}, mode='NAME')",
        "iuf",
    ),
    *_each(
        "SAME VALID",
        "lax.conv_general_dilated({a}[None, None], {a}[None, None, :2], ({k},), 'NAME')",
        "np.convolve({a}[:3], {a}[:1], 'same')[None, None]",
        "f",
    ),
    (
        "lax.conv_general_dilated({a}[None], {a}[:1, None], (1,), [(1, {k})],"
        " lhs_dilation=({k},), rhs_dilation=(2,), feature_group_count={a}.shape[0])",
        "np.stack([{a}])",
        "f",
    ),
    *_each(
        "add max",
        "lax.reduce_window({a}, 0., lax.NAME, (2,), (1,), 'SAME')",
        "np.sort({a}[:99])",
        "f",
    ),
    ("jax.nn.relu(jnp.outer({a}, {a}))", "np.outer({a}, {a})", "iuf"),
    (
        "lax.dot_general({a}, {a}, ((({a}.ndim - 1,), ({a}.ndim - 1,)), ((), ())))",
        "np.tensordot({a}, {a}, ({a}.ndim - 1, {a}.ndim - 1))",
        "iufc",
    ),
    ("lax.dot({a}.T, {a})", "np.dot({a}.T, {a})", "iuf"),
    ("lax.batch_matmul({a}[None], {a}.T[None])", "{a}[None] @ {a}.T[None]", "f"),
]

SQUARE = "({a} @ {a}.T + 3 * jnp.eye({a}.shape[0], dtype={a}.dtype))"

LINEAR_ALGEBRA: list[Row] = [
    *_each(
        "det inv cholesky eigvalsh matrix_rank pinv cond", f"jnp.linalg.NAME({SQUARE})", "", "f"
    ),
    *_each("0 1", f"jnp.linalg.slogdet({SQUARE})[NAME]", "", "fc"),
    (f"jnp.linalg.solve({SQUARE}, {{a}})", "", "fc"),
    (f"jnp.linalg.lstsq({SQUARE}, {{a}})[0]", "", "f"),
    (f"jnp.abs(jnp.linalg.qr({SQUARE})[1])", "", "f"),
    ("jnp.linalg.svd({a}, compute_uv=False)", "", "fc"),
    (f"jnp.linalg.eigh({SQUARE})[0]", "", "fc"),
    (f"jnp.linalg.matrix_power({SQUARE}, {{n}})", "", "f"),
    *_each(
        "'fro' 'nuc' 1 -1 2 -2 jnp.inf -jnp.inf",
        "jnp.linalg.norm({a}, ord=NAME)",
        "np.sin({a}).sum()",
        "iuf",
    ),
    ("jnp.linalg.norm({a}, axis={axes}, keepdims={yes})", "", "iufc"),
    *_each("0 1 2 3 -1 jnp.inf", "jnp.linalg.vector_norm({a}, ord=NAME, axis={axis})", "", "f"),
    ("jnp.linalg.matrix_norm({a})", "", "f"),
    ("jnp.linalg.multi_dot([{a}, {a}.T, {a}])", "", "iuf"),
    ("jnp.linalg.outer({a}, {a})", ""),
    ("jnp.linalg.trace({a})", ""),
    ("jnp.linalg.diagonal({a})", ""),
    ("jax.scipy.linalg.expm({a} @ {a}.T)", "{a} @ {a}.T", "f"),
    (
        f"jax.scipy.linalg.solve_triangular({SQUARE}, {{a}}, lower={{yes}})",
        "{a} @ {a}.T @ {a}",
        "f",
    ),
    (
        f"jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor({SQUARE}), {{a}})",
        "{a} @ {a}.T @ {a}",
        "f",
    ),
    *_each("fft ifft rfft", "jnp.fft.NAME({a}, {k}, axis={axis})"),
    *_each("fft ifft rfft irfft hfft fftshift", "jnp.fft.NAME({a})"),
    *_each("fft2 ifftn rfftn", "jnp.fft.NAME({a})"),
]

IMAGE = "jnp.broadcast_to({a}[None, None], (1, 2, *jnp.shape({a})))"
KERNEL = "jnp.broadcast_to({a}[:1, :2], (2, GROUP, *jnp.shape({a}[:1, :2])))"
CONVOLUTIONS: list[Row] = [
    *[
        (
            f"lax.conv_general_dilated({IMAGE}, {KERNEL.replace('GROUP', inner)}, {how})",
            "np.broadcast_to({a}[:1, :1], (1, 2, 1, 1))",
            "f",
        )
        for inner, how in (
            ("2", "(1, {k}), 'SAME'"),
            ("2", "(1, 1), 'VALID', lhs_dilation=(1, {k})"),
            ("2", "(1, 1), 'SAME', rhs_dilation=({k}, {k})"),
            ("1", "(1, 1), [(0, 1), ({k}, 0)], feature_group_count=2"),
            ("2", "(1, 1), [(-1, 1), (0, 0)]"),
        )
    ],
    (
        f"lax.conv_transpose({IMAGE}, {KERNEL.replace('GROUP', '2')}, (1, {{k}}), 'SAME',"
        " dimension_numbers=('NCHW', 'OIHW', 'NCHW'))",
        "np.broadcast_to({a}[:1, :1], (1, 2, 1, 1))",
        "f",
    ),
]

KEY = "jax.random.key(3)"
DRAWS: list[Row] = [
    *_each(
        "normal uniform exponential gumbel laplace logistic cauchy rademacher bernoulli",
        f"jnp.sin({{a}}) + jax.random.NAME({KEY}, shape=jnp.shape({{a}}))",
        FLOAT,
        "f",
    ),
    (f"{{a}} + jax.random.randint({KEY}, jnp.shape({{a}}), -3, 5)", SAME, "if"),
    (f"jax.random.permutation({KEY}, {{a}}, axis={{axis}})", SAME),
    (f"jax.random.choice({KEY}, {{a}}, (2,), replace={{yes}})", "{a}[:2]"),
    (f"jax.random.categorical({KEY}, {{a}}, axis={{axis}})", "np.argmax({a}, {axis})", "f"),
    (f"jax.random.bits(jax.random.fold_in({KEY}, {{k}}), jnp.shape({{a}})) % 7", "{a} % 7", "u"),
    (f"jax.random.key_data(jax.random.split({KEY}, {{k}}))", "np.ones(({k}, 2), np.uint32)"),
]

DENSITIES: list[Row] = [
    *_each(
        "norm.logpdf norm.cdf norm.sf cauchy.logpdf laplace.logpdf logistic.logpdf expon.logpdf"
        " uniform.logpdf gumbel_r.logpdf",
        "jax.scipy.stats.NAME({a}, {b})",
        "np.sin({a} + {b})",
        "if",
    ),
    *_each(
        "beta.logpdf gamma.logpdf t.logpdf pareto.logpdf",
        "jax.scipy.stats.NAME({a}, {b}, 1.5)",
        "np.sin({a} + {b})",
        "if",
    ),
    *_each(
        "poisson.logpmf geom.logpmf bernoulli.logpmf chi2.logpdf",
        "jax.scipy.stats.NAME({a}, {b})",
        "np.sin({a} + {b})",
        "if",
    ),
]

ROWS: list[Row] = [
    *CONVOLUTIONS,
    *DRAWS,
    *DENSITIES,
    *ELEMENTWISE,
    *BINARY,
    *CONVERSIONS,
    *REDUCTIONS,
    *CUMULATIVE,
    *SHAPES,
    *SORTS,
    *CONTRACTIONS,
    *LINEAR_ALGEBRA,
]
