/**
 * Makes the pictures of the documentation: `npm run node -- scripts/screenshots.ts report OUTPUT`, from the output of pooled-lightgbm in the
 * demo, or `… console`, for which a real service runs both jobs of `test/cases/sp500-20`, about a minute on two cores.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { MucastClient } from "../src/client/client.ts";
import { preparePrices } from "../src/prepare/prepare-prices.ts";
import { writeReport } from "../src/report/write-report.ts";
import { type Browser, openBrowser, type Page } from "../test/browser/browser.testing.ts";
import { eventuallyTrue } from "../test/service/eventually.testing.ts";
import { endServices, startServe } from "../test/service/service.testing.ts";

/** WebP quality, up to 100: words stay sharp. */
const QUALITY = 58;
/** All pictures of one kind together, because a clone includes them. */
const MAX_BYTES = { report: 290e3, console: 150e3 };
const VIEWPORT = { width: 1_100, height: 895 };
/** Around each part of a report, in pixels. */
const MARGIN = 8;

/** Each part of a report by its first and last element. */
const VERDICT = ["h1", ".of-score .closes"];
const charts = (section: string) => [`h2[id=${section}]`, `section[aria-labelledby=${section}] .panels`];
const REPORT_PARTS: Readonly<Record<string, readonly string[]>> = {
  "report-verdict-light": VERDICT,
  "report-intervals-light": charts("intervals"),
  "report-verdict-dark": VERDICT,
  "report-skill-dark": charts("skill"),
};

type Rectangle = Readonly<Record<"x" | "y" | "width" | "height", number>>;

/**
 * Writes a picture of a part of a page once it is ready. The name of the file ends with the colours, light or dark.
 * @returns its size in bytes.
 */
async function takePicture(
  browser: Browser,
  url: string,
  file: string,
  clipOf: (page: Page) => Promise<Rectangle>,
): Promise<number> {
  const colorScheme = file.endsWith("dark") ? "dark" : "light";
  const context = await browser.newContext({ colorScheme, viewport: VIEWPORT });
  const page = await context.newPage();
  await page.goto(url);
  const clip = { ...(await clipOf(page)), scale: 1 };
  const session = await context.newCDPSession(page);
  const options = { format: "webp", quality: QUALITY, captureBeyondViewport: true, clip };
  const bytes = Buffer.from((await session.send("Page.captureScreenshot", options)).data, "base64");
  writeFileSync(new URL(`../docs/images/${file}.webp`, import.meta.url), bytes);
  await context.close();
  return bytes.length;
}

async function takeReport(browser: Browser, folder: string, output: string): Promise<number[]> {
  const out = join(folder, "report.html");
  await writeReport({ outputs: [output], out }, { policy: { allowed: [] } });
  const sizes: number[] = [];
  for (const [file, elements] of Object.entries(REPORT_PARTS))
    sizes.push(
      await takePicture(browser, pathToFileURL(out).href, file, (page) => boundingBox(page, elements)),
    );
  return sizes;
}

/** The smallest rectangle of the page that contains the elements, and a margin. */
async function boundingBox(page: Page, elements: readonly string[]): Promise<Rectangle> {
  const boxes = await page.evaluate<Readonly<Record<"top" | "bottom" | "left" | "right", number>>[]>(
    `${JSON.stringify(elements)}.map((selector) => {
      const { top, bottom, left, right } = document.querySelector(selector).getBoundingClientRect();
      return { top: top + scrollY, bottom: bottom + scrollY, left, right };
    })`,
  );
  const x = Math.min(...boxes.map(({ left }) => left)) - MARGIN;
  const y = Math.min(...boxes.map(({ top }) => top)) - MARGIN;
  const width = Math.max(...boxes.map(({ right }) => right)) + MARGIN - x;
  return { x, y, width, height: Math.max(...boxes.map(({ bottom }) => bottom)) + MARGIN - y };
}

async function takeConsole(browser: Browser, folder: string): Promise<number[]> {
  const { url } = await startServe({ env: { MUCAST_CORES: "2", MUCAST_CONCURRENT_JOBS: "2" } });
  try {
    const client = new MucastClient({ baseUrl: url });
    const blobs = await preparePrices({
      csvPath: "test/cases/sp500-20/prices.csv.gz",
      outFolder: folder,
      options: { start: "2005-01-01", learningEnd: "2018-12-31" },
    });
    const put = async (name: string, path: string) => (await client.putBlob(name, readFileSync(path))).url;
    const urls = {
      feature_url: await put("feature_engine_demo.json", blobs.featurePath),
      data_extractor_url: await put("data_extractor_demo.json", blobs.dataExtractorPath),
    };
    const payload = (kind: "ml" | "dl") => ({
      ...urls,
      config: readFileSync(`test/cases/sp500-20/${kind}-config.json`, "utf8"),
    });
    const ml = await client.runAndWait("run_ml_job", payload("ml"));
    const dl = await client.runDlJob(payload("dl"));
    const take = (id: string, file: string, isReady: string) =>
      takePicture(browser, `${url}/#/operations/${id}`, file, async (page) => {
        await eventuallyTrue(`${file} can be taken`, () => page.evaluate<boolean>(isReady));
        return { x: 0, y: 0, ...VIEWPORT };
      });
    const hasTrained =
      "document.querySelector('progress')?.value > 0.5 && document.querySelector('.line') !== null";
    const sizes = [
      await take(dl.id, "console-training-light", hasTrained),
      await take(ml.id, "console-forecast-dark", "document.querySelector('.answers') !== null"),
    ];
    await client.cancelOperation(dl.id);
    return sizes;
  } finally {
    await endServices();
  }
}

const [kind, output] = process.argv.slice(2);
if (kind !== "console" && (kind !== "report" || output === undefined))
  throw new Error("name `console`, or `report` and the output of pooled-lightgbm that the demo has printed");
const folder = mkdtempSync(join(tmpdir(), "mucast-screenshots-"));
const browser = await openBrowser();
try {
  const sizes =
    kind === "report" ? await takeReport(browser, folder, output!) : await takeConsole(browser, folder);
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  if (bytes > MAX_BYTES[kind])
    throw new Error(`the pictures have ${bytes} bytes; at most ${MAX_BYTES[kind]} are wanted`);
  process.stdout.write(`${sizes.length} pictures in docs/images, ${bytes} bytes\n`);
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
