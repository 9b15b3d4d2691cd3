import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { MucastClient } from "../../src/client/client.ts";
import { MucastError } from "../../src/contract/errors/errors.ts";
import type { AuditBlob } from "../../src/contract/output/audit-blob.ts";
import type { EpochPoint } from "../../src/contract/output/job-events.ts";
import { problemOf } from "../../src/contract/problems/problem.ts";
import { mlText } from "../../src/outputs/outputs.testing.ts";
import { FakeIssuer } from "../../src/service/auth/fake-issuer.testing.ts";
import { VERDICT } from "../../src/service/http/openapi/examples.ts";
import { hold, release } from "../service/core.testing.ts";
import { eventually } from "../service/eventually.testing.ts";
import { payload } from "../service/inputs.testing.ts";
import { endServices, startServe } from "../service/service.testing.ts";
import { startFakeStorage } from "../service/storage.testing.ts";
import {
  type Browser,
  type Context,
  type ContextOptions,
  HANG_MS,
  isScrolledAway,
  judge,
  openBrowser,
  type Page,
  type Route,
} from "./browser.testing.ts";
import { ConsoleService, type Signed } from "./console-service.testing.ts";
import { HOSTILE_NAMES } from "./report-pages.testing.ts";

const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 844 };

let browser: Browser;
let service: ConsoleService;
/** The caller of the operations, and a key that may only read them. */
let writer: Signed;
let reader: Signed;
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
interface Opened {
  readonly page: Page;
  readonly unwanted: string[];
  /** Names of the files that it saved. */
  readonly saved: string[];
  readonly context: Context;
  readonly close: () => Promise<void>;
}

