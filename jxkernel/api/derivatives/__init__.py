"""Derivatives: gradients, Jacobians, the way back and what it keeps, and checks of all of them.

Trees of arguments become flat values here, which ``transforms`` differentiates.  It must not know
of rules that users give: those are ``api.custom``'s.
"""
