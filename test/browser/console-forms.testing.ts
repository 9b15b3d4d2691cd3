/** The forms of the console in a real browser, against a real service. */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import type { OperationPage } from "../../src/client/index.ts";
import { eventually } from "../service/eventually.testing.ts";
import { FEATURES, PRICES } from "../service/inputs.testing.ts";
import { endServices, type Serving, startServe } from "../service/service.testing.ts";
import { type Browser, type ContextOptions, HANG_MS, openBrowser, type Page } from "./browser.testing.ts";

export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 390, height: 844 };
/** Upload limit of the service in bytes. */
export const UPLOAD_BYTES = 4_000_000;

/** Stored before the tests, for jobs that the forms submit. */
const JOB_INPUTS = { "feature_engine_form.json": FEATURES, "data_extractor_form.json": PRICES };

/** Open while the tests of the importing file run. */
export let browser: Browser;
export let service: Serving;
before(async () => {
  [service, browser] = await Promise.all([
    startServe({ env: { MUCAST_UPLOAD_BYTES: String(UPLOAD_BYTES) } }),
    openBrowser(),
  ]);
  for (const [name, body] of Object.entries(JOB_INPUTS)) {
    const headers = { "content-type": "application/json" };
    const { status } = await fetch(`${service.url}/data/${name}`, { method: "PUT", headers, body });
    assert.equal(status, 201);
  }
});
after(async () => {
  await browser?.close();
  await endServices();
});

export interface Opened {
  readonly page: Page;
  /** What the page did besides being displayed: messages, errors, dialogs, requests to other hosts. */
  readonly unwanted: string[];
  readonly close: () => Promise<void>;
}

/** The browser itself reports answers with an error status. */
const REFUSED =
  /^error: Failed to load resource: (?:net::ERR_FAILED|the server responded with a status of (?:400|412|413|422))/;

export async function open(address: string, options: ContextOptions = {}): Promise<Opened> {
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
export function control(name: string, nth = 0): string {
  return `:nth-match(.field:has(> label code:text-is("${name}")) > :is(input, select, textarea), ${nth + 1})`;
}

/** Shows the folded parts of a page. */
export async function unfold(page: Page): Promise<void> {
  await page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })");
}

/** What the form sends. */
export async function sentText(page: Page): Promise<string> {
  return await page.inputValue("textarea.raw");
}

/** Waits until an operation is displayed, and returns its id. */
export async function shownOperation(page: Page): Promise<string> {
  return await eventually("the operation is shown", async () => {
    const hash = await page.evaluate<string>("location.hash");
    return /^#\/operations\/([\w-]+)$/.exec(hash)?.[1];
  });
}

/** The newest first. */
export async function operations() {
  const answer = await fetch(`${service.url}/v1/operations?limit=100`);
  return ((await answer.json()) as OperationPage).operations;
}

/** Files to upload: the inputs of a job. */
export const BLOBS = [
  { name: "feature_engine_ui.json", mimeType: "application/json", buffer: Buffer.from(FEATURES) },
  { name: "data_extractor_ui.json", mimeType: "application/json", buffer: Buffer.from(PRICES) },
];
