/** A report as a notebook shows it: in the frame that the Python client makes. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { clientPython } from "../python-client/python-client.testing.ts";
import { type Browser, HANG_MS, openBrowser } from "./browser.testing.ts";
import { writeReports } from "./report-pages.testing.ts";

const NAME = "hostile names";
const FRAME =
  "import sys; from mucast_client import Report; print(Report(open(sys.argv[1]).read())._repr_html_())";

let browser: Browser | undefined;
after(() => browser?.close());

test("a notebook shows a report with its scripts, and the report cannot reach the notebook", async (t) => {
  const reports = writeReports([NAME]);
  t.after(() => reports.remove());
  const path = fileURLToPath(reports.urls.get(NAME)!);
  const { code, stdout, stderr } = await clientPython(["-c", FRAME, path]);
  assert.equal(code, 0, stderr);
  const notebook = join(dirname(path), "notebook.html");
  await writeFile(notebook, `<!doctype html><title>notebook</title>${stdout}`);
  browser = await openBrowser();
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
  const page = await context.newPage();
  page.setDefaultTimeout(HANG_MS);
  const unwanted: string[] = [];
  page.on("console", (message) => unwanted.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => unwanted.push(String(error)));
  page.on("dialog", (dialog) => {
    unwanted.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(pathToFileURL(notebook).href);
  const [, report] = page.frames();
  assert.ok((await report!.evaluate<number>('document.querySelectorAll("figure > svg.chart").length')) >= 20);
  assert.equal(await report!.evaluate("origin"), "null");
  assert.equal(await page.evaluate("document.querySelector('iframe').contentDocument"), null);
  assert.deepEqual(unwanted, []);
  await context.close();
});
