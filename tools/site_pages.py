"""The extension of Sphinx for the documentation site: links between files of the repository, and the API reference.

Pages link to files as code hosts show them, such as ``algorithms/README.md`` or ``../CONTRIBUTING.md``. On the site the
page of a folder is ``index``, and files outside of docs/ that are pages have a place in ``project/``.
"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
from functools import reduce
from pathlib import Path

import cwndlab
import equations
from docutils import nodes
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
#: Pages outside of docs/, and their documents.
OUTSIDE = {
    "CHANGELOG.md": "project/changelog",
    "CONTRIBUTING.md": "project/contributing",
    "REPRODUCING.md": "project/reproducing",
    "known-answers/README.md": "project/references",
}


#: The playground, where `make playground` has built it, and its place on the site.
PLAYGROUND = ROOT / "build" / "playground"
#: A page's place for it, a comment elsewhere: ``<!-- playground: PRESET -->``.
_PLACE = re.compile(r"^<!-- playground: (?P<preset>[\w-]+) -->$", re.MULTILINE)


#: The documentation of the contract by rustdoc, where `make site` has built it, and a page's place for a link to it.
RUSTDOC = ROOT / "build" / "rustdoc" / "doc"
_RUSTDOC_PLACE = re.compile(r"^<!-- rustdoc: (?P<crate>\w+) -->$", re.MULTILINE)


def document_of(path: Path) -> str | None:
    """The document of a file or folder, without its suffix, or none where the site has no page of it."""
    path = Path(os.path.normpath(path))
    name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
    for file, document in OUTSIDE.items():
        if name in (file, file.removesuffix(".md")):
            return document
    if not path.is_relative_to(DOCS):
        return None
    folder = path if path.is_dir() else path.parent
    if path == folder or path.stem == "README":
        return (folder / "index").relative_to(DOCS).as_posix()
    return None


def resolve_links(_: Sphinx, doctree: nodes.document) -> None:
    """Directs links to README files and folders to the pages that contain them."""
    for link in doctree.findall(addnodes.pending_xref):
        if link.get("reftype") != "myst":
            continue
        target = link["reftarget"].split("#")[0]
        place = DOCS / (target if link["refdomain"] == "doc" else Path(link["refdoc"]).parent / target)
        if document := document_of(place):
            link["refdomain"], link["reftarget"] = "doc", document
            link.setdefault("reftargetid", None)


def is_built() -> bool:
    """Whether there is a playground to show."""
    return (PLAYGROUND / "index.html").is_file()


def frame(docname: str, preset: str) -> str:
    """The playground in a page, with a preset; it is loaded when it is scrolled into view."""
    address = f"{'../' * docname.count('/')}playground/index.html"
    return (
        f'<iframe class="playground" title="Playground: {preset}" src="{address}#embed=1&amp;preset={preset}" '
        'loading="lazy" style="width: 100%; height: 900px; border: 1px solid var(--color-background-border); '
        'border-radius: 8px;"></iframe>'
    )


def show_rustdoc(_: Sphinx, docname: str, source: list[str]) -> None:
    """Puts a link to the documentation of a crate into the places that pages have for it."""

    def link(match: re.Match[str]) -> str:
        address = f"{'../' * docname.count('/')}rust/{match['crate']}/index.html"
        if not (RUSTDOC / match["crate"] / "index.html").is_file():
            return ""
        return (
            f'<p><a href="{address}">The documentation of the crate <code>{match["crate"]}</code></a>, by rustdoc.</p>'
        )

    source[0] = _RUSTDOC_PLACE.sub(link, source[0])


def show_playground(_: Sphinx, docname: str, source: list[str]) -> None:
    """Puts the playground into the places that pages have for it, and on the page of each algorithm with figures."""
    if not is_built():
        return
    source[0] = _PLACE.sub(lambda match: frame(docname, match["preset"]), source[0])
    name = docname.removeprefix("algorithms/")
    if name != docname and (DOCS / "algorithms" / f"{name}-window.svg").is_file():
        heading = "## Playground\n\nThe run of the first picture: change path and flows."
        source[0] += f"\n\n{heading}\n\n{frame(docname, f'{name}-window')}\n"


def copy_beside(app: Sphinx, error: Exception | None) -> None:
    """Copies the playground, and what rustdoc made, into the site."""
    if error is None and is_built():
        shutil.copytree(PLAYGROUND, Path(app.outdir) / "playground", dirs_exist_ok=True)
    if error is None and RUSTDOC.is_dir():
        shutil.copytree(RUSTDOC, Path(app.outdir) / "rust", dirs_exist_ok=True)


#: Kinds of names in their order on a page.
KINDS = ("class", "exception", "function", "data")


def leave_out_of_sidebar(app: Sphinx, _: nodes.document) -> None:
    """Pages of these folders are in the list of their index only: a sidebar with them takes a third of the build."""
    document = app.env.current_document.docname
    if document.startswith(("algorithms/", "decisions/")) and not document.endswith("/index"):
        app.env.metadata[document]["orphan"] = True


def kind_of(thing: object) -> str:
    """The directive of autodoc for a value."""
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, BaseException) else "class"
    return "function" if inspect.isroutine(thing) else "data"


def comment_of(name: str, value: object) -> str:
    """The comment ``#:`` above the definition of a constant, in whatever module of the package defines it."""
    for module in [one for one in list(sys.modules) if one.startswith("cwndlab.")]:
        if getattr(sys.modules[module], name, None) is value:
            try:
                comments = ModuleAnalyzer.for_module(module).find_attr_docs()
            except PycodeError:
                continue
            if lines := comments.get(("", name)):
                return " ".join(lines).strip()
    return ""


