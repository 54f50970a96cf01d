"""What front ends may ask a session for."""

import json
from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import pytest

from jxkernel.jupyter.features import REQUESTS
from jxkernel.jupyter.front.arguments import wrong_arguments
from tests.jupyter.conftest import Notebook


@pytest.mark.parametrize("name", REQUESTS)
def test_the_types_of_every_requests_arguments_can_be_told(name: str) -> None:
    answer = partial(REQUESTS[name].answer, None)
    strange = dict.fromkeys(signature(answer).parameters, 1j)
    assert ("got 1j" in wrong_arguments(name, answer, strange)) == bool(strange)


class Requests:
    """What a session answers, by the request's name."""

    def __init__(self, notebook: Notebook) -> None:
        self._session = notebook.session

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(REQUESTS[name].answer, self._session)


@pytest.fixture
def requests(notebook: Notebook) -> Requests:
    return Requests(notebook)


def plain(data: Any) -> Any:
    """Data as it arrives; what JSON does not know fails."""
    return json.loads(json.dumps(data, allow_nan=False))


def test_the_ledger_names_cells_lines_reasons_and_totals(
    notebook: Notebook, requests: Requests
) -> None:
    notebook.run("@jx.jit\ndef f(a):\n    return a * 2", "defines")
    notebook.run("q = f(x)", "calls")
    notebook.run("q = f(x[:4])", "calls-again")
    notebook.run("q = jnp.sinc(jnp.ones(7_919))", "outside")  # no other test has compiled it
    told = plain(requests.ledger())
    newest, older = [one for one in told["rows"] if one["fun"] == "f"]
    assert newest["fun"] == older["fun"] == "f"
    assert newest["reasons"][0]["kind"] == "shape"
    assert "8" in newest["why"]
    assert "4" in newest["why"]
    assert told["cells"][newest["cell"]] == "calls-again"
    assert told["cells"][older["cell"]] == "calls"
    sites = {one["label"] for one in told["by_site"]}
    assert newest["site"] in sites
    assert newest["site"].startswith(f"Cell {newest['cell']}, line 1")
    [total] = [one for one in told["by_function"] if one["label"] == "f"]
    assert (total["builds"], total["avoidable"]) == (2, 1)
    assert told["outside"]["builds"] >= 1
    assert (told["left_out"], told["dropped"]) == (0, 0)


def test_all_builds_of_a_ledger_are_given_to_its_own_session(
    notebook: Notebook, requests: Requests
) -> None:
    notebook.run("for size in range(308):\n    jx.jit(lambda v: v * 2).trace(1.0)")
    answer = plain(requests.ledger())
    assert (len(answer["rows"]), answer["left_out"]) == (200, 108)
    told = plain(requests.builds(answer["token"]))
    assert [row["number"] for row in told["rows"]] == list(range(1, 309))
    assert (told["left_out"], told["timeline"]["bars"][0]["row"]) == (0, 9)
    view = notebook.run("%jx ledger", "asks").value.data
    assert (len(view["rows"]), view["left_out"], view["token"]) == (300, 8, told["token"])
    with pytest.raises(LookupError, match="has ended: run its cell again"):
        requests.builds("0123 f")


def test_a_program_is_compared_with_another_that_is_kept(
    notebook: Notebook, requests: Requests
) -> None:
    notebook.run("@jx.jit\ndef first(a):\n    return jnp.sin(a)\ng = jx.jit(lambda a: a * 2)")
    notebook.run("_ = g(x), first(x), first(x[:4]), g(x[:2])")
    token = notebook.run("%jaxpr first(x)").value.data["token"]
    titles = requests.others(token)["titles"]
    assert titles[0] == "first(f32[4])"
    assert "first(f32[8])" not in titles
    assert {"<lambda>(f32[8])", "<lambda>(f32[2])"} <= set(titles)
    told = plain(requests.compare(token, "<lambda>(f32[8])"))
    assert (told["diff"]["before"], told["diff"]["after"]) == ("first(f32[8])", "<lambda>(f32[8])")
    assert "sin a" in told["text"]
    with pytest.raises(LookupError, match="other is no longer in the kernel"):
        requests.compare(token, "other")


