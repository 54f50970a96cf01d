"""``%jx class``, and grades as views."""

from __future__ import annotations

from IPython.core.error import UsageError

from jxkernel.jupyter.session.session import Session
from jxkernel.jupyter.views.html import element, page, table
from jxkernel.jupyter.views.tables import table_view, text_view
from jxkernel.jupyter.views.view import View
from jxkernel.observe.teaching.classes import ClassProgress, Progress, class_progress, join_class
from jxkernel.observe.teaching.tasks import Grade

__all__ = ["class_of", "class_view", "grade_view"]


def class_of(session: Session, words: str) -> View:
    """Show how far a class came, or join it: ``FOLDER [as NAME]``.

    Raises:
      UsageError: there is no folder, or the name cannot be that of a file.
    """
    folder, _, name = (part.strip() for part in words.partition(" as "))
    if not folder:
        raise UsageError("%jx class: say where: %jx class FOLDER, or %jx class FOLDER as YOUR_NAME")
    try:
        if name:
            return text_view("", f"your grades are kept in {join_class(folder, name)}")
        return class_view(class_progress(folder))
    except (OSError, ValueError) as error:
        raise UsageError(f"%jx class: {error}") from None


def class_view(progress: ClassProgress) -> View:
    """Return one row a learner, one column a task: ✓, or the number of tries."""
    tasks = progress.tasks
    rows: list[list[object]] = [
        [learner, *(_mark(tried, task) for task in tasks)]
        for learner, tried in progress.learners.items()
    ]
    rows.append(["passed", *(progress.solved(task) for task in tasks)])
    rows.append(["missing most", *(progress.stuck(task) for task in tasks)])
    return table_view(progress.title, ("Learner", *tasks), rows)


def grade_view(grade: Grade) -> View:
    """Return what was looked at, and what is missing."""
    rows = [("✗" if one.missing else "✓", one.what, one.missing) for one in grade.findings]
    title = element("b", str(grade).partition("\n")[0])
    html = page(element("div", title), table(("", "Looked at", "Missing"), rows))
    listed = [{"what": one.what, "missing": one.missing} for one in grade.findings]
    data = {"name": grade.name, "passed": grade.passed, "findings": listed}
    return View("task", str(grade), html, data)


def _mark(tried: dict[str, Progress], task: str) -> str:
    progress = tried.get(task)
    if progress is None:
        return ""
    return f"{'✓' if progress.passed else '✗'} {progress.tries}"
