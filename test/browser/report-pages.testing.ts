import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { dlText, mlText } from "../../src/outputs/outputs.testing.ts";
import { page } from "../../src/report/page.ts";
import { reported } from "../../src/report/reported.testing.ts";

const TWO_SIDED = { intervals: { alpha: 0.1 } };

const MANY = {
  config: TWO_SIDED,
  tickers: Array.from({ length: 200 }, (_, i) => `T${String(i).padStart(3, "0")}`),
  ...{ fitRows: 300, scoreRows: 300, skill: 0.03 },
};

/** 29 values. */
const ALPHAS = Array.from({ length: 29 }, (_, i) => i + 2);

/** Names that a page must display as text: markup, a script, an address, a key of every object, invisible characters. */
export const HOSTILE_NAMES = [
  "<img src=x onerror=alert(1)>",
  "</title></style></script><script>alert(2)</script>",
  "\"' onload=alert(3) x=",
  "https://evil.example/?q=1",
  "__proto__",
  "constructor",
  "A\u202eB\u200bC\ufeff",
  "]]>&lt;!--",
  `L${"o".repeat(300)}ng`,
  "\ud83e\udd84\ud83e\udd84",
];

/** Reports of every kind, by name: HTML of one output or of several. */
export const REPORTS: Readonly<Record<string, () => string>> = {
  "a classical job": () => report(mlText({ config: TWO_SIDED, skill: 0.05 })),
  "a choice among 30 candidates": () =>
    report(
      mlText({
        config: { n_splits: 4, choice: { candidates: [{ grid: { alpha: ALPHAS } }], warm_up: 4 } },
        ...{ fitRows: 250, folds: 8, skills: [0, 0.05, 0.1] },
      }),
    ),
  "a network job": () => report(dlText({ config: TWO_SIDED })),
  "two outputs": () => report(mlText({ config: TWO_SIDED }), dlText({ config: TWO_SIDED, seed: 2 })),
  "hostile names": () => report(mlText({ config: TWO_SIDED, tickers: HOSTILE_NAMES })),
  "no intervals": () => report(mlText()),
  "one-sided intervals": () => report(mlText({ config: { intervals: { alpha: 0.1, bound: "lower" } } })),
  "no labels": () => report(mlText({ config: TWO_SIDED, isOpen: true })),
  "two tickers": () => report(mlText({ config: TWO_SIDED, tickers: ["A", "B"] })),
  "one ticker": () => report(mlText({ config: TWO_SIDED, tickers: ["A"] })),
  "one epoch": () => report(dlText({ config: TWO_SIDED }, 1)),
  "no folds": () => report(mlText({ folds: 0 })),
  "evaluation disabled": () => report(dlText({ config: { status: false } })),
  "four score rows": () => report(mlText({ config: TWO_SIDED, scoreRows: 4 })),
  "no tickers": () => report(mlText({ tickers: [] })),
  "200 tickers": () => report(mlText(MANY)),
  "200 networks": () => report(dlText(MANY)),
  "60 tickers": () =>
    report(
      mlText({ config: TWO_SIDED, tickers: Array.from({ length: 60 }, (_, i) => `T${i}`), scoreRows: 40 }),
    ),
};

function report(...texts: readonly string[]): string {
  return page(reported(...texts));
}

/** The reports as files in their own folder. */
export function writeReports(names: readonly string[] = Object.keys(REPORTS)): {
  readonly urls: ReadonlyMap<string, string>;
  readonly remove: () => void;
} {
  const folder = mkdtempSync(join(tmpdir(), "mucast-reports-"));
  const urls = names.map((name, i) => {
    const path = join(folder, `${i}.html`);
    writeFileSync(path, REPORTS[name]!());
    return [name, pathToFileURL(path).href] as const;
  });
  return { urls: new Map(urls), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
