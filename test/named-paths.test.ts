import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";

const DOCS = readdirSync("docs").filter((name) => name.endsWith(".md"));

const PAGES = [
  "README.md",
  "AGENTS.md",
  "llms.txt",
  "SECURITY.md",
  "CHANGELOG.md",
  ...DOCS.map((page) => `docs/${page}`),
];
const TOP =
  "src|test|clients|engine|docs|scripts|bench|examples|infra|schemas|tools|web|bin|\\.github|\\.devcontainer";
const PATH = new RegExp(`\`((?:${TOP})/[\\w./-]+)\``, "g");

test("every path that a page names exists", () => {
  const missing = PAGES.flatMap((page) => {
    const paths = readFileSync(page, "utf8").matchAll(PATH);
    return [...paths].flatMap(([, path]) => (existsSync(path!) ? [] : [`${page}: ${path}`]));
  });
  assert.deepEqual(missing, []);
});

test("every link of a page to a file leads to one", () => {
  const missing = PAGES.flatMap((page) => {
    const links = readFileSync(page, "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+)(?:#[^)]*)?\)/g);
    return [...links].flatMap(([, link]) =>
      existsSync(join(dirname(page), link!)) ? [] : [`${page}: ${link}`],
    );
  });
  assert.deepEqual(missing, []);
});

/** The anchors that GitHub gives to the headings of a page; none of the pages repeats a heading that another page links to. */
function anchorsOf(page: string): Set<string> {
  const prose = readFileSync(page, "utf8").replaceAll(/^ *```.*?^ *```$/gms, "");
  return new Set(
    [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}

test("every link of a page to a heading leads to one", () => {
  const missing = PAGES.flatMap((page) => {
    const links = readFileSync(page, "utf8").matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g);
    return [...links].flatMap(([, file, anchor]) => {
      const target = file === "" ? page : join(dirname(page), file!);
      return anchorsOf(target).has(anchor!) ? [] : [`${page}: ${file}#${anchor}`];
    });
  });
  assert.deepEqual(missing, []);
});

test("README.md links every page of docs", () => {
  const readme = readFileSync("README.md", "utf8");
  const unlinked = DOCS.filter((page) => !readme.includes(`(docs/${page})`));
  assert.deepEqual(unlinked, []);
});