async function open(address = "", options: ContextOptions = {}, url = service.url): Promise<Opened> {
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
async function openAs({ token }: Signed, address = "", options: ContextOptions = {}): Promise<Opened> {
  const opened = await open(address, options);
  await signIn(opened.page, token);
  await until(opened.page, 'document.querySelector("h1")?.textContent !== "Sign in to mucast"');
  return opened;
}

async function signIn(page: Page, token: string): Promise<void> {
  await until(page, 'document.querySelector("#token") !== null');
  await page.fill("#token", token);
  await page.click("button[type=submit]");
}

const LOOK_MS = 50;

/** Waits until an expression of the page is true. */
async function until(page: Page, expression: string): Promise<void> {
  const end = performance.now() + HANG_MS;
  while (!(await page.evaluate<boolean>(`!!(${expression})`))) {
    if (performance.now() > end)
      throw new Error(`in vain: ${expression}\n${await page.evaluate("document.body.innerText")}`);
    await pause(LOOK_MS);
  }
}

function untilText(page: Page, text: string): Promise<void> {
  return until(page, `document.body.innerText.includes(${JSON.stringify(text)})`);
}

/** The addresses that the page displays, in the form of its address bar. */
async function show(page: Page, address: string): Promise<void> {
  await page.evaluate(`location.hash = ${JSON.stringify(address)}`);
}

/** The browser itself writes refused requests to the console. */
function beyondRefusals(unwanted: readonly string[], status: number): string[] {
  return unwanted.filter((line) => !line.includes(`the server responded with a status of ${status}`));
}

test("refuses a wrong key with a clear message, signs in with a valid one, and ends the session when it is revoked", async () => {
  const { page, unwanted, close } = await open();
  await signIn(page, "mucast_wrong_key");
  await untilText(page, "The service does not know this key");
  await signIn(page, "no key at all");
  await untilText(page, "only visible ASCII characters");
  const short = await service.signedWith("read");
  await signIn(page, `  Bearer ${short.token} `);
  await untilText(page, "No operations yet");
  await service.keys.revoke(short.keyId);
  await untilText(page, "it was revoked or has expired. Sign in again.");
  assert.equal(await page.evaluate('document.querySelector("#token").value'), "");
  assert.deepEqual(beyondRefusals(unwanted, 401), []);
  await close();
});

test("keeps what a reader was writing when the session ended in the form after the next sign-in", async () => {
  const short = await service.signedWith("read", "write");
  const { page, unwanted, close } = await openAs(short, "#/job");
  await page.click("[role=tab]:text-is('JSON')");
  const typed = '{"config": {"ML params": {"model": "lasso"}}, "feature_url": ';
  await page.fill("textarea.raw", typed);
  await service.keys.revoke(short.keyId);
  await untilText(page, "it was revoked or has expired. Sign in again.");
  await signIn(page, writer.token);
  await untilText(page, "The form contains what you had entered when your session ended.");
  assert.equal(await page.inputValue("textarea.raw"), typed);
  await page.click("header button");
  await signIn(page, writer.token);
  await until(page, 'document.querySelector("textarea.raw") !== null');
  assert.equal(await page.inputValue("textarea.raw"), "{}", "another person may sign in next");
  assert.deepEqual(beyondRefusals(unwanted, 401), []);
  await close();
});

test("a token of the trusted issuer signs in with its scopes, and one of another issuer does not", async (t) => {
  const [issuer, other] = [await FakeIssuer.start(t), await FakeIssuer.start(t)];
  const trusting = await ConsoleService.start({
    auth: "oidc",
    oidc_issuer: issuer.url,
    oidc_audience: "mucast",
  });
  t.after(() => trusting.close());
  const { page, unwanted, close } = await open("#/job", {}, trusting.url);
  assert.equal(await page.textContent("label[for=token]"), "Access token");
  await signIn(page, await other.token({ iss: issuer.url }));
  await untilText(page, "The service does not accept this token: it has expired or is not for this service.");
  await signIn(page, `Bearer ${await issuer.token({ scope: "mucast.read" })}`);
  await untilText(page, "this needs a key or token with the scope write. Yours has only the scope read");
  await page.click("header button");
  await signIn(page, await issuer.token());
  await page.waitForSelector("form.payload");
  assert.deepEqual(beyondRefusals(unwanted, 401), []);
  await close();
});

test("a key stays in memory, and in the tab's storage only if that is ticked", async () => {
  const { page, close } = await openAs(writer);
  const stored = "JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])";
  assert.equal(await page.evaluate(stored), '[{},{},""]');
  await page.reload();
  await until(page, 'document.querySelector("#token") !== null');
  await page.click(".check input");
  await signIn(page, writer.token);
  await until(page, 'document.querySelector("header nav") !== null');
  await page.reload();
  await until(page, 'document.querySelector("header nav") !== null');
  await page.click("header button");
  await until(page, 'document.querySelector("#token") !== null');
  assert.equal(await page.evaluate(stored), '[{},{},""]');
  await close();
});

/** In forced colours the current view stands out from the others, and a print-out shows no controls. */
async function checkOtherMedia(page: Page): Promise<void> {
  const border = (which: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector("nav a${which}")).borderBottomColor`);
  await page.emulateMedia({ forcedColors: "active" });
  assert.notEqual(await border("[aria-current]"), await border(":not([aria-current])"));
  await page.emulateMedia({ forcedColors: "none", media: "print" });
  const operated = `[...document.querySelectorAll("nav a, button, .gauge")].filter((each) => each.checkVisibility()).length`;
  assert.equal(await page.evaluate(operated), 0);
  assert.ok(await page.evaluate("document.querySelector('tbody tr').checkVisibility()"));
}

test("a page of operations lists 25 of 10,000, filters by status and kind, and leads to older ones", async () => {
  const many = await service.signedWith("read");
  await service.database.query(
    `insert into operations (id, caller, operation, feature_url, data_extractor_url, config, config_sha256,
       body_sha256, status, finished_at)
     select 'many-' || n, $1, case when n % 100 = 0 then 'run_dl_job' else 'run_ml_job' end, '', '', '{}', '', '',
       case when n % 1000 = 0 then 'Failed' else 'Canceled' end, now()
     from generate_series(1, 10000) n`,
    [many.caller.subject],
  );
  const { page, unwanted, close } = await openAs(many);
  const names = `[...document.querySelectorAll("tbody th a")].map((link) => link.title.slice(5))`;
  const first = (place: string) => `(${names})[0] === ${JSON.stringify(place)}`;
  const rows = 'document.querySelectorAll("tbody tr").length';
  await until(page, first("10000"));
  assert.equal(await page.evaluate(rows), 25);
  await page.focus("select");
  await page.selectOption("select", "Failed");
  await until(page, `${rows} === 10`);
  assert.equal(await page.evaluate("location.hash"), "#/operations?status=Failed");
  assert.equal(await page.evaluate("document.activeElement.tagName"), "SELECT");
  await page.selectOption("select", "");
  await page.selectOption(".filters label:nth-child(2) select", "run_dl_job");
  await until(page, `${first("10000")} && (${names})[1] === "9900"`);
  for (const expected of ["7500", "5000"]) {
    await page.click(".pages a:last-child");
    await until(page, first(expected));
    assert.equal(await page.evaluate(rows), 25);
  }
  await page.click(".pages a:first-child");
  await until(page, first("10000"));
  assert.ok((await page.evaluate<number>('document.querySelectorAll("*").length')) < 600);
  await checkOtherMedia(page);
  assert.deepEqual(unwanted, []);
  await close();
});

test("shows no error to a reader who leaves the list while it is being filtered", async () => {
  const { page, unwanted, close } = await openAs(reader);
  await untilText(page, "No operations yet");
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const slow = async (route: Route) => {
    asked.resolve();
    await answer.promise;
    await route.abort().catch(() => undefined);
  };
  await page.route(/\/v1\/operations\?.*Failed/, slow, { times: 1 });
  await page.selectOption("select", "Failed");
  await asked.promise;
  await show(page, "#/upload");
  await untilText(page, "Yours has only the scope read");
  assert.equal(await page.evaluate("document.querySelectorAll('.notice').length"), 0);
  answer.resolve();
  assert.deepEqual(unwanted, []);
  await close();
});

test("reports a queue that cannot be read, and shows the view once it can", async () => {
  const { page, close } = await open();
  await page.waitForSelector("#token");
  await page.click(".check input");
  await signIn(page, reader.token);
  await untilText(page, "No operations yet");
  const problem = { code: "internal", title: "t", status: 500, detail: "d", advice: "a" };
  const answer = { status: 500, contentType: "application/problem+json", body: JSON.stringify(problem) };
  await page.route("**/v1/queue", (route) => route.fulfill(answer), { times: 1 });
  await page.reload();
  await untilText(page, "Cannot read the queue: internal");
  await untilText(page, "No operations yet");
  await close();
});

test("does not find another caller's operation, of which the gauge shows only totals", async () => {
  const { id, execution } = await service.begin(writer.caller);
  const { page, unwanted, close } = await openAs(reader, `#/operations/${id}`);
  await untilText(page, "not_found");
  await show(page, "#/operations");
  await untilText(page, "No operations yet");
  await untilText(page, "1 running (0 yours), 0 queued (0 yours)");
  assert.deepEqual(beyondRefusals(unwanted, 404), []);
  execution.end({ kind: "lost", reason: "the test is over" });
  (await service.queue.executor.next()).end({ kind: "lost", reason: "the test is over" });
  await close();
});

