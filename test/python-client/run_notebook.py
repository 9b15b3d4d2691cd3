"""Runs the code cells of a notebook in order, without Jupyter.

    python run_notebook.py notebook.ipynb --out notebook.ipynb

Writes the notebook with what each cell prints and its last value, without large pages and progress.
"""

import argparse
import ast
import contextlib
import io
import json
import os
from pathlib import Path

# A report has some 200,000 characters.
MAX_STORED = 20_000


def run_cell(source: str, names: dict[str, object]) -> tuple[str, object]:
    """What a cell prints, and the value of its last expression; None without one."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return printed.getvalue(), value


def outputs_of(printed: str, value: object, count: int) -> list[dict[str, object]]:
    """In nbformat 4."""
    outputs: list[dict[str, object]] = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed)})
    if value is None:
        return outputs
    data = {"text/plain": lines(repr(value))}
    html = value._repr_html_() if hasattr(value, "_repr_html_") else None
    if html is not None and len(html) <= MAX_STORED:
        data["text/html"] = lines(html)
    outputs.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return outputs


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    flags = parser.parse_args()
    path, out = flags.notebook.resolve(), flags.out.resolve()
    notebook = json.loads(path.read_text(encoding="utf-8"))
    # As Jupyter does.
    os.chdir(path.parent)
    names: dict[str, object] = {"__name__": "__main__"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for count, cell in enumerate(cells, start=1):
        printed, value = run_cell("".join(cell["source"]), names)
        cell["execution_count"], cell["outputs"] = count, outputs_of(printed, value, count)
    out.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
