"""Profiles kept in memory, written afterwards."""

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.experimental import profiler


def test_a_profile_is_written_after_its_end(tmp_path):
    session = jx.profiler.ProfileSession()
    with pytest.raises(ValueError, match="this session has no profile"):
        jx.profiler.export_profile_data(session, tmp_path)
    session.start()
    jnp.sin(jnp.arange(8.0)).block_until_ready()
    data = session.stop()
    jx.profiler.export_profile_data(session, tmp_path, create_perfetto_trace=True)
    assert len(list(tmp_path.rglob("perfetto_trace.json.gz"))) == 1
    [written] = tmp_path.rglob("*.xplane.pb")
    found = jx.profiler.ProfileData.from_file(str(written))
    assert [plane.name for plane in found.planes] == [plane.name for plane in data.planes]
    with pytest.raises(NotImplementedError, match="would open a server"):
        jx.profiler.export_profile_data(session, tmp_path, create_perfetto_link=True)


def test_what_compilers_read_of_a_profile_is_empty_without_gpus(tmp_path):
    with jx.profiler.trace(tmp_path):
        jx.numpy.ones(3).block_until_ready()
    assert isinstance(profiler.get_profiled_instructions_proto(tmp_path), bytes)
