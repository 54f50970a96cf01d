"""Profiles kept in memory, written afterwards."""

import pytest

import jxkernel as jx
import jxkernel.numpy as jnp


def test_a_profile_is_written_after_its_end(tmp_path):
    session = jx.profiler.ProfileSession()
    with pytest.raises(ValueError, match="this session has no profile"):
        jx.profiler.export_profile_data(session, tmp_path)
    session.start()
    jnp.sin(jnp.arange(8.0)).block_until_ready()
    data = session.stop()
    jx.profiler.export_profile_data(session, tmp_path / "a", False, True, "first")
    jx.profiler.export_profile_data(data, tmp_path / "b")
    first = tmp_path / "a" / "plugins" / "profile" / "first"
    assert (first / "perfetto_trace.json.gz").exists()
    [written] = first.glob("*.xplane.pb")
    found = jx.profiler.ProfileData.from_file(str(written))
    assert [plane.name for plane in found.planes] == [plane.name for plane in data.planes]
    assert len(list((tmp_path / "b").rglob("*.xplane.pb"))) == 1
    with pytest.raises(NotImplementedError, match="would open a server"):
        jx.profiler.export_profile_data(session, tmp_path, create_perfetto_link=True)
