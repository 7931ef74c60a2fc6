"""What the site adds to its pages: formulas as MathML, gallery, command line, catalogue, keys."""

from pathlib import Path

import catalogue
import command_line
import gallery
import keys
from formulas import page_with_mathml
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]


def on_config(config):
    """The gallery's pages in the navigation."""
    for section in config.nav or []:
        if "Gallery" in section:
            section["Gallery"] = ["gallery/index.md", *gallery.navigation(ROOT)]
    return config


def on_files(files, config):
    """Pages that are made from other files of the repository."""
    made = {"reference/command-line.md": command_line.page()} | gallery.pages(ROOT)
    made["reference/catalogue.md"] = catalogue.page()
    made["reference/keys.md"] = keys.page()
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_content(html, page, config, files):
    """Formulas drawn."""
    return page_with_mathml(html)


def on_post_page(output, page, config):
    """What a screen reader and a keyboard need: language, name of the search, scrolling formulas."""
    if page.file.src_uri.startswith("es/"):
        output = output.replace('<html lang="en"', '<html lang="es"', 1)
    output = output.replace('role="dialog">', 'role="dialog" aria-label="Search">', 1)
    return output.replace('<math display="block"', '<math tabindex="0" display="block"')
