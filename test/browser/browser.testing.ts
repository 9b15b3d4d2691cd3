import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The parts of playwright-core that the tests use. It is installed beside the project and so brings no types. */
export interface Browser {
  newContext(options?: ContextOptions): Promise<Context>;
  close(): Promise<void>;
}

export interface ContextOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly colorScheme?: "light" | "dark";
  readonly reducedMotion?: "reduce" | "no-preference";
  readonly javaScriptEnabled?: boolean;
  readonly bypassCSP?: boolean;
  readonly offline?: boolean;
}

export interface Context {
  newPage(): Promise<Page>;
  /** Including those that pages have opened. */
  pages(): Page[];
  newCDPSession(page: Page): Promise<DevToolsSession>;
  close(): Promise<void>;
}

/** The Chrome DevTools Protocol, for features that Playwright does not offer: pictures as WebP. */
interface DevToolsSession {
  send(method: "Page.captureScreenshot", options: object): Promise<{ readonly data: string }>;
}

/** A request that the test answers. */
export interface Route {
  /** Sends it on, and returns the answer only to the test. */
  fetch(): Promise<unknown>;
  /** Withholds the answer from the page. */
  abort(): Promise<void>;
  fulfill(answer: {
    readonly status: number;
    readonly contentType: string;
    readonly body: string;
  }): Promise<void>;
}

/** A file that the reader chooses. */
export interface InputFile {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Uint8Array;
}

export interface Page {
  goto(url: string, options?: { readonly waitUntil?: "load" | "domcontentloaded" }): Promise<unknown>;
  evaluate<T>(expression: string): Promise<T>;
  /** The page itself, then its frames. */
  frames(): readonly { evaluate<T>(expression: string): Promise<T> }[];
  emulateMedia(media: {
    readonly media?: "print" | "screen";
    readonly colorScheme?: "light" | "dark";
    readonly forcedColors?: "active" | "none";
  }): Promise<void>;
  setViewportSize(size: { readonly width: number; readonly height: number }): Promise<void>;
  screenshot(options: { readonly path?: string; readonly fullPage?: boolean }): Promise<Uint8Array>;
  pdf(options?: { readonly path?: string; readonly format?: "A4" }): Promise<Uint8Array>;
  click(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  hover(selector: string, options?: { readonly position?: { x: number; y: number } }): Promise<void>;
  focus(selector: string): Promise<void>;
  textContent(selector: string): Promise<string | null>;
  inputValue(selector: string): Promise<string>;
  selectOption(selector: string, value: string): Promise<unknown>;
  setInputFiles(selector: string, files: readonly InputFile[]): Promise<void>;
  waitForSelector(selector: string): Promise<unknown>;
  /** Time limit for waiting for an element and for acting on it; 30 s otherwise. */
  setDefaultTimeout(milliseconds: number): void;
  /** Lets a handler answer requests to this address, as often as `times` says. */
  route(
    address: string | RegExp,
    handler: (route: Route) => Promise<void>,
    options: { times: number },
  ): Promise<void>;
  readonly keyboard: { press(key: string): Promise<void> };
  reload(): Promise<unknown>;
  on(event: "console", listener: (message: { type(): string; text(): string }) => void): void;
  on(event: "pageerror", listener: (error: Error) => void): void;
  on(event: "request", listener: (request: { url(): string }) => void): void;
  on(event: "download", listener: (download: { suggestedFilename(): string }) => void): void;
  on(event: "dialog", listener: (dialog: { message(): string; dismiss(): Promise<void> }) => void): void;
  close(): Promise<void>;
}

interface Playwright {
  readonly chromium: {
    launch(options: {
      readonly executablePath: string;
      readonly args: readonly string[];
      readonly chromiumSandbox: boolean;
      readonly timeout: number;
      readonly env: NodeJS.ProcessEnv;
    }): Promise<Browser>;
  };
}

const FOLDER = fileURLToPath(new URL("../../tools/browser", import.meta.url));
/** Ends a test that waits for something that never happens. */
export const HANG_MS = 180_000;
const UNPACKED = join(FOLDER, "node_modules/.chromium");
const require = createRequire(join(FOLDER, "package.json"));

/** The findings of axe-core in a page, by rule. */
export interface AxeFinding {
  readonly id: string;
  readonly nodes: readonly {
    readonly html: string;
    readonly failureSummary?: string;
    readonly target: unknown;
  }[];
}

/** Cells and links outside the visible part of a scrolling box, whose colours axe cannot see; the wide page has them all. */
export function isScrolledAway({ id, nodes }: AxeFinding): boolean {
  return id === "color-contrast" && nodes.every(({ html }) => /^<(?:(?:th|td|bdi)[ >]|a href="#)/.test(html));
}

let axe: string | undefined;

/** Checks a page with axe-core: what breaks a rule, and what it could not decide. */
export async function judge(page: Page): Promise<{
  readonly violations: readonly AxeFinding[];
  readonly incomplete: readonly AxeFinding[];
}> {
  axe ??= readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  await page.evaluate(`${axe}; undefined`);
  return await page.evaluate(
    "axe.run(document).then(({ violations, incomplete }) => ({ violations, incomplete }))",
  );
}

/**
 * Starts the Chromium that set-up unpacked, with its own libraries and font; or the one that the variable MUCAST_TEST_CHROMIUM names, with
 * those of the system.
 * @throws Error if there is none: a test of a page is never skipped.
 */
export async function openBrowser(): Promise<Browser> {
  const named = process.env.MUCAST_TEST_CHROMIUM;
  const executablePath = named ?? join(UNPACKED, "chromium");
  if (!existsSync(executablePath)) {
    throw new Error(
      `no browser at ${executablePath}: run \`node scripts/setup.mjs --dev\` on x64, or name a Chromium in MUCAST_TEST_CHROMIUM`,
    );
  }
  const ownParts = {
    LD_LIBRARY_PATH: join(UNPACKED, "al2023/lib"),
    FONTCONFIG_FILE: join(UNPACKED, "fonts.conf"),
  };
  const { chromium } = require("playwright-core") as Playwright;
  return await chromium.launch({
    executablePath,
    args: ["--disable-gpu", "--disable-background-networking"],
    chromiumSandbox: false,
    timeout: HANG_MS,
    env: { ...process.env, ...(named === undefined ? ownParts : {}) },
  });
}
