/** The forms of the console in a real browser, against a real service. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { EXAMPLE_CONFIGS } from "../../src/contract/config/example-configs.ts";
import { eventually, eventuallyTrue } from "../service/eventually.testing.ts";
import { FEATURES, PRICES } from "../service/inputs.testing.ts";
import { endServices, type Serving, startServe } from "../service/service.testing.ts";
import {
  type Browser,
  type ContextOptions,
  HANG_MS,
  isScrolledAway,
  judge,
  openBrowser,
  type Page,
} from "./browser.testing.ts";

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };
/** Upload limit of the service in bytes. */
const UPLOAD_BYTES = 1_000_000;

let browser: Browser;
let service: Serving;
before(async () => {
  [service, browser] = await Promise.all([
    startServe({ env: { MUCAST_UPLOAD_BYTES: String(UPLOAD_BYTES) } }),
    openBrowser(),
  ]);
});
after(async () => {
  await browser?.close();
  await endServices();
});

interface Opened {
  readonly page: Page;
  /** What the page did besides being displayed: messages, errors, dialogs, requests to other hosts. */
  readonly unwanted: string[];
  readonly close: () => Promise<void>;
}

/** The browser itself reports answers with an error status. */
const REFUSED =
  /^error: Failed to load resource: (?:net::ERR_FAILED|the server responded with a status of (?:400|412|413|422))/;

