"""The channel to the lab extension, and the messages on it."""
