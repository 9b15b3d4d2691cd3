import assert from "node:assert/strict";
import { test } from "node:test";
import { MucastError } from "../../src/contract/errors/errors.ts";
import { problemOf } from "../../src/contract/problems/problem.ts";
import { dlText, mlText } from "../../src/outputs/outputs.testing.ts";
import { NARROW, openAs, service, show, until, untilText, WIDE, writer } from "./console-pages.testing.ts";

/** Five, so that candidates have an IC. */
const TICKERS = ["AAPL", "MSFT", "NVDA", "XOM", "A-NAME-OF-FORTY-CHARACTERS-WHICH-IS-LONG"];
const CHOICE = { candidates: [{ grid: { alpha: [2, 3, 4] } }], warm_up: 2 };

/** Widths and places that a reader sees. */
const LAYOUT = `(() => {
  const [left, right] = document.querySelectorAll(".beside-table > div");
  const cells = [...document.querySelectorAll(".beside-table th, .beside-table td")];
  return {
    isBeside: right.getBoundingClientRect().left >= left.getBoundingClientRect().right,
    page: document.documentElement.scrollWidth - innerWidth,
    cut: cells.filter((cell) => cell.getBoundingClientRect().right > innerWidth || cell.scrollWidth > cell.clientWidth + 1).map((cell) => cell.textContent),
    scrolled: [...document.querySelectorAll(".beside-table .scroll")].filter((box) => box.scrollWidth > box.clientWidth).length,
  };
})()`;

test("the page of a run has its forecasts as bars, the choice beside them, and its verdict in one sentence", async () => {
  const begun = await service.begin(writer.caller);
  const config = { intervals: { alpha: 0.1 }, n_splits: 2, choice: CHOICE };
  service.succeed(begun, mlText({ tickers: TICKERS, config, folds: 4, skills: [0, 0.1, 0.05, 0] }));
  await service.queue.ended(writer.caller, begun.id);
  const { page, unwanted, close } = await openAs(writer);
  await show(page, `#/operations/${begun.id}`);
  await untilText(page, "Next-day log-returns (mu)");
  assert.deepEqual(
    await page.evaluate(
      `[...document.querySelectorAll(".forecasts tbody tr")].map((row) => [row.querySelectorAll("svg.bar path.bar").length, /^−[0-9.]+ to \\+[0-9.]+\\u202fbp$/.test(row.querySelector(".interval").textContent), /^[+−][0-9]+\\.[0-9]\\u202fbp$/.test(row.querySelector(".mu").textContent)])`,
    ),
    TICKERS.map(() => [1, true, true]),
  );
  await untilText(page, "Chosen among 4 candidates.");
  await untilText(page, "Out-of-fold rows");

  const shown = () => page.evaluate<string>("document.body.innerText");
  assert.doesNotMatch(await shown(), /Clark-West/);
  await page.focus(".statistics summary");
  await page.keyboard.press("Enter");
  await until(page, 'document.querySelector(".statistics").open');
  assert.match(await shown(), /Clark-West/);

  for (const [viewport, isBeside] of [
    [WIDE, true],
    [{ width: 1_000, height: 800 }, true],
    [NARROW, false],
  ] as const) {
    await page.setViewportSize(viewport);
    assert.deepEqual(
      await page.evaluate(LAYOUT),
      { isBeside, page: 0, cut: [], scrolled: 0 },
      `${viewport.width} pixels`,
    );
  }
  assert.deepEqual(unwanted, []);
  await close();
});