async function open(address: string, options: ContextOptions = {}): Promise<Opened> {
  const context = await browser.newContext({ viewport: WIDE, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(HANG_MS);
  const unwanted: string[] = [];
  page.on("console", (message) => {
    const said = `${message.type()}: ${message.text()}`;
    if (!REFUSED.test(said)) unwanted.push(said);
  });
  page.on("pageerror", (error) => unwanted.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(`${service.url}/`)) unwanted.push(`request: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    unwanted.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(`${service.url}/${address}`);
  await page.waitForSelector(".view > *:not(:empty)");
  return { page, unwanted, close: () => context.close() };
}

/** The control of a member, by its name in the payload; `nth` among those with the name. */
function control(name: string, nth = 0): string {
  return `:nth-match(.field:has(> label code:text-is("${name}")) > :is(input, select, textarea), ${nth + 1})`;
}

/** What the form sends. */
async function sentText(page: Page): Promise<string> {
  return await page.inputValue("textarea.raw");
}

/** Waits until an operation is displayed, and returns its id. */
async function shownOperation(page: Page): Promise<string> {
  return await eventually("the operation is shown", async () => {
    const hash = await page.evaluate<string>("location.hash");
    return /^#\/operations\/([\w-]+)$/.exec(hash)?.[1];
  });
}

async function operations(): Promise<{ id: string; operation: string; status: string }[]> {
  const answer = await fetch(`${service.url}/v1/operations?limit=100`);
  return ((await answer.json()) as { operations: { id: string; operation: string; status: string }[] })
    .operations;
}

const BLOBS = [
  { name: "feature_engine_ui.json", mimeType: "application/json", buffer: Buffer.from(FEATURES) },
  { name: "data_extractor_ui.json", mimeType: "application/json", buffer: Buffer.from(PRICES) },
];

/** Prices of two tickers on 300 days. */
const CSV = {
  name: "prices.csv",
  mimeType: "text/csv",
  buffer: Buffer.from(
    [
      "Date,AAA,BBB",
      ...Array.from({ length: 300 }, (_, i) => `${dayAfter(i)},${100 + (i % 7)},${50 + (i % 5)}`),
    ].join("\n"),
  ),
};

function dayAfter(days: number): string {
  return new Date(Date.UTC(2020, 0, 1 + days)).toISOString().slice(0, 10);
}

test("uploads files under valid names, replaces one only on request, and fills the job's form with their URLs", async () => {
  const { page, unwanted, close } = await open("#/upload");
  await page.setInputFiles("input[type=file]", BLOBS);
  await page.click("button:text-is('Upload')");
  await page.waitForSelector(".upload >> nth=1 >> text=Stored as data_extractor_ui.json.");
  // The link has the first blob before both are there.
  await page.waitForSelector("a[href*='feature_url'][href*='data_extractor_url']");
  await page.click("text=Submit a job with these inputs");
  await page.waitForSelector("form.payload");
  assert.equal(await page.inputValue(control("feature_url")), `${service.url}/data/feature_engine_ui.json`);
  assert.equal(
    await page.inputValue(control("data_extractor_url")),
    `${service.url}/data/data_extractor_ui.json`,
  );

  await page.goto(`${service.url}/#/upload`);
  await page.waitForSelector("input[type=file]");
  await page.setInputFiles("input[type=file]", [BLOBS[0]!]);
  await page.click("button:text-is('Upload')");
  await page.click("button:text-is('Replace')");
  await page.waitForSelector("text=Stored as feature_engine_ui.json, replacing the previous blob.");
  assert.equal(await page.evaluate("document.activeElement.closest('.upload') !== null"), true);
  assert.deepEqual(unwanted, []);
  await close();
});

test("a file's hostile name is text and suggests a valid one; files with the same name and a file too large are refused with a message", async () => {
  const { page, unwanted, close } = await open("#/upload");
  const hostile = "<img src=x onerror=alert(1)>\u202egnp.json";
  await page.setInputFiles("input[type=file]", [
    { name: hostile, mimeType: "application/json", buffer: Buffer.alloc(UPLOAD_BYTES + 1, " ") },
    { name: "a b.json", mimeType: "application/json", buffer: Buffer.from("{}") },
    { name: "a-b.json", mimeType: "application/json", buffer: Buffer.from("{}") },
  ]);
  assert.equal(await page.evaluate("document.querySelectorAll('.uploads img').length"), 0);
  assert.match(
    (await page.textContent(".upload .file"))!,
    /^<img src=x onerror=alert\(1\)>\[U\+202E\]gnp\.json \(1.00 MB\)$/,
  );
  await page.click("button:text-is('Upload')");
  await page.waitForSelector(".upload >> nth=0 >> text=at most 1000000 are accepted");
  await page.waitForSelector(
    ".upload >> nth=1 >> text=Another file in this list has the name feature_engine_a-b.json.",
  );
  await page.fill(".upload >> nth=1 >> input", "no such id");
  assert.match((await page.textContent(".upload:nth-child(2) .fault"))!, /1 to 64 letters/);
  assert.deepEqual(unwanted, []);
  await close();
});

test("half-written JSON survives an upload and a visit to the other job", async () => {
  const { page, unwanted, close } = await open("#/job");
  const half = '{"feature_url": "x", "config": {';
  await page.click("[role=tab]:text-is('JSON')");
  await page.fill("textarea.raw", half);
  await page.click("text=Upload inputs or prepare them from a price CSV");
  await page.setInputFiles("input[type=file] >> nth=0", [{ ...BLOBS[0]!, name: "feature_engine_half.json" }]);
  await page.click("button:text-is('Upload')");
  await page.waitForSelector(".notice >> text=The form is unchanged because the JSON has an error");
  assert.equal(await sentText(page), half);
  await page.click("text=Neural networks");
  await page.click("text=Regressors (run_ml_job)");
  assert.equal(await sentText(page), half);
  assert.deepEqual(unwanted, []);
  await close();
});

test("an example config replaces the config, and the URLs stay", async () => {
  const { page, unwanted, close } = await open("#/job?feature_url=x&operation=run_dl_job");
  await page.click("text=Regressors (run_ml_job)");
  await page.selectOption("text=Start from an example config", "pooled-ridge");
  await page.click("button:text-is('Use this config')");
  await page.waitForSelector("text=The form now has the config pooled-ridge.");
  const { feature_url, config } = JSON.parse(await sentText(page)) as Record<string, unknown>;
  assert.equal(feature_url, "x");
  assert.deepEqual(config, EXAMPLE_CONFIGS.find(({ name }) => name === "pooled-ridge")!.config);
  await page.click("[role=tab]:text-is('JSON')");
  await page.fill("textarea.raw", "{");
  await page.click("button:text-is('Use this config')");
  await page.waitForSelector("text=Fix the JSON on the JSON tab first.");
  assert.equal(await sentText(page), "{");
  assert.deepEqual(unwanted, []);
  await close();
});

test("accepts files dropped onto the list, up to a limit", async () => {
  const { page, unwanted, close } = await open("#/upload");
  await page.evaluate(`(() => {
    const data = new DataTransfer();
    for (let i = 0; i < 30; i++) data.items.add(new File(["{}"], "f" + i + ".json"));
    document.querySelector(".drop").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
  })()`);
  assert.equal(await page.evaluate("document.querySelectorAll('.upload').length"), 20);
  await page.waitForSelector("text=Only 20 files at a time");
  assert.deepEqual(unwanted, []);
  await close();
});

test("a price CSV becomes both inputs of a job, and its faults and faulty options are reported at their fields", async () => {
  const { page, unwanted, close } = await open("#/job");
  await page.click("text=Upload inputs or prepare them from a price CSV");
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector("text=Choose a CSV first.");
  const broken = Buffer.from("Date,AAA\n2020-01-02,1.5\n2020-01-02,1.6\n");
  await page.setInputFiles(".prepare input[type=file]", [{ ...CSV, buffer: broken }]);
  await page.fill(control("id"), "no such id");
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector(".prepare .field .fault >> text=must be 1 to 64 letters");
  await page.fill(control("id"), "csv");
  assert.equal(
    await page.textContent(".prepare pre"),
    `curl -sS --data-binary @prices.csv '${service.url}/v1/prepare?id=csv' \\\n  -H 'Content-Type: text/csv'`,
  );
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector(".prepare .refusal >> text=line 3");
  await page.setInputFiles(".prepare input[type=file]", [CSV]);
  await page.fill(control("learning_end"), "2020-06-30");
  await page.click("button:text-is('Prepare')");
  await page.waitForSelector("text=A job learns from returns up to 2020-06-30.");
  assert.match(
    (await page.textContent(".prepare > [role=status]"))!,
    /^2 tickers, 300 dates from 2020-01-01 to/,
  );
  assert.deepEqual(JSON.parse(await sentText(page)), {
    feature_url: `${service.url}/data/feature_engine_csv.json`,
    data_extractor_url: `${service.url}/data/data_extractor_csv.json`,
  });
  assert.deepEqual(unwanted, []);
  await close();
});

test("fields and JSON stay in sync, and numbers keep their spelling", async () => {
  const { page, unwanted, close } = await open("#/job");
  await page.fill(control("feature_url"), "https://a/b");
  await page.selectOption(control("model"), "ridge");
  await page.fill(control("model_params"), '{"alpha": 1.0}');
  await page.fill(control("n_splits"), "2");
  await page.click("text=Include prediction intervals");
  await page.fill(control("alpha"), "0.20");
  assert.match(await sentText(page), /"alpha": 1\.0\b[\s\S]*"n_splits": 2,[\s\S]*"alpha": 0\.20\b/);
  assert.deepEqual(JSON.parse(await sentText(page)), {
    feature_url: "https://a/b",
    config: {
      "ML params": { model: "ridge", model_params: { alpha: 1 }, n_splits: 2, intervals: { alpha: 0.2 } },
    },
  });
  await page.selectOption("select:below(:text('Add a parameter of ridge'))", "fit_intercept");
  await page.click("button:text-is('Add')");
  assert.match(await page.inputValue(control("model_params")), /"fit_intercept": true/);

  await page.focus("[role=tab][aria-selected=true]");
  await page.keyboard.press("ArrowRight");
  const typed =
    '{"config": {"ML params": {"model": "RF", "n_splits": 3.0e0, "model_params": {"max_features": 1.0}}}}';
  await page.fill("textarea.raw", typed);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("Home");
  assert.equal(await page.inputValue(control("model")), "RF");
  assert.equal(await page.inputValue(control("n_splits")), "3.0e0");
  assert.equal(await sentText(page), typed);
  assert.equal(await page.evaluate("document.querySelectorAll('.parameters tbody tr').length"), 18);

  await page.keyboard.press("End");
  await page.fill("textarea.raw", '{"config": NaN}');
  assert.match((await page.textContent(".fault:below(textarea.raw)"))!, /NaN is not JSON/);
  await page.keyboard.press("Shift+Tab");
  await page.keyboard.press("ArrowLeft");
  await page.waitForSelector("text=The JSON has an error.");
  await page.click(".payload button[type=submit]");
  await page.waitForSelector(".refusal >> text=The JSON has an error.");
  assert.equal(await page.evaluate("document.querySelector('.fields').disabled"), true);
  assert.deepEqual(unwanted, []);
  await close();
});

test("the other job keeps the inputs, and shows the entries of its network", async () => {
  const { page, unwanted, close } = await open("#/job?feature_url=f&data_extractor_url=d");
  await page.click("text=Neural networks");
  await page.selectOption(control("current option"), "cnn");
  await page.fill(control("filters"), "8, 16");
  assert.deepEqual(JSON.parse(await sentText(page)), {
    feature_url: "f",
    data_extractor_url: "d",
    config: {
      "NN params": {
        "Dot prediction": { "current option": "cnn", models_params: { cnn: { filters: [8, 16] } } },
      },
    },
  });
  assert.equal(
    await page.evaluate(
      "[...document.querySelectorAll('fieldset.group')].filter((each) => each.checkVisibility() && /lstm|mlp/.test(each.querySelector('legend').textContent)).length",
    ),
    0,
  );
  // A fault of a hidden entry is shown at the surrounding section.
  await page.click("[role=tab]:text-is('JSON')");
  await page.fill(
    "textarea.raw",
    (await sentText(page)).replace('"cnn": {', '"lstm": {"dropout": 5}, "cnn": {'),
  );
  await page.click("[role=tab]:text-is('Fields')");
  await page.click(".payload button[type=submit]");
  const section = "fieldset.group:has(> legend code:text-is('models_params')) > .fault";
  await page.waitForSelector(`${section} >> text=must be < 1, got 5`);
  await page.click("text=Regressors (run_ml_job)");
  assert.equal(await page.inputValue(control("feature_url")), "f");
  assert.deepEqual(unwanted, []);
  await close();
});

test("faults from the service are shown at their fields, and the first of them has the focus", async () => {
  const { page, unwanted, close } = await open("#/job?feature_url=https://a/b&data_extractor_url=");
  await page.selectOption(control("model"), "ridge");
  await page.fill(control("model_params"), '{"alpah": 1}');
  await page.fill(control("n_splits"), "0");
  await page.focus(control("n_splits"));
  await page.keyboard.press("Enter");
  await page.waitForSelector(".refusal:not(:empty)");
  const faults = await page.evaluate<Record<string, string>>(
    `Object.fromEntries([...document.querySelectorAll(".fields [aria-invalid]")].map((input) => {
      const said = input.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id));
      return [input.closest(".field").querySelector("label code").textContent, said.find((each) => each.matches(".fault")).textContent];
    }))`,
  );
  assert.deepEqual(Object.keys(faults), ["feature_url", "data_extractor_url", "model_params", "n_splits"]);
  assert.match(faults.model_params!, /no parameter called "alpah" \(did you mean alpha\?\)/);
  assert.match(faults.n_splits!, /must be >= 1, got 0/);
  assert.equal(
    await page.evaluate("document.activeElement.closest('.field').querySelector('code').textContent"),
    "feature_url",
  );
  assert.deepEqual(unwanted, []);
  await close();
});

test("a double click starts one operation, even if the first answer is lost, and so does the curl line of the form, run by a shell", async () => {
  const before = (await operations()).length;
  const inputs = new URLSearchParams({
    feature_url: `${service.url}/data/feature_engine_ui.json`,
    data_extractor_url: `${service.url}/data/data_extractor_ui.json`,
  });
  const { page, unwanted, close } = await open(`#/job?${inputs}`);
  await page.selectOption(control("model"), "ridge");
  await page.fill(control("n_splits"), "2");
  const hostile = `it's "$(touch x)" \`y\` \\ !! \u202e\u200b`;
  await page.click("[role=tab]:text-is('JSON')");
  const raw = await sentText(page);
  // Another service's section may have any text, and is ignored.
  await page.fill(
    "textarea.raw",
    raw.replace(/"config": \{/, `"config": {"other": {"note": ${JSON.stringify(hostile)}},`),
  );
  const command = (await page.textContent(".payload .command pre"))!;
  assert.doesNotMatch(command, /[\u202e\u200b]/);
  await page.route(
    "**/v1/run_ml_job",
    async (route) => {
      await route.fetch();
      await route.abort();
    },
    { times: 1 },
  );
  await page.evaluate(
    "(() => { const send = document.querySelector('form.payload button[type=submit]'); send.click(); send.click(); })()",
  );
  const id = await shownOperation(page);
  const { stdout } = await promisify(execFile)("bash", ["-c", command], { cwd: service.folder });
  assert.equal((JSON.parse(stdout) as { id: string }).id, id);
  assert.equal((await operations()).length, before + 1);
  await eventuallyTrue("the job succeeds", async () => (await operations())[0]!.status === "Succeeded");
  assert.deepEqual(unwanted, []);
  await close();
});

test("fills in an audit from an output, with the config's bytes, and submits it with its options", async () => {
  const [job] = await operations();
  const { page, unwanted, close } = await open(`#/audit?operation=${job!.id}`);
  assert.equal(await page.inputValue(control("feature_url")), `${service.url}/data/feature_engine_ui.json`);
  const config = JSON.parse(await page.inputValue(control("config"))) as Record<string, unknown>;
  assert.deepEqual(config["ML params"], { model: "ridge", n_splits: 2 });
  await page.click("text=foresight: does a feature know its label?");
  await page.selectOption(control("quick"), "true");
  await page.fill(control("accept"), "mom_1\nmom, 2");
  const { checks, quick, accept } = JSON.parse(await sentText(page)) as Record<string, unknown>;
  assert.deepEqual([checks, quick, accept], [["foresight"], true, ["mom_1", "mom, 2"]]);
  await page.click("button[type=submit]");
  const id = await shownOperation(page);
  assert.equal((await operations()).find((one) => one.id === id)!.operation, "audit");
  await fetch(`${service.url}/v1/operations/${id}/cancel`, { method: "POST" });
  assert.deepEqual(unwanted, []);
  await close();
});

test("submits a replay of an output as it is filled in", async () => {
  const job = (await operations()).find(({ operation }) => operation === "run_ml_job")!;
  const { page, unwanted, close } = await open(`#/replay?operation=${job.id}`);
  assert.match(await page.inputValue(control("output_url")), new RegExp(`/data/ml_engine_${job.id}\\.json$`));
  await page.focus(control("output_url"));
  await page.keyboard.press("Enter");
  const id = await shownOperation(page);
  assert.equal((await operations()).find((one) => one.id === id)!.operation, "replay");
  await fetch(`${service.url}/v1/operations/${id}/cancel`, { method: "POST" });
  assert.deepEqual(unwanted, []);
  await close();
});

/** What axe found, and what it could not decide. */
function findings({ violations, incomplete }: Awaited<ReturnType<typeof judge>>): [string, string[]][] {
  return [...violations, ...incomplete.filter((finding) => !isScrolledAway(finding))].map(({ id, nodes }) => [
    id,
    nodes.map(({ html }) => html),
  ]);
}

for (const [address, prepare] of [
  ["#/job", "refused"],
  ["#/job?operation=run_dl_job", "as it is"],
  ["#/upload", "with a file"],
  ["#/audit", "as it is"],
  ["#/replay", "as it is"],
] as const) {
  test(`${address} ${prepare}: axe finds nothing, and nothing scrolls sideways, wide and narrow, light and dark`, async () => {
    for (const [viewport, colorScheme] of [
      [WIDE, "light"],
      [NARROW, "dark"],
    ] as const) {
      const { page, unwanted, close } = await open(address, { viewport, colorScheme });
      if (prepare === "refused") {
        await page.selectOption(control("model"), "ridge");
        await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
        await page.click(".payload button[type=submit]");
        await page.waitForSelector(".payload .refusal:not(:empty)");
      }
      if (prepare === "with a file") await page.setInputFiles("input[type=file]", [BLOBS[0]!]);
      assert.deepEqual(findings(await judge(page)), []);
      assert.ok((await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")) <= 0);
      const shots = process.env.MUCAST_TEST_SCREENSHOTS;
      if (shots !== undefined) {
        const name = `${address.replaceAll(/\W+/g, "-")}-${viewport.width}-${colorScheme}.png`;
        await page.screenshot({ path: `${shots}/${name}`, fullPage: true });
      }
      assert.deepEqual(unwanted, []);
      await close();
    }
  });
}
