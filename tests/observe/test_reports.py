"""The report of a session as plain data, for scripts."""

import json

import pytest

import jxkernel as jx
from jxkernel.observe import Recorder, environment, report
from jxkernel.observe.reports import masked, options_set, variables_set


def test_a_report_is_data_that_json_holds() -> None:
    with Recorder() as recorder:
        jx.jit(lambda x: x * 2.0)(1.0)
    found = json.loads(json.dumps(report(recorder, warnings=["careful"], packages={"this": "1"})))
    assert found["environment"]["this"] == "1"
    assert found["warnings"] == ["careful"]
    assert found["ledger"][0]["eqns"] == 1
    assert found["environment"].keys() >= environment().keys()


def test_options_and_variables_that_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS_OF_MINE", "y" * 10_000)
    monkeypatch.setenv("JAX_SECRET", "no")
    monkeypatch.setenv("HOME_OF_MINE", "no")
    found = variables_set()
    assert len(found["XLA_FLAGS_OF_MINE"]) <= 2_001
    assert not {"JAX_SECRET", "HOME_OF_MINE"} & found.keys()
    with jx.debug_nans(True):
        assert "jax_debug_nans" not in options_set() or options_set()["jax_debug_nans"] == "True"


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        ("API_KEY = 'abc'", "API_KEY = '***'"),
        ('conf = {"db_password": "x y", "n": 1}', 'conf = {"db_password": \'***\', "n": 1}'),
        ("login(token=f'abc')", "login(token='***')"),
        ("keys = 'abc'; tokens = 3", "keys = 'abc'; tokens = 3"),
    ],
)
def test_strings_of_secrets_are_masked(source: str, hidden: str) -> None:
    assert masked(source) == hidden