test("a run shows its inputs and its config: what differs from the defaults, and all of it as JSON", async () => {
  const hostile = "<img src=x onerror=alert(1)>\u202egnp";
  const payload = JSON.stringify({
    feature_url: `${service.url}data/feature_engine_own.json`,
    data_extractor_url: "https://blobs.example/data_extractor_1.json",
    config: { "ML params": { model: "ridge", n_splits: 15, cv_test_size: 7 } },
    accept: [hostile],
  });
  const { id } = (await service.queue.operations.submit(writer.caller, { operation: "audit", payload }))
    .operation;
  const execution = await service.queue.executor.next();
  const { page, unwanted, saved, close } = await openAs(writer);
  await show(page, `#/operations/${id}`);
  await untilText(page, "Inputs and config");
  await untilText(page, "Rows per test fold cv_test_size");
  const settings = await page.evaluate<string[]>(
    `[...document.querySelectorAll(".settings > div")].map(({ innerText }) => innerText.replaceAll(/\\s+/g, " "))`,
  );
  assert.deepEqual(settings.slice(0, 2), ["Model model ridge", "Rows per test fold cv_test_size 7"]);
  assert.ok(!settings.some((text) => text.includes("n_splits")), "it has its default");
  assert.ok(
    settings.some((text) => text.includes('accept ["<img src=x onerror=alert(1)>\\u202egnp"]')),
    String(settings),
  );
  await untilText(page, "https://blobs.example/data_extractor_1.json");
  assert.equal(await page.evaluate(`document.querySelectorAll("main img, a[href^='https:']").length`), 0);
  assert.match(
    await page.evaluate<string>(`document.querySelector(".command pre").textContent`),
    /"n_splits": 15/,
  );
  assert.deepEqual([unwanted, saved], [[], []]);
  await close();
  execution.end({ kind: "lost", reason: "the test is over" });
  (await service.queue.executor.next()).end({ kind: "lost", reason: "the test is over" });
});

test("a job that succeeded runs again from its form with the same payload", async () => {
  const begun = await service.begin(writer.caller, "run_dl_job", ["nightly", "<b>1</b>"]);
  service.succeed(begun, dlText(), `nn_engine_${begun.id}.json`);
  await service.queue.ended(writer.caller, begun.id);
  const payload = await service.queue.operations.payload(writer.caller, begun.id);
  const { page, unwanted, close } = await openAs(writer);
  await show(page, `#/operations/${begun.id}`);
  await untilText(page, "Run again…");
  await page.click('a[href^="#/job?again="]');
  await untilText(page, "Filled in from lstm (nightly, <b>1</b>)");
  await untilText(page, "Queries of URLs, such as signatures, are not stored");
  assert.equal(await page.inputValue("input[type=radio]:checked"), "run_dl_job");
  assert.deepEqual(JSON.parse(await page.inputValue("textarea.raw")), JSON.parse(payload));
  await page.click("form.payload button[type=submit]");
  const again = await service.queue.executor.next();
  await untilText(page, "Running for");
  const id = (await page.evaluate<string>("location.hash")).split("/").at(-1)!;
  assert.notEqual(id, begun.id);
  assert.equal(await service.queue.operations.payload(writer.caller, id), payload);
  again.end({ kind: "lost", reason: "the test is over" });
  (await service.queue.executor.next()).end({ kind: "lost", reason: "the test is over" });
  assert.deepEqual(unwanted, []);
  await close();
});

test("a failed job opens its form with what to change at the place", async () => {
  const begun = await service.begin(writer.caller);
  const problem = problemOf(
    new MucastError("invalid_model_params", "alpha must be positive", {
      path: "ML params.model",
      faults: [{ path: "ML params.model", message: "ridge wants another <b>name</b>" }],
    }),
  );
  begun.execution.end({ kind: "failed", problem });
  await service.queue.ended(writer.caller, begun.id);
  const { page, unwanted, close } = await openAs(writer);
  await show(page, `#/operations/${begun.id}`);
  await untilText(page, "Change its config or inputs before you submit it.");
  await page.click('a[href^="#/job?again="]');
  await untilText(page, "ridge wants another <b>name</b>");
  await untilText(page, "1 error is shown next to the fields");
  assert.equal(
    await page.evaluate("document.activeElement.closest('.field')?.innerText.includes('ridge wants')"),
    true,
  );
  assert.deepEqual(unwanted, []);
  await close();
});
