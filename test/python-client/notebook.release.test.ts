/** The example notebook, from prices to weights, with a real service and a real optimizer. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { lockedPython } from "../../scripts/locked-python.ts";
import { endServices, startServe } from "../service/service.testing.ts";

const NOTEBOOK = "examples/notebook.ipynb";
/** The address in the stored outputs. */
const ADDRESS = "http://127.0.0.1:8080";

interface Notebook {
  readonly cells: readonly {
    readonly source: readonly string[];
    readonly outputs?: readonly {
      readonly text?: readonly string[];
      readonly data?: { readonly "text/plain": readonly string[] };
    }[];
  }[];
}

after(endServices);

test("the notebook runs from prices to weights, and its stored outputs are current", {
  timeout: 600_000,
}, async () => {
  const { url, folder } = await startServe();
  const out = join(folder, "notebook.ipynb");
  const python = lockedPython("portfolio", "examples/portfolio/requirements.txt");
  // A notebook does not close its client.
  const strict = ["-W", "error", "-W", "ignore::ResourceWarning"];
  const child = spawn(python, [...strict, "test/python-client/run_notebook.py", NOTEBOOK, "--out", out], {
    env: { ...process.env, PYTHONPATH: "clients/python", MUCAST_URL: url },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [said, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  assert.equal(code, 0, said);
  const [stored, made] = [NOTEBOOK, out].map((path) => shownBy(path));
  assert.equal(made!.length, stored!.length);
  for (const [cell, shown] of stored!.entries())
    assertLike(made![cell]!.replaceAll(url, ADDRESS), shown, cell);
});

/** What each cell shows as text. */
function shownBy(path: string): string[] {
  const { cells } = JSON.parse(readFileSync(path, "utf8")) as Notebook;
  return cells.map(({ outputs = [] }) =>
    outputs.flatMap(({ text = [], data }) => [...text, ...(data?.["text/plain"] ?? [])]).join(""),
  );
}

/** The numbers of another processor, and the solver's, may differ in the last digit. */
function assertLike(made: string, stored: string, cell: number): void {
  const number = /-?\d+(?:\.(\d+))?/g;
  const words = (shown: string) => shown.replaceAll(number, "#").replaceAll(/ +/g, " ");
  assert.equal(
    words(made),
    words(stored),
    `cell ${cell}; test/python-client/run_notebook.py writes the outputs`,
  );
  const values = [...made.matchAll(number)];
  for (const [k, [expected, decimals = ""]] of [...stored.matchAll(number)].entries()) {
    const difference = Math.abs(Number(values[k]![0]) - Number(expected));
    assert.ok(
      difference <= 1.5 * 10 ** -decimals.length,
      `cell ${cell}: ${values[k]![0]} instead of ${expected}`,
    );
  }
}