def test_programs_of_one_name_and_type_are_told_apart(
    notebook: Notebook, requests: Requests
) -> None:
    notebook.run("def twin(a):\n    return a - n\nn, one = 3, jx.jit(twin)\n_ = one(x)")
    notebook.run("def twin(a):\n    return a / n\nother = jx.jit(twin)\n_ = other(x)")
    token = notebook.run("%jaxpr jnp.cos(x)").value.data["token"]
    titles = [name for name in requests.others(token)["titles"] if name.startswith("twin(f32[8])")]
    assert titles == ["twin(f32[8])", "twin(f32[8]) #2"]
    texts = [plain(requests.compare(token, title))["text"] for title in titles]
    assert ("sub" in texts[0]) != ("sub" in texts[1])


def test_functions_lead_to_the_cells_that_define_them(
    notebook: Notebook, requests: Requests
) -> None:
    notebook.run("@jx.jit\ndef named(a):\n    return a * 2\nq = named(x)", "defines")
    told = plain(requests.functions())
    [row] = [one for one in told["rows"] if one["name"] == "named"]
    assert row["kept"] == row["builds"] == 1
    label = row["place"].removeprefix("Cell ").partition(",")[0]
    assert told["cells"][label] == "defines"
    assert row["path"] == ""


def test_live_arrays_are_released_after_saying_what_goes(
    notebook: Notebook, requests: Requests
) -> None:
    notebook.run("params = {'w': jnp.ones((40, 50))}\nalias = params['w']")
    told = plain(requests.live())
    [row] = [one for one in told["rows"] if "alias" in one["names"]]
    assert row["roots"] == ["params", "alias"]
    assert row["bytes"] == 8000
    assert requests.freeing(["params"]) == {
        "names": ["params"],
        "arrays": 1,
        "bytes": 8000,
        "also": ["alias"],
    }
    assert "params" in notebook.names
    assert requests.free(["params", "alias"])["bytes"] == 8000
    assert "params" not in notebook.names
    with pytest.raises(ValueError, match="there is no variable params"):
        requests.freeing(["params"])


def test_nothing_is_released_while_a_cell_runs(notebook: Notebook, requests: Requests) -> None:
    notebook.names["requests"] = requests
    ran = notebook.attempt("requests.free(['x'])")
    assert isinstance(ran.error, RuntimeError)
    assert "x" in notebook.names


def test_the_backend_is_told_previewed_and_changed(notebook: Notebook, requests: Requests) -> None:
    told = plain(requests.backend())
    assert told["is_started"]
    assert told["device"] == "cpu:0"
    assert told["largest"]["cpu:0"]
    seen = plain(requests.preview({"precision": "highest"}))
    assert seen["changes"]
    assert requests.backend()["precision"] == "default"
    try:
        assert requests.apply({"precision": "highest"})["steps"] == seen["steps"]
        assert requests.backend()["precision"] == "highest"
    finally:
        requests.apply({"precision": "default"})
    with pytest.raises(ValueError, match="no 'speed'"):
        requests.preview({"speed": 9})


def test_a_cell_is_explained_by_what_was_built_in_it(
    notebook: Notebook, requests: Requests
) -> None:
    notebook.run("explained = jx.jit(lambda a: a + 3)\nq = explained(x)", "first")
    notebook.run("q = explained(x)", "second")
    assert "traced 1 time" in requests.explain("first")["text"]
    assert "cache hits" in requests.explain("second")["text"]
    assert "has not been run" in requests.explain("unknown")["text"]


def test_caches_are_told_and_cleared(notebook: Notebook, requests: Requests) -> None:
    notebook.run("q = jx.jit(lambda a: a + 4)(x)\nkept = jx.jit(lambda a: a + 4)\nq = kept(x)")
    assert requests.caches()["functions"] >= 1
    assert "forgotten" in requests.clear_caches()["text"]
    assert requests.caches()["functions"] == 0


def test_teaching_is_switched(notebook: Notebook, requests: Requests) -> None:
    assert requests.teach(True) == {"on": True}
    assert notebook.session.settings.teach
    assert requests.teach(False) == {"on": False}
