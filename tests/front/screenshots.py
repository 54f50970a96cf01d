"""Takes the pictures of docs/images: `make screenshots`.

Each scene is taken in the light and in the dark theme; that of the high-contrast theme, which is
looked at only, lies in build/front.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.front.jupyter import (
    PICTURES,
    ROOT,
    Notebook,
    running_browser,
    running_server,
    use_theme,
)
from tests.front.scenes import CELLS, SCENES, SHORTAGE, prepare, shortage

IMAGES = ROOT / "docs/images"
THEMES = {
    "light": "JupyterLab Light",
    "dark": "JupyterLab Dark",
    "contrast": "JupyterLab Dark High Contrast",
}
MOST = {"status": (420, 40), "stages": (1000, 270), "notebook": (1000, 540), "": (1000, 620)}
"""The greatest width and height of a picture, by a part of its name."""


def main() -> None:
    """Takes all pictures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, running_browser() as browser:
        with opened(browser, "lab", Path(home) / "lab", CELLS) as notebook:
            prepare(notebook)
            for name, theme in THEMES.items():
                use_theme(notebook, theme)
                for scene, of in SCENES.items():
                    take(notebook, of(notebook).bounding_box(), f"lab-{scene}-{name}")
        with opened(browser, "lab", Path(home) / "shortage", SHORTAGE) as notebook:
            of = shortage(notebook)
            for name, theme in THEMES.items():
                use_theme(notebook, theme)
                take(notebook, of.bounding_box(), f"lab-shortage-{name}")
        with opened(browser, "notebook", Path(home) / "notebook", CELLS[:4]) as notebook:
            notebook.run_all()
            notebook.page.set_viewport_size({"width": 1000, "height": 540})
            notebook.select(0)
            notebook.cell(0).scroll_into_view_if_needed()
            for name, theme in THEMES.items():
                use_theme(notebook, theme)
                take(notebook, {"x": 0, "y": 0, "width": 1000, "height": 1000}, f"notebook-{name}")


@contextmanager
def opened(browser: Any, app: str, home: Path, cells: Sequence[str]) -> Iterator[Notebook]:
    """A notebook of scenes, open in an application."""
    with running_server(app, home) as server:
        server.write("layer.ipynb", *cells)
        notebook = Notebook(browser, server, "layer.ipynb")
        yield notebook
        notebook.close()


def take(notebook: Notebook, box: dict[str, float], name: str) -> None:
    """Writes a picture of a part of the page."""
    width, height = next((one for part, one in MOST.items() if part in name), MOST[""])
    clip = {**box, "width": min(box["width"], width), "height": min(box["height"], height)}
    folder = PICTURES if name.endswith("contrast") else IMAGES
    notebook.page.screenshot(path=folder / f"{name}.png", clip=clip)


if __name__ == "__main__":
    main()
