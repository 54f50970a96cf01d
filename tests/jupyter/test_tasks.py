"""Tasks: what a learner wrote is graded, and a class's grades are gathered."""

import numpy as np
import pytest
from IPython.core.error import UsageError

import jxkernel as jx
import jxkernel.numpy as jnp
from jxkernel.observe import class_progress, join_class, leave_class
from tests.jupyter.conftest import Notebook
from tests.jupyter.kernels import running_kernel

X = jnp.arange(3.0)
CASES = [((X,), X**2 + 1), ((X + 1,), (X + 1) ** 2 + 1)]


@jx.custom_jvp
def _lost(x):
    return x**2 + 1


_lost.defjvp(lambda primals, tangents: (_lost(*primals), 0 * tangents[0]))


def _long(x):
    for _ in range(9):
        x = x + 0
    return x**2 + 1


def _untraceable(x):
    return x**2 + 1 if x.sum() > 0 else x**2 - 1


@pytest.fixture(autouse=True)
def _no_class():
    yield
    leave_class()


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        (lambda x: x**2 + 1, ()),
        (..., ("nothing is handed in yet",)),
        (3, ("a function is wanted, not int",)),
        (lambda x: None, ("case 1: nothing is returned yet",)),
        (lambda x: (x,), ("case 1: the result is a tuple of length 1, wanted is one value",)),
        (lambda x: x[:1], ("case 1: the shape is (1,), wanted is (3,)",)),
        (lambda x: X**2 + 1, ("case 2: 3 of 3 values differ, the first at [0]",)),
        (lambda x: x.nothing, ("AttributeError: ",)),
        (_lost, ("they are not those of the function's values",)),
        (_long, ("11, and at most 4 are allowed",)),
        (_untraceable, ("TracerBoolConversionError: a condition",)),
    ],
)
def test_a_grade_says_what_is_missing(answer, missing):
    grade = jx.task("square", check=CASES, grads=1, max_eqns=4)(answer)
    assert bool(grade) is grade.passed is not missing
    assert len(grade.missing) == len(missing)
    assert all(one.startswith(told) for one, told in zip(grade.missing, missing, strict=True))


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ((1, 2), "the result is a tuple of length 2, wanted is a dict with the keys ['a', 'b']"),
        ({"a": 1, "b": 2}, "the result['b'] is one value, wanted is a list of length 1"),
        (
            {"a": 1, "b": [2, 3]},
            "the result['b'] is a list of length 2, wanted is a list of length 1",
        ),
    ],
)
def test_a_result_of_another_structure_is_told_in_words(answer, missing):
    task = jx.task("parts", check=[((0,), {"a": 1, "b": [2]})])
    assert task(lambda _: answer).missing == (f"case 1: {missing}",)


def test_a_mask_is_of_booleans():
    task = jx.task("mask", check=[((X,), np.array([False, False, True]))])
    assert task(lambda x: x > 1)
    assert task(lambda x: (x > 1) * 1).missing == ("case 1: the dtype is int32, wanted is bool",)


def test_traces_are_counted_afresh_and_apart_from_the_learner_s_ledger():
    task = jx.task("once", check=[((1.0,), 2.0), ((2,), 3)], max_traces=1)
    ours = jx.jit(lambda x: x + 1)
    ours(1.0)
    ours(2)
    with jx.assert_max_traces(0):
        assert task(ours).missing == ("2, and at most 1 are allowed",)
        assert task(jx.jit(lambda x: jnp.float32(x) + 1)).missing != ()
        assert jx.task("any", check=[((1.0,), 2.0)], max_traces=1)(ours)


def test_a_teacher_s_function_checks_anything():
    def check(shape):
        assert len(shape) == 2, "a matrix has two axes"
        return shape[0] == 3

    task = jx.task("shape", check=check)
    assert task((3, 1))
    assert task((3,)).missing == ("a matrix has two axes",)
    assert task((4, 1)).missing == ("the check does not hold",)


def test_a_teacher_s_function_may_limit_traces():
    def check(answer):
        with jx.assert_max_traces(1):
            return answer(jnp.ones(2)) is not answer(jnp.ones(3))

    task = jx.task("once", check=check)
    assert task(jx.jit(lambda x: x + 1)).missing == (
        "the block was traced 2 times; at most 1 allowed.",
    )
    assert task(lambda x: x + 1)


def test_require_fails_as_a_grader_wants():
    task = jx.task("square", check=CASES)
    task(lambda x: x**2 + 1).require()
    with pytest.raises(AssertionError, match=r"✗ square\n  ✗ values: case 1: 3 of 3 values"):
        task(lambda x: x - 5).require()


@pytest.mark.parametrize("check", [3, [], [X], [(X, X)]])
def test_a_check_that_is_none_is_refused(check):
    with pytest.raises(TypeError, match="task odd: check is a function, or a list of cases"):
        jx.task("odd", check=check)


