/** Pages of the console in a real browser, which tests sign in to and read. */
import { after, before } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { EpochPoint } from "../../src/contract/output/job-events.ts";
import {
  type Browser,
  type Context,
  type ContextOptions,
  HANG_MS,
  openBrowser,
  type Page,
} from "./browser.testing.ts";
import { ConsoleService, type SignedIn } from "./console-service.testing.ts";

export const WIDE = { width: 1280, height: 900 };
export const NARROW = { width: 390, height: 844 };

/** Open while the tests of the importing file run. */
export let browser: Browser;
export let service: ConsoleService;
/** The caller of the operations, and a key that may only read them. */
export let writer: SignedIn;
export let reader: SignedIn;
before(async () => {
  [browser, service] = await Promise.all([openBrowser(), ConsoleService.start()]);
  writer = await service.signedWith("read", "write");
  reader = await service.signedWith("read");
});
after(async () => {
  await browser?.close();
  await service?.close();
});

/** A page with everything that it did besides being displayed. */
export interface Opened {
  readonly page: Page;
  readonly unwanted: string[];
  /** Names of the files that it saved. */
  readonly saved: string[];
  readonly context: Context;
  readonly close: () => Promise<void>;
}

export async function open(address = "", options: ContextOptions = {}, url = service.url): Promise<Opened> {
  const context = await browser.newContext({ viewport: WIDE, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(HANG_MS);
  const [unwanted, saved]: [string[], string[]] = [[], []];
  page.on("download", (download) => saved.push(download.suggestedFilename()));
  page.on("console", (message) => unwanted.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => unwanted.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) unwanted.push(`request: ${request.url()}`);
  });
  page.on("dialog", (dialog) => {
    unwanted.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(`${url}${address}`);
  return { page, unwanted, saved, context, close: () => context.close() };
}

/** The same, signed in. */
export async function openAs(
  { token }: SignedIn,
  address = "",
  options: ContextOptions = {},
): Promise<Opened> {
  const opened = await open(address, options);
  await signIn(opened.page, token);
  await until(opened.page, 'document.querySelector("h1")?.textContent !== "Sign in to mucast"');
  return opened;
}

export async function signIn(page: Page, token: string): Promise<void> {
  await until(page, 'document.querySelector("#token") !== null');
  await page.fill("#token", token);
  await page.click("button[type=submit]");
}

const LOOK_MS = 50;

/** Waits until an expression of the page is true. */
export async function until(page: Page, expression: string): Promise<void> {
  const end = performance.now() + HANG_MS;
  while (!(await page.evaluate<boolean>(`!!(${expression})`))) {
    if (performance.now() > end)
      throw new Error(`in vain: ${expression}\n${await page.evaluate("document.body.innerText")}`);
    await pause(LOOK_MS);
  }
}

export function untilText(page: Page, text: string): Promise<void> {
  return until(page, `document.body.innerText.includes(${JSON.stringify(text)})`);
}

/** The addresses that the page displays, in the form of its address bar. */
export async function show(page: Page, address: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
}

/** The browser itself writes refused requests to the console. */
export function beyondRefusals(unwanted: readonly string[], status: number): string[] {
  return unwanted.filter((line) => !line.includes(`the server responded with a status of ${status}`));
}

/** One point for each epoch of a network. */
export function points(ticker: string, from: number, to: number): EpochPoint[] {
  return Array.from({ length: to - from + 1 }, (_, i) => ({
    ticker,
    epoch: from + i,
    train_loss: 1 / (from + i),
    validation_loss: 1.1 / (from + i),
  }));
}
