"""The channel to the lab extension, and the messages on it.

Place: above the session, below the features, whose requests it is handed.  It must not know what
they answer.
"""
