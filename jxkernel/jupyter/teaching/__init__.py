"""Teaching: silent mistakes told as lessons, questions about tracing, and graded tasks."""

from __future__ import annotations

from jxkernel.jupyter.feature import Feature, Request, Subcommand
from jxkernel.jupyter.teaching import requests
from jxkernel.jupyter.teaching.answer import teach
from jxkernel.jupyter.teaching.quiz import exercises
from jxkernel.jupyter.teaching.tasks import class_of, class_view, grade_view
from jxkernel.jupyter.teaching.view import exercise_view, graded_view, quiz_view
from jxkernel.observe import ClassProgress, Exercise, Grade, Graded
from jxkernel.observe.teaching.quiz import EXERCISES, Quiz

__all__ = ["FEATURE"]

FEATURE = Feature(
    subcommands={
        "quiz": Subcommand(
            exercises, "[NAME [GUESS]]  predict what tracing does, and see", tuple(EXERCISES)
        ),
        "class": Subcommand(
            class_of, "FOLDER [as NAME]  how far a class came; keep your grades there"
        ),
        "teach": Subcommand(teach, "[on|off]  tell silent mistakes as lessons", ("on", "off")),
    },
    requests={
        "teach": Request(requests.teach, requests.TeachAnswer),
        "guess": Request(requests.guess, requests.GuessAnswer),
    },
    views={
        Exercise: exercise_view,
        Graded: graded_view,
        Quiz: quiz_view,
        Grade: grade_view,
        ClassProgress: class_view,
    },
)
