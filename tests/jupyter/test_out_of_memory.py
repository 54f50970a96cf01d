"""An allocation that cannot be had says what holds memory, and what gives it back."""

from jxkernel.jupyter.errors.out_of_memory import _notes
from jxkernel.observe import DeviceMemory, LiveArray, LiveMemory
from tests.jupyter.kernels import running_kernel


def test_the_error_names_what_holds_memory_and_nothing_is_lost():
    with running_kernel() as kernel:
        kernel.ok("big = jnp.ones((1000, 1000)); params = {'w': jnp.ones((500, 1000))}")
        failed = kernel.run("jnp.zeros((10**7, 10**7))")
        assert failed.status == "error"
        assert "Memory: 400 TB was asked for, " in failed.traceback, failed.traceback
        assert "The largest are big 4 MB, params 2 MB.\n" in failed.traceback
        assert "It does not fit even without them: divide the work" in failed.traceback
        assert "%jx free" not in failed.traceback, "advice that would not help"
        assert (
            kernel.ok("print(int(big.sum()), int(params['w'].sum()))").streams == "1000000 500000\n"
        )


def _memory(free: int | None) -> LiveMemory:
    arrays = (
        LiveArray("f32[4]", 6_000_000_000, ("gpu:0",), outputs=(7,)),
        LiveArray("f32[3]", 3_000_000_000, ("gpu:0",), names=("params['w']",)),
        LiveArray("f32[3]", 1_000_000_000, ("gpu:0",), names=("params['b']", "b")),
        LiveArray("f32[2]", 5, ("gpu:0",), names=("small",)),
    )
    device = DeviceMemory("gpu:0", 4, 10_000_000_005, in_use=None, limit=None, free=free)
    return LiveMemory(arrays, (device,))


def test_what_would_help_is_advised_with_what_it_gives():
    told = " ".join(_notes(8_000_000_000, _memory(1_000_000_000)))
    assert told == (
        "Memory: 8 GB was asked for, 1 GB is free, arrays hold 10 GB. "
        "The largest are Out[7] 6 GB, params 4 GB. "
        "%jx free Out[7], params deletes them and gives back 10 GB; then run the cell again. "
        "%jx live shows all that is held."
    )


def test_what_is_unknown_is_left_out():
    told = " ".join(_notes(None, _memory(None)))
    assert told.startswith("Memory: arrays hold 10 GB. The largest are Out[7] 6 GB")
    empty = LiveMemory((), ())
    assert _notes(None, empty) == ["Memory: arrays hold 0 B."]