function points(ticker: string, from: number, to: number): EpochPoint[] {
  return Array.from({ length: to - from + 1 }, (_, i) => ({
    ticker,
    epoch: from + i,
    train_loss: 1 / (from + i),
    validation_loss: 1.1 / (from + i),
  }));
}

test("follows a network job while it trains, through an outage of the service, to a cancellation confirmed by keyboard", async () => {
  const { page, unwanted, close } = await openAs(writer);
  const { id, execution } = await service.begin(writer.caller, "run_dl_job");
  const { onEvents } = execution.listener;
  await show(page, `#/operations/${id}`);
  await untilText(page, "Running for");
  onEvents({ progress: { stage: "fit", done: 12, total: 120 } });
  onEvents({ epochs: { points: points("AAPL", 1, 12) } });
  await untilText(page, "Fit: 12 of 120 epochs (10.0 %)");
  await untilText(page, "AAPL. Best validation loss: 0.09167 (epoch 12).");
  const spoken = `[...document.querySelectorAll("[role=status]")].map((each) => each.textContent).join("|")`;
  const before = await page.evaluate<string>(spoken);
  onEvents({ progress: { stage: "fit", done: 20, total: 120 } });
  await untilText(page, "Fit: 20 of 120 epochs");
  assert.equal(await page.evaluate(spoken), before, "a step of progress is not spoken");

  await service.leave();
  await untilText(page, "Offline since ");
  assert.match(
    await page.evaluate<string>(spoken),
    /Offline since \d\d:\d\d:\d\d: the service does not respond/,
  );
  onEvents({ epochs: { points: [...points("AAPL", 13, 20), ...points("MSFT", 1, 20)] } });
  await service.listen();
  await until(page, '!document.body.innerText.includes("Offline")');
  await untilText(
    page,
    "Median of 2 networks, for epochs that at least half have reached. Best validation loss: 0.05500 (epoch 20).",
  );
  await page.selectOption("label:has(+ figure) select", "1");
  await untilText(page, "MSFT. Best validation loss: 0.05500 (epoch 20).");
  assert.equal(await page.evaluate('document.querySelector(".chart").getAttribute("role")'), "img");

  await page.focus(".progress-words + p button");
  await page.keyboard.press("Enter");
  await until(page, 'document.querySelector("dialog[open]") !== null');
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Keep running");
  await page.keyboard.press("Escape");
  await until(page, 'document.querySelector("dialog") === null');
  assert.deepEqual(execution.stops, []);
  await page.keyboard.press("Enter");
  await until(page, 'document.querySelector("dialog[open]") !== null');
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await untilText(page, "Operation canceled");
  // A service may ask an execution to stop more than once, until it has ended.
  assert.deepEqual(new Set(execution.stops), new Set(["canceled"]));
  assert.match(
    await page.evaluate<string>('document.querySelector(".happenings").innerText'),
    /cancel requested.*\n.*canceled/s,
  );
  assert.deepEqual(
    unwanted.filter((line) => !/net::ERR_/.test(line)),
    [],
  );
  await close();
});

