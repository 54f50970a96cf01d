"""Counts of devices and processes, live arrays, the environment's report."""

import jxkernel as jx
import jxkernel.numpy as jnp


def test_one_process_has_all_devices():
    count = len(jx.devices())
    assert jx.device_count() == jx.local_device_count() == jx.device_count("cpu") == count
    assert (jx.process_index(), jx.process_count(), jx.process_indices()) == (0, 1, [0])
    assert (jx.host_id(), jx.host_count(), jx.host_ids()) == (0, 1, [0])
    assert jx.default_backend() == jx.devices()[0].platform
    assert isinstance(jx.devices()[0], jx.Device)


def test_live_arrays_are_those_that_someone_holds():
    x = jnp.arange(12345.0)
    pointer = x.unsafe_buffer_pointer()

    def held():
        alive = [a for a in jx.live_arrays() if not a.is_deleted() and a.shape == (12345,)]
        return any(a.unsafe_buffer_pointer() == pointer for a in alive)

    assert held()
    x.delete()
    assert not held()


def test_environment_is_printed_or_returned(capsys):
    text = jx.print_environment_info(return_string=True)
    assert text.startswith(f"jxkernel: {jx.__version__}\njaxlib: ")
    assert jx.print_environment_info() is None
    assert capsys.readouterr().out == text + "\n"


def test_copying_to_the_host_is_started_for_each_array_of_a_tree():
    trees = {"x": jnp.ones(3), "n": 4}
    assert jx.copy_to_host_async(trees) is trees
    assert trees["x"].tolist() == [1.0, 1.0, 1.0]


def test_versions_are_numbers_too():
    assert ".".join(map(str, jx.version.__version_info__)) == jx.__version__
    assert jx.__version_info__ == jx.version.__version_info__
