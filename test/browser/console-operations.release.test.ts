import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditBlob } from "../../src/contract/output/audit-blob.ts";
import { mlText } from "../../src/outputs/outputs.testing.ts";
import { VERDICT } from "../../src/service/http/examples.ts";
import { eventually } from "../service/eventually.testing.ts";
import { openAs, points, service, show, until, untilText, writer } from "./console-pages.testing.ts";
import { HOSTILE_NAMES } from "./report-pages.testing.ts";

test("follows a network job while it trains, through an outage of the service, to a cancellation confirmed by keyboard", async () => {
  const { page, unwanted, close } = await openAs(writer);
  const { id, execution } = await service.begin(writer.caller, "run_dl_job");
  const { onEvents } = execution.listener;
  await show(page, `#/operations/${id}`);
  await untilText(page, "Running for");
  onEvents({ progress: { stage: "fit", done: 12, total: 120 } });
  onEvents({ epochs: { points: points("AAPL", 1, 12) } });
  await untilText(page, "Fit: 12 of 120 epochs (10.0\u202f%)");
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
  await page.selectOption("section > label select", "1");
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
  await untilText(page, "90\u202f% interval");
  await untilText(page, "No evidence of skill, sizes worse than zero on the out-of-fold rows: ");
  await page.click("text=Show history");
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
  await page.click(".buttons button:nth-child(2)");
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
    "1 finding: the inputs may contain future data",
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
