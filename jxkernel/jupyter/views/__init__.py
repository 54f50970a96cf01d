"""What every view is made of: text, HTML, tables, figures, progress.

Place: the lowest floor, beside ``code``.  It must not know what is shown.
"""