def test_limits_of_a_program_need_arguments():
    with pytest.raises(ValueError, match="grads and max_eqns need arguments"):
        jx.task("odd", check=bool, grads=1)


def test_a_class_is_gathered_from_its_learners(tmp_path):
    task = jx.task("square", check=CASES)
    for name, answers in {"ann": [..., lambda x: x**2 + 1], "bo": [lambda x: x]}.items():
        join_class(tmp_path, name)
        for answer in answers:
            task(answer)
    with (tmp_path / "bo.tasks.jsonl").open("a") as file:
        file.write("[]\nnothing\n")
    leave_class()
    task(...)
    found = class_progress(tmp_path)
    assert found.learners["ann"]["square"].passed
    assert str(found).splitlines() == [
        "2 learners, 1 task, 2 lines that could not be read",
        "  square: passed by 1, 3 answers; missing: case 1: 3 of 3 values differ, the first at [0]",
    ]


def test_damaged_and_foreign_files_of_a_class_are_counted_and_take_nothing_away(tmp_path):
    damaged = [
        '{"task": "1.1", "missing": []',
        '{"task": "1.1"}',
        '{"task": "1.1", "missing": ""}',
        '{"task": "1.1", "missing": {}}',
        '{"task": null, "missing": []}',
        '{"task": "1.1", "missing": [3]}',
        "[" * 100_000,
        "\udcff\x00",
    ]
    text = "\n".join([*damaged, '{"task": "1.1", "missing": ["more"], "since": "0.9"}', "", ""])
    (tmp_path / "ann.tasks.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    (tmp_path / "bo.tasks.jsonl").write_text("")
    (tmp_path / "cy.tasks.jsonl").mkdir()
    (tmp_path / "di.tasks.jsonl").symlink_to(tmp_path / "gone")
    found = class_progress(tmp_path)
    assert set(found.learners) == {"ann", "bo", "cy", "di"}
    assert found.learners["ann"]["1.1"].missing == ("more",)
    assert found.learners["ann"]["1.1"].tries == 1
    assert found.unread == len(damaged) + 2


def test_tasks_of_a_class_stand_in_the_order_of_their_numbers(tmp_path):
    join_class(tmp_path, "ann")
    names = ["10.1 last", "2.10 tenth", "2.9 ninth", "1.1 first", "warm up", "2 whole"]
    for name in names:
        jx.task(name, check=CASES)(...)
    assert class_progress(tmp_path).tasks == (
        *("1.1 first", "2 whole", "2.9 ninth", "2.10 tenth", "10.1 last", "warm up"),
    )


def test_a_learner_is_seen_from_joining_on(tmp_path):
    assert (
        str(class_progress(tmp_path)) == "0 learners, 0 tasks; join with %jx class FOLDER as NAME"
    )
    join_class(tmp_path, "ann")
    assert str(class_progress(tmp_path)) == "1 learner, 0 tasks"


def test_a_grade_that_cannot_be_kept_is_given_all_the_same(tmp_path):
    join_class(tmp_path / "class", "ann").unlink()
    (tmp_path / "class").rmdir()
    with pytest.warns(UserWarning, match="this grade is not kept: .*No such file"):
        assert jx.task("square", check=CASES)(lambda x: x**2 + 1)


@pytest.mark.parametrize("name", ["", "../ann", ".ann", "a/b", "a\\b"])
def test_a_learner_s_name_stays_in_the_folder(tmp_path, name):
    with pytest.raises(ValueError, match="cannot be one"):
        join_class(tmp_path, name)


def test_a_notebook_shows_grades_and_the_class(notebook: Notebook, tmp_path):
    notebook.run(f"%jx class {tmp_path} as ann")
    notebook.run("one = jx.task('<one>', check=[((1.0,), 2.0)])")
    shown = notebook.run("display(one(lambda v: v))").shown[0]
    assert "&lt;one&gt;" in shown["text/html"]
    assert notebook.run("one(lambda v: 2 * v).passed").value is True
    shown = notebook.run(f"%jx class {tmp_path}").value
    assert shown.data["rows"][0] == ["ann", "✓ 2"]
    (tmp_path / "bo.tasks.jsonl").write_text("none of ours\n")
    shown = notebook.run(f"%jx class {tmp_path}").value
    assert shown.text.startswith("2 learners, 1 task, 1 line that could not be read\n")
    assert "1 line that could not be read" in shown.html
    for words in ("", str(tmp_path / "none"), f"{tmp_path} as a/b"):
        assert isinstance(notebook.attempt(f"%jx class {words}").error, UsageError)


def test_a_kernel_grades_and_a_grader_sees_the_failure():
    with running_kernel() as kernel:
        kernel.run("one = jx.task('one', check=[((1.0,), 2.0)])")
        shown = kernel.ok("one(...)").result
        assert "nothing is handed in yet" in shown["text/plain"]
        assert shown["application/vnd.jxkernel.task+json"]["passed"] is False
        assert kernel.run("one(...).require()").status == "error"
