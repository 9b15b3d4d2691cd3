import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../src/contract/errors/errors.ts";
import type { RunSummary } from "../../src/contract/output/job-events.ts";
import { problemOf } from "../../src/contract/problems/problem.ts";
import { mlText } from "../../src/outputs/outputs.testing.ts";
import { isScrolledAway, judge } from "./browser.testing.ts";
import { NARROW, openAs, points, service, show, until, untilText, WIDE } from "./console-pages.testing.ts";

/** The views, by name: an address, and a text that is there once the view is complete. */
const VIEWS = (ids: Readonly<Record<"running" | "left" | "failed", string>>) =>
  [
    ["operations", "#/operations", "Network job"],
    ["a job that runs", `#/operations/${ids.running}`, "Median of 2 networks"],
    ["a job that has succeeded", `#/operations/${ids.left}`, "Next-day log-returns (mu)"],
    ["a job that failed", `#/operations/${ids.failed}`, "What to do:"],
  ] as const;

const SUMMARY: RunSummary = {
  ...{ model: "ridge", fit: "per_ticker", as_of: "2026-01-02", tickers: 503, failed: 1 },
  verdict: {
    ...{
      state: "none",
      title: "No skill",
      rows: "score",
      dates: 99,
      ic: -0.0123,
      ic_low: -0.03,
      ic_high: 0.01,
    },
    ...{ r2: -0.0012, coverage: 0.894, nominal_coverage: 0.9 },
  },
};

test("axe finds nothing in any view, and none is wider than its window: wide, narrow, light and dark", async () => {
  const looked = await service.signedWith("read", "write");
  const left = await service.begin(looked.caller, "run_ml_job", ["nightly", "a=1"]);
  const failed = await service.begin(looked.caller);
  const choice = { candidates: [{ grid: { alpha: [2, 3, 4] } }], warm_up: 2 };
  left.execution.listener.onEvents({ summary: SUMMARY });
  service.succeed(
    left,
    mlText({ config: { intervals: { alpha: 0.1 }, n_splits: 2, choice }, folds: 4, skills: [0, 0.1] }),
  );
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
