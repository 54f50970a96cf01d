"""The lab extension, in a real browser."""
