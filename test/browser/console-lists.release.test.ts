import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../src/contract/errors/errors.ts";
import { problemOf } from "../../src/contract/problems/problem.ts";
import { mlText } from "../../src/outputs/outputs.testing.ts";
import { newRow } from "../../src/service/database/databases.testing.ts";
import { HANG_MS, type Page } from "./browser.testing.ts";
import { openAs, service, signIn, until, untilText } from "./console-pages.testing.ts";
import type { StartedJob } from "./console-service.testing.ts";

/** In forced colours the current view stands out from the others, and a print-out shows no controls. */
async function checkOtherMedia(page: Page): Promise<void> {
  const border = (which: string) =>
    page.evaluate<string>(`getComputedStyle(document.querySelector("nav a${which}")).borderBottomColor`);
  await page.emulateMedia({ forcedColors: "active" });
  assert.notEqual(await border("[aria-current]"), await border(":not([aria-current])"));
  await page.emulateMedia({ forcedColors: "none", media: "print" });
  const operated = `[...document.querySelectorAll("nav a, button:not(.sort, .tag), .gauge")].filter((each) => each.checkVisibility()).length`;
  assert.equal(await page.evaluate(operated), 0);
  assert.ok(await page.evaluate("document.querySelector('tbody tr').checkVisibility()"));
}

