"""What the extension knows of one shell, and what it watches while cells run."""
