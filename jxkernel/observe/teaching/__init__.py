"""Teaching: exercises that ask what tracing will do, tasks that grade answers, and lessons.

They run a learner's code and judge it by what the recorder saw.  It must not know of notebooks:
what learners see there is ``jupyter.teaching``'s.
"""
