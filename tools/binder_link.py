"""Binder's button in the README, with the address that ``[project.urls] Repository`` has.

There is no button where the project names no address. Run as a program it writes the README's part.
"""

from tools import figures
from tools.checkout import project

FIRST = "demos/01_first_steps.ipynb"
BADGE = "https://mybinder.org/badge_logo.svg"


def part(repository: str | None) -> str:
    """Return what the README says of Binder.

    Args:
      repository: the address on GitHub, None for none.
    """
    link = "https://mybinder.org/v2/gh/{}/HEAD?urlpath=lab/tree/" + FIRST
    if repository is None:
        return (
            "Binder opens all of it without an installation, from a copy of this repository on\n"
            f"GitHub: put its owner and name into\n`{link.format('OWNER/NAME')}`."
        )
    name = repository.removeprefix("https://github.com/").removesuffix(".git").strip("/")
    button = f"[![Open in Binder]({BADGE})]({link.format(name)})"
    return f"{button} opens all of it without an installation."


def current() -> str:
    """Return the README's part as it should be now."""
    return part(project()["project"].get("urls", {}).get("Repository"))


if __name__ == "__main__":
    figures.write("README.md", "tools.binder_link", current())
