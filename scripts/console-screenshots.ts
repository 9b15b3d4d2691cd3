/**
 * Makes the pictures of the console: `npm run node -- scripts/console-screenshots.ts`. A real service runs both jobs of
 * `test/cases/sp500-20`, about a minute on two cores.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MucastClient } from "../src/client/client.ts";
import { preparePrices } from "../src/prepare/prepare-prices.ts";
import { type Browser, openBrowser } from "../test/browser/browser.testing.ts";
import { eventuallyTrue } from "../test/service/eventually.testing.ts";
import { endServices, startServe } from "../test/service/service.testing.ts";
import { reportSizes, takePicture } from "./pictures.ts";

const EXAMPLE = "test/cases/sp500-20";
const WINDOW = { start: "2005-01-01", learningEnd: "2018-12-31" };
const VIEWPORT = { width: 1_100, height: 895 };
/** Limit of all pictures together in bytes, because a clone includes them. */
const MAX_BYTES = 150e3;

async function pictures(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "mucast-console-pictures-"));
  const browser = await openBrowser();
  try {
    const { url } = await startServe({ env: { MUCAST_CORES: "2", MUCAST_CONCURRENT_JOBS: "2" } });
    const client = new MucastClient({ baseUrl: url });
    const payload = await inputs(client, folder);
    const ml = await client.runAndWait("run_ml_job", payload("ml"));
    const dl = await client.runDlJob(payload("dl"));
    const sizes = [
      await picture(browser, `${url}/#/operations/${dl.id}`, "console-training-light", hasTrained),
      await picture(browser, `${url}/#/operations/${ml.id}`, "console-forecast-dark", hasAnswers),
    ];
    await client.cancelOperation(dl.id);
    reportSizes(sizes, MAX_BYTES);
  } finally {
    await browser.close();
    await endServices();
    rmSync(folder, { recursive: true });
  }
}

const hasAnswers = "document.querySelector('.answers') !== null";
/** Whether more than half of the epochs have ended. */
const hasTrained = "document.querySelector('progress')?.value > 0.5 && !!document.querySelector('.line')";

/** Uploads both inputs. @returns the payload of either job. */
async function inputs(client: MucastClient, folder: string) {
  const csvPath = `${EXAMPLE}/prices.csv.gz`;
  const blobs = await preparePrices({ csvPath, outFolder: folder, options: WINDOW, report: () => undefined });
  const put = async (name: string, path: string) => (await client.putBlob(name, readFileSync(path))).url;
  const urls = {
    feature_url: await put("feature_engine_demo.json", blobs.featurePath),
    data_extractor_url: await put("data_extractor_demo.json", blobs.dataExtractorPath),
  };
  return (kind: "ml" | "dl") => ({ ...urls, config: readFileSync(`${EXAMPLE}/${kind}-config.json`, "utf8") });
}

/** @param isReady an expression of the page. */
async function picture(browser: Browser, url: string, file: string, isReady: string): Promise<number> {
  const colorScheme = file.endsWith("dark") ? "dark" : "light";
  const context = await browser.newContext({ colorScheme, viewport: VIEWPORT });
  const page = await context.newPage();
  await page.goto(url);
  await eventuallyTrue(`${file} can be taken`, () => page.evaluate<boolean>(isReady));
  const size = await takePicture(context, page, file, { x: 0, y: 0, ...VIEWPORT, scale: 1 });
  await context.close();
  return size;
}

await pictures();