def described(module: str, name: str, value: object) -> list[str]:
    """The directives of a public name. Names of the package that a module also has refer to the package."""
    kind = kind_of(value)
    if module != "cwndlab" and name in cwndlab.__all__ and getattr(cwndlab, name) is value:
        return [f".. py:{kind}:: {name}", "", f"   The same as :py:obj:`cwndlab.{name}`.", ""]
    if kind == "data":
        return [f".. py:data:: {name}", "", f"   {comment_of(name, value)}", ""]
    options = {"class": ["   :members:"], "exception": ["   :members:", "   :show-inheritance:"]}.get(kind, [])
    return [f".. auto{kind}:: {module}.{name}", *options, ""]


class PublicNames(SphinxDirective):
    """The public names of a module, without its modules: ``.. public-names:: metrics``, nothing for the package."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Documents each name, classes first."""
        path = self.arguments[0] if self.arguments else ""
        module = reduce(getattr, path.split("."), cwndlab) if path else cwndlab
        full = f"cwndlab.{path}" if path else "cwndlab"
        values = {name: getattr(module, name) for name in module.__all__}
        values = {name: value for name, value in values.items() if not inspect.ismodule(value)}
        lines = [f".. py:module:: {full}", ""]
        for name in sorted(values, key=lambda name: (KINDS.index(kind_of(values[name])), name)):
            lines += described(full, name, values[name])
        holder = nodes.Element()
        self.state.nested_parse(StringList(lines, full), self.content_offset, holder)
        return holder.children


class Equations(SphinxDirective):
    """Equations as plain text in the body, shown as mathematics (`tools/equations.py`)."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """A raw node of HTML with MathML."""
        return [nodes.raw("", equations.html("\n".join(self.content)), format="html")]


#: Docstrings of attributes as they were before napoleon, which takes words before a colon for a type.
_ATTRIBUTES: dict[str, list[str]] = {}


def keep_attribute(_: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Keeps the docstring of an attribute, before napoleon sees it."""
    if what in ("attribute", "property", "data"):
        _ATTRIBUTES[name] = list(lines)


def prepare_docstring(_: Sphinx, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Restores the docstring of an attribute, and ends literals before a letter or digit, as in ``rtt``², which
    reStructuredText does not do by itself."""
    lines[:] = [
        re.sub(r"(``[^`]+``)(\w?)", lambda match: f"{match[1]}\\ {match[2]}" if match[2] else match[1], line)
        for line in _ATTRIBUTES.pop(name, lines)
    ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Registers the extension."""
    app.add_directive("public-names", PublicNames)
    app.add_directive("equations", Equations)
    app.connect("autodoc-process-docstring", keep_attribute, priority=100)
    app.connect("autodoc-process-docstring", prepare_docstring, priority=900)
    app.connect("source-read", show_playground)
    app.connect("source-read", show_rustdoc)
    app.connect("build-finished", copy_beside)
    app.connect("doctree-read", resolve_links)
    app.connect("doctree-read", leave_out_of_sidebar)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
