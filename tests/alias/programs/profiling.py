"""Profiling: a trace of a block, named steps, memory."""

import gzip
import json
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp


@jax.profiler.annotate_function
def square(x):
    return x @ x


folder = Path(tempfile.mkdtemp())
x = jnp.ones((64, 64))
with jax.profiler.trace(folder, create_perfetto_trace=True):
    for step in range(2):
        with jax.profiler.StepTraceAnnotation("train", step_num=step):
            square(x).block_until_ready()
    with jax.profiler.TraceAnnotation("reading"):
        float(x[0, 0])

found = folder.glob("plugins/profile/*/*.trace.json.gz")
(trace,) = [path for path in found if not path.name.startswith("perfetto")]
events = json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]
names = {str(event.get("name")).split("#")[0] for event in events}
assert {"reading", "train", "square"} <= names
assert list(folder.glob("plugins/profile/*/*.xplane.pb"))
assert list(folder.glob("plugins/profile/*/perfetto_trace.json.gz"))

memory = folder / "memory.prof"
jax.profiler.save_device_memory_profile(memory)
assert gzip.decompress(memory.read_bytes())

jax.profiler.start_trace(folder)
try:
    jax.profiler.start_trace(folder)
except RuntimeError:
    pass
else:
    raise AssertionError("two profiles at a time")
jax.profiler.stop_trace()
try:
    jax.profiler.stop_trace()
except RuntimeError:
    pass
else:
    raise AssertionError("nothing was running")
