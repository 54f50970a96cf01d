"""What every view is made of: text, HTML, tables, figures, progress."""
