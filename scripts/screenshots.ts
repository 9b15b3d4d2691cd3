/**
 * Makes the pictures of the documentation: `npm run node -- scripts/screenshots.ts OUTPUT`, from the output of pooled-lightgbm in the demo.
 * The same output and browser give the same pictures.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { writeReport } from "../src/report/write-report.ts";
import { type Browser, openBrowser } from "../test/browser/browser.testing.ts";
import { boundingBox, reportSizes, takePicture } from "./pictures.ts";

/** Limit of all pictures together in bytes, because a clone includes them. */
const MAX_BYTES = 250e3;
const VIEWPORT = { width: 1_100, height: 900 };

/** Margin around each, in pixels. */
const MARGIN = 8;

/** A part of a report: everything from its first element to its last. */
interface Picture {
  readonly file: string;
  readonly elements: readonly [first: string, last: string];
}

const VERDICT = ["h1", ".of-score .closes"] as const;
const charts = (section: string) =>
  [`h2[id=${section}]`, `section[aria-labelledby=${section}] .panels`] as const;

const LIGHT: readonly Picture[] = [
  { file: "report-verdict-light", elements: VERDICT },
  { file: "report-intervals-light", elements: charts("intervals") },
];
const DARK: readonly Picture[] = [
  { file: "report-verdict-dark", elements: VERDICT },
  { file: "report-skill-dark", elements: charts("skill") },
];

async function screenshots(output: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-screenshots-"));
  const browser = await openBrowser();
  try {
    const out = join(folder, "report.html");
    await writeReport({ outputs: [output], out }, { policy: { allowed: [] } });
    const light = await taken(browser, out, "light", LIGHT);
    const dark = await taken(browser, out, "dark", DARK);
    const sizes = [...light, ...dark];
    reportSizes(sizes, MAX_BYTES);
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true });
  }
}

/** Writes pictures in one colour scheme; returns their sizes in bytes. */
async function taken(
  browser: Browser,
  report: string,
  colorScheme: "light" | "dark",
  pictures: readonly Picture[],
): Promise<number[]> {
  const context = await browser.newContext({ colorScheme, viewport: VIEWPORT });
  const sizes: number[] = [];
  for (const { file, elements } of pictures) {
    const page = await context.newPage();
    await page.goto(pathToFileURL(report).href);
    sizes.push(await takePicture(context, page, file, await boundingBox(page, elements, MARGIN)));
    await page.close();
  }
  await context.close();
  return sizes;
}

const [output] = process.argv.slice(2);
if (output === undefined) {
  process.stderr.write("screenshots: name the output of pooled-lightgbm that the demo has printed\n");
  process.exitCode = 2;
} else await screenshots(output);