test("shows the results of a job as text, whatever its tickers are called: forecasts, warnings, failures", async () => {
  const begun = await service.begin(writer.caller);
  const warn = (ticker: string) => ({
    code: "stale_ticker" as const,
    message: `${ticker}: it ends early`,
    ticker,
  });
  for (const name of HOSTILE_NAMES) begun.execution.listener.onEvents({ warnings: [warn(name)] });
  const noSkill = { code: "no_skill" as const, message: "not better than 0" };
  begun.execution.listener.onEvents({ warnings: [noSkill] });
  const failure = { ticker: HOSTILE_NAMES[0]!, code: "insufficient_history", message: "it has 3 rows" };
  begun.execution.listener.onEvents({ failures: [failure] });
  await service.queue.stored(writer.caller, begun.id, "failure");
  service.succeed(
    begun,
    mlText({ config: { intervals: { alpha: 0.1 } }, tickers: [...HOSTILE_NAMES, "AAPL"] }),
  );
  await service.queue.ended(writer.caller, begun.id);

  const { page, unwanted, close } = await openAs(writer, `#/operations/${begun.id}`);
  await untilText(page, "Next-day log-returns (mu) of 11 tickers");
  const found = await page.evaluate<{ names: string[]; scripts: number; images: number; html: string }>(
    `({ names: [...document.querySelectorAll(".numbers tbody th")].map((each) => each.textContent), scripts: document.scripts.length, images: document.images.length, html: document.body.innerHTML })`,
  );
  assert.deepEqual([found.scripts, found.images], [1, 0]);
  for (const name of ["<img src=x onerror=alert(1)>", "__proto__", "A[U+202E]B[U+200B]C[U+FEFF]", "AAPL"])
    assert.ok(found.names.includes(name), name);
  assert.doesNotMatch(found.html, /[\u202e\u200b\ufeff]/);
  await page.click(".codes:not([open]) summary");
  await untilText(page, "https://evil.example/?q=1: it ends early");
  await untilText(page, "90 % interval");
  await untilText(page, "No skill, worse than zero on the out-of-fold rows.");
  await page.click(".view > div > p > button");
  await untilText(page, "succeeded");
  assert.deepEqual(unwanted, []);
  await close();
});

