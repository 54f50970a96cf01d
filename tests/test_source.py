"""Source locations: user frames are found, and code of equal content keeps its own file."""

import linecache
from collections.abc import Callable
from typing import Any

from jxkernel import source

SNIPPET = "def f(capture):\n    return capture()\n"


def compiled(file: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(compile(SNIPPET, file, "exec"), namespace)
    return namespace["f"]


def test_user_frame_is_the_innermost_line_of_the_user() -> None:
    frame = source.user_frame(compiled("cell_one.py")(source.capture))
    assert (frame.file, frame.function, frame.line) == ("cell_one.py", "f", 2)
    assert SNIPPET.splitlines()[1][frame.column : frame.end_column] == "capture()"


def test_user_frame_of_equal_code_in_two_files_names_each_file() -> None:
    first, second = compiled("cell_one.py"), compiled("cell_two.py")
    assert first.__code__ == second.__code__
    files = [source.user_frame(f(source.capture)).file for f in (first, second, first)]
    assert files == ["cell_one.py", "cell_two.py", "cell_one.py"]


def test_user_frame_of_two_places_in_one_function_differ() -> None:
    stacks = [source.capture(), source.capture()]
    first, second = (source.user_frame(stack) for stack in stacks)
    assert first.line == second.line
    assert first.column < second.column
    assert "capture" in linecache.getline(first.file, first.line)


def test_user_frames_leave_out_this_package_and_the_machinery() -> None:
    frames = source.user_frames(compiled("cell_one.py")(source.capture))
    assert [frame.file for frame in frames][:2] == ["cell_one.py", __file__]
    assert not any("_pytest" in frame.file for frame in frames)


def test_user_frame_of_nothing_is_none() -> None:
    assert source.user_frame(None) is None
    assert source.user_frames(None) == []


def test_user_frame_survives_more_code_objects_than_are_remembered() -> None:
    def named(number: int) -> str:
        return source.user_frame(compiled(f"cell_{number}.py")(source.capture)).file

    assert all(named(n) == f"cell_{n}.py" for n in range(source._KNOWN_LIMIT + 10))
