"""What the extension knows of one shell, and what it watches while cells run.

Place: above ``cells`` and ``errors``, below every feature.  It must not know of any feature.
"""