test("a caller with a key saves the output and opens the report in a new tab, which has no key", async () => {
  const begun = await service.begin(writer.caller);
  service.succeed(begun, mlText());
  await service.queue.ended(writer.caller, begun.id);
  const { page, unwanted, saved, context, close } = await openAs(writer, `#/operations/${begun.id}`);
  await untilText(page, "Download output");
  await page.click("section .buttons button:nth-child(2)");
  await untilText(page, "Download output");
  await eventually("the output is saved", () => (saved.length === 0 ? undefined : saved));
  assert.deepEqual(saved, [`ml_engine_${begun.id}.json`]);
  await page.click("button.main");
  const report = await eventually("the report is open", () => context.pages()[1]);
  await untilText(report, "R²");
  assert.deepEqual(
    await report.evaluate("[location.pathname.split('/')[1], opener, document.referrer, origin]"),
    ["reports", null, "", "null"],
  );
  await page.evaluate("void (window.open = () => null)");
  await page.click("button.main");
  await untilText(page, "The browser blocked the new tab");
  assert.deepEqual(unwanted, []);
  await close();
});

const AUDIT: AuditBlob = {
  schema: "mucast.audit/1",
  id: "1",
  operation: "run_ml_job",
  verdict: "found",
  checks: {
    foresight: { status: "found", cost: "one reading", tests: 3, facts: {} },
    restatement: {
      status: "not_run",
      reason: "no earlier blobs are given",
      cost: "nothing",
      tests: 0,
      facts: {},
    },
  },
  findings: [
    {
      number: 1,
      check: "foresight",
      code: "knows_next_price",
      severity: "high",
      message: "<b>f</b>\u202e knows",
      evidence: {},
      advice: "Look at it.",
    },
  ],
  finding_counts: { knows_next_price: 1 },
  accepted: [],
  inputs: {
    feature: { url: "f", sha256: "a".repeat(64) },
    data_extractor: { url: "p", sha256: "b".repeat(64) },
    config_sha256: "c".repeat(64),
  },
  blind_spots: ["what was left out before"],
  versions: {},
};

test("an audit and a replay show their verdict, with findings and what to do", async () => {
  const audited = await service.begin(writer.caller, "audit");
  service.succeed(audited, JSON.stringify(AUDIT), `audit_${audited.id}.json`);
  const replayed = await service.begin(writer.caller, "replay");
  service.succeed(replayed, JSON.stringify(VERDICT.replay), `replay_${replayed.id}.json`);
  await service.queue.ended(writer.caller, replayed.id);
  const { page, unwanted, close } = await openAs(writer, `#/operations/${audited.id}`);
  for (const text of [
    "The audit found 1 sign",
    "<b>f</b>[U+202E] knows",
    "Look at it.",
    "no earlier blobs are given",
  ])
    await untilText(page, text);
  await show(page, `#/operations/${replayed.id}`);
  await untilText(page, "The job gave the same bytes again: the output is confirmed.");
  assert.deepEqual(unwanted, []);
  await close();
});

test("a failed job shows why and what to do, with its faults", async () => {
  const { id, execution } = await service.begin(writer.caller);
  const failures = [{ ticker: "AAA", code: "insufficient_history", message: "AAA has 3 rows" }];
  execution.end({
    kind: "failed",
    problem: problemOf(new MucastError("all_failed", "each of 12 tickers failed", { failures })),
  });
  const { page, close } = await openAs(writer, `#/operations/${id}`);
  await untilText(page, "Why it failed");
  for (const text of ["each of 12 tickers failed", "all_failed", "What to do:", "AAA has 3 rows"])
    await untilText(page, text);
  await close();
});

test("a read-only key is shown no way to change anything, and the reason", async () => {
  const only: Signed = { ...reader, caller: { ...reader.caller, scopes: new Set(["read", "write"]) } };
  const { id, execution } = await service.begin(only.caller);
  const { page, unwanted, close } = await openAs(reader, `#/operations/${id}`);
  await untilText(page, "Your key has only the scope read, so you cannot cancel this operation.");
  assert.equal(
    await page.evaluate('[...document.querySelectorAll("button")].map((each) => each.textContent).join()'),
    "Sign out",
  );
  for (const view of ["job", "upload", "audit", "replay"]) {
    await show(page, `#/${view}`);
    await untilText(page, "this needs a key or token with the scope write. Yours has only the scope read");
  }
  assert.deepEqual(unwanted, []);
  service.succeed({ id, execution }, mlText());
  await close();
});