test("a page of operations lists 25 of 10,000, filters by status and kind, and leads to older ones", async () => {
  const many = await service.signedWith("read");
  for (let from = 0; from < 10_000; from += 1_000)
    await service.database.write((db) =>
      db
        .insertInto("operations")
        .values(
          Array.from({ length: 1_000 }, (_, n) => ({
            ...newRow(`many-${from + n + 1}`, many.caller.subject),
            operation: (from + n + 1) % 100 === 0 ? ("run_dl_job" as const) : ("run_ml_job" as const),
            status: (from + n + 1) % 1_000 === 0 ? ("Failed" as const) : ("Canceled" as const),
            finished_at: new Date(),
          })),
        )
        .execute(),
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
  assert.ok((await page.evaluate<number>('document.querySelectorAll("*").length')) < 800);
  await checkOtherMedia(page);
  assert.deepEqual(unwanted, []);
  await close();
});

/** The ids of the rows, in their order. */
const listed = `[...document.querySelectorAll("tbody th a")].map((link) => link.title).join()`;

test("a table of runs has their figures and tags as text, and sorts and filters by them", async () => {
  const owner = await service.signedWith("read", "write");
  const tags = ["<img src=x onerror=alert(1)>", "nightly"];
  const weak = await service.begin(owner.caller, "run_ml_job", tags);
  const summary = (ic: number, coverage: number | null) => ({
    ...({ model: "ridge", fit: "pooled", as_of: "2026-01-02", tickers: 503, failed: 3 } as const),
    verdict: {
      ...({ state: "none", title: "No skill", rows: "score", dates: 99, ic, r2: -0.0012345 } as const),
      ...{ ic_low: ic - 0.01, ic_high: ic + 0.01, coverage, nominal_coverage: coverage && 0.9 },
      later: { delay: 1, ic: 0.004, net_5bp: -4.21 },
    },
  });
  weak.execution.listener.onEvents({ summary: summary(-0.0123, 0.89444) });
  service.succeed(weak, "{}");
  const strong = await service.begin(owner.caller, "run_ml_job", ["nightly"]);
  strong.execution.listener.onEvents({ summary: summary(0.04, null) });
  service.succeed(strong, "{}");
  for (const { id } of [weak, strong]) await service.queue.ended(owner.caller, id);
  const failed = await service.begin(owner.caller, "run_dl_job", ["weekly"]);
  const problem = problemOf(new MucastError("all_failed", "no ticker is left"));
  failed.execution.end({ kind: "failed", problem });
  await service.queue.ended(owner.caller, failed.id);

  const { page, unwanted, close } = await openAs(owner);
  const ids = (...runs: readonly { readonly id: string }[]) =>
    `${listed} === ${JSON.stringify(runs.map(({ id }) => id).join())}`;
  await until(page, ids(strong, weak, failed));
  const cells = await page.evaluate<string[]>(
    `[...document.querySelectorAll("tbody tr:has([title='${weak.id}']) td")].map((cell) => cell.innerText.replaceAll(/\\s+/g, " ").trim())`,
  );
  assert.deepEqual(
    [...cells.slice(1, 6), cells[7]],
    [
      "1 503 tickers, 2026-01-02 3 failed",
      "\u22120.012 \u22120.022 to \u22120.002",
      "+0.004",
      "\u22124.2 bp",
      "No skill",
      tags.join(" "),
    ],
  );
  assert.equal(await page.evaluate("document.images.length"), 0);

  const sorted = `[...document.querySelectorAll("[aria-sort]")].map((head) => head.innerText + " " + head.ariaSort).join()`;
  assert.equal(await page.evaluate(sorted), "Net a day descending");
  await page.focus("th.ic button");
  await page.keyboard.press("Enter");
  await until(page, ids(strong, weak, failed));
  assert.equal(await page.evaluate(sorted), "IC descending");
  await page.keyboard.press("Enter");
  await until(page, ids(weak, strong, failed));
  assert.equal(await page.evaluate("location.hash"), "#/operations?sort=ic");
  assert.equal(await page.evaluate("document.activeElement.closest('th').ariaSort"), "ascending");

  await page.fill(".filters input[type=search]", "lstm all_failed");
  await until(page, ids(failed));
  await page.fill(".filters input[type=search]", "nothing like it");
  await untilText(page, "No operation on this page contains this text.");
  await page.fill(".filters input[type=search]", "");
  await page.click("td.tags button[data-tag=nightly]");
  await until(page, ids(weak, strong));
  await page.fill(".filters input[type=text]", tags[0]!);
  await page.keyboard.press("Enter");
  await until(page, ids(weak));
  await page.reload();
  await signIn(page, owner.token);
  await until(page, ids(weak));
  await page.click(".filters button.tag");
  await until(page, ids(weak));
  await page.click(".filters button.tag");
  await until(page, ids(weak, strong, failed));
  assert.equal(await page.evaluate("location.hash"), "#/operations?sort=ic");
  assert.deepEqual(unwanted, []);
  await close();
});

test("two to eight jobs are chosen and compared in one report, by keyboard", async () => {
  const owner = await service.signedWith("read", "write");
  const runs: StartedJob[] = [];
  for (let i = 0; i < 9; i++) {
    const run = await service.begin(owner.caller);
    service.succeed(run, mlText({ skills: [i / 10, 0.1] }));
    await service.queue.ended(owner.caller, run.id);
    runs.unshift(run);
  }
  const replay = await service.begin(owner.caller, "replay");
  service.succeed(replay, "{}", `replay_${replay.id}.json`);
  await service.queue.ended(owner.caller, replay.id);

  const { page, unwanted, context, close } = await openAs(owner);
  const boxes = "[...document.querySelectorAll('tbody input[type=checkbox]')]";
  await until(page, `${boxes}.length === 9`);
  const button = `[...document.querySelectorAll("button")].find((each) => each.innerText === "Compare in a report")`;
  const state = `${button}.disabled + " " + document.querySelector(".chosen [role=status]").textContent`;
  assert.equal(await page.evaluate(state), "true Choose 2 to 8 jobs that succeeded, on the same prices.");
  for (const chosen of [4, 2]) {
    await page.evaluate(`${boxes}[${chosen}].focus()`);
    await page.keyboard.press("Space");
  }
  assert.equal(await page.evaluate(state), "false 2 runs chosen");
  await page.fill(".filters input[type=search]", runs[0]!.id);
  await until(page, `${boxes}.length === 1`);
  assert.equal(await page.evaluate(state), "false 2 runs chosen", "hidden runs stay chosen");
  await page.evaluate(`${button}.focus()`);
  await page.keyboard.press("Enter");
  const end = performance.now() + HANG_MS;
  while (context.pages().length < 2 && performance.now() < end) await page.evaluate("1");
  const report = context.pages()[1]!;
  await untilText(report, "Forecasts of ridge (1), ridge (2)");
  assert.ok(await report.evaluate("document.querySelector('h2#comparison') !== null"));
  assert.equal(await report.evaluate("window.opener"), null);
  await report.close();

  await page.fill(".filters input[type=search]", "");
  await until(page, `${boxes}.length === 9`);
  assert.equal(await page.evaluate(`${boxes}.map((box) => Number(box.checked)).join("")`), "001010000");
  for (const chosen of [0, 1, 3, 5, 6, 7]) await page.evaluate(`${boxes}[${chosen}].click()`);
  assert.equal(await page.evaluate(state), "false 8 runs chosen, the most that a report compares");
  assert.equal(await page.evaluate(`${boxes}.filter((box) => box.disabled).length`), 1);
  await page.click(".chosen .plain");
  assert.equal(await page.evaluate(state), "true Choose 2 to 8 jobs that succeeded, on the same prices.");
  assert.equal(await page.evaluate(`${boxes}.filter((box) => box.disabled || box.checked).length`), 0);
  assert.deepEqual(unwanted, []);
  await close();
});

test("the settings in which chosen runs differ are a table, and follow the choice", async () => {
  const owner = await service.signedWith("read", "write");
  for (const ml of [
    { model: "ridge", n_splits: 5 },
    { model: "ridge", cv_test_size: 9 },
    { model: "lasso", cv_test_size: 9, model_params: { alpha: 0.5 } },
  ]) {
    const payload = JSON.stringify({
      feature_url: `https://blobs.example/feature_engine_${ml.model}.json`,
      data_extractor_url: "https://blobs.example/data_extractor_1.json",
      config: { "ML params": ml },
    });
    const submission = { operation: "run_ml_job", payload } as const;
    const { id } = (await service.queue.operations.submit(owner.caller, submission)).operation;
    service.succeed({ id, execution: await service.queue.executor.next() }, mlText());
    await service.queue.ended(owner.caller, id);
  }
  const { page, unwanted, close } = await openAs(owner);
  const boxes = "[...document.querySelectorAll('tbody input[type=checkbox]')]";
  await until(page, `${boxes}.length === 3`);
  assert.equal(await page.evaluate("document.querySelector('.differences').hidden"), true);
  for (const chosen of [2, 1]) await page.evaluate(`${boxes}[${chosen}].click()`);
  await page.click("text=Show how their settings differ");
  await untilText(page, "n_splits");
  const rows = `JSON.stringify([...document.querySelectorAll(".differences tbody tr")].map((row) => [...row.children].map((each) => each.textContent)))`;
  assert.deepEqual(JSON.parse(await page.evaluate<string>(rows)), [
    ["Folds n_splits", "5", "15 (default)"],
    ["Rows per test fold cv_test_size", "–", "9"],
  ]);
  await page.evaluate(`${boxes}[0].click()`);
  await untilText(page, "model_params.alpha");
  assert.deepEqual(JSON.parse(await page.evaluate<string>(rows)).slice(0, 2), [
    [
      "Features feature_url",
      "feature_engine_ridge.json",
      "feature_engine_ridge.json",
      "feature_engine_lasso.json",
    ],
    ["Model model", "ridge", "ridge", "lasso"],
  ]);
  await page.click(".chosen .plain");
  assert.equal(await page.evaluate("document.querySelector('.differences').hidden"), true);
  assert.deepEqual(unwanted, []);
  await close();
});