/** The views, by name: an address, and a text that is there once the view is complete. */
const VIEWS = (ids: Readonly<Record<"running" | "left" | "failed", string>>) =>
  [
    ["operations", "#/operations", "Network job"],
    ["a job that runs", `#/operations/${ids.running}`, "Median of 2 networks"],
    ["a job that has succeeded", `#/operations/${ids.left}`, "Next-day log-returns (mu)"],
    ["a job that failed", `#/operations/${ids.failed}`, "What to do:"],
  ] as const;

test("axe finds nothing in any view, and none is wider than its window: wide, narrow, light and dark", async () => {
  const looked = await service.signedWith("read", "write");
  const left = await service.begin(looked.caller);
  const failed = await service.begin(looked.caller);
  service.succeed(left, mlText({ config: { intervals: { alpha: 0.1 } } }));
  failed.execution.end({
    kind: "failed",
    problem: problemOf(new MucastError("all_failed", "no ticker is left")),
  });
  await service.queue.ended(looked.caller, failed.id);
  const trained = await service.begin(looked.caller, "run_dl_job");
  const { onEvents } = trained.execution.listener;
  onEvents({ progress: { stage: "fit", done: 20, total: 60 } });
  onEvents({ epochs: { points: [...points("AAPL", 1, 20), ...points("MSFT", 1, 20)] } });
  onEvents({ warnings: [{ code: "long_gap", message: "AAPL: a gap" }] });
  const { page, unwanted, close } = await openAs(looked, "", { reducedMotion: "reduce" });
  const judged = async (name: string) => {
    for (const viewport of [WIDE, NARROW]) {
      await page.setViewportSize(viewport);
      assert.ok(
        (await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")) <= 0,
        name,
      );
    }
    for (const [viewport, colorScheme] of [
      [WIDE, "light"],
      [NARROW, "dark"],
    ] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      const { violations, incomplete } = await judge(page);
      const undecided = incomplete.filter((finding) => !isScrolledAway(finding));
      const found = [...violations, ...undecided].map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
      assert.deepEqual(found, [], `${name}, ${viewport.width} pixels, ${colorScheme}`);
    }
  };
  for (const [name, address, text] of VIEWS({ running: trained.id, left: left.id, failed: failed.id })) {
    await show(page, address);
    await untilText(page, text);
    await page.evaluate('document.querySelectorAll("details").forEach((each) => { each.open = true; })');
    await judged(name);
  }
  await show(page, `#/operations/${trained.id}`);
  await until(page, 'document.querySelector(".progress-words + p button") !== null');
  await page.click(".progress-words + p button");
  await judged("the question before a cancel");
  await page.keyboard.press("Escape");
  await page.click("header button");
  await until(page, 'document.querySelector("#token") !== null');
  await judged("the sign-in");
  assert.deepEqual(unwanted, []);
  trained.execution.end({ kind: "lost", reason: "the test is over" });
  (await service.queue.executor.next()).end({ kind: "lost", reason: "the test is over" });
  await close();
});

test("a page follows a real job through a kill of its service to the forecast and the report", async (t) => {
  const storage = await startFakeStorage();
  t.after(async () => {
    await endServices();
    await storage.stop();
  });
  // The job reads no input until the page has seen it run and its service is back.
  hold(storage, "one");
  const real = await startServe({ env: storage.env });
  const client = new MucastClient({ baseUrl: real.url });
  const { page, close } = await open("", {}, `${real.url}/`);
  await untilText(page, "No operations yet");
  const { id } = await client.runMlJob(payload(storage.url, "one"), { idempotencyKey: "one" });
  await show(page, `#/operations/${id}`);
  await untilText(page, "Running for");
  await real.kill9();
  await untilText(page, "Offline since ");
  await startServe({ folder: real.folder, port: real.port, env: storage.env });
  release(storage, "one");
  await untilText(page, "Next-day log-returns (mu) of 2 tickers");
  await until(page, '/started.*succeeded/s.test(document.querySelector(".happenings").innerText)');
  const report = await page.evaluate<string>('document.querySelector(".button.main").href');
  assert.equal((await fetch(report)).headers.get("content-type"), "text/html; charset=utf-8");
  await close();
});
