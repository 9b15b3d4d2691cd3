/** What forecasts the rows of a block whose network has nothing to learn from. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { removeFolders } from "../jobs/job-runs.ts";
import type { Cell, Market } from "../markets/market.ts";
import { config, jobOn, MARKET } from "./refitted-networks.ts";

after(removeFolders);

/** From the cut on, the prices of a ticker are constant for 50 dates. */
function flat(tickers: readonly string[]): Market {
  const from = MARKET.priceDates.indexOf("2021-06-04") - 20;
  const still = (cells: readonly Cell[]) =>
    cells.map((cell, i) => (i > from && i <= from + 60 ? cells[from]! : cell));
  const prices = [...MARKET.prices].map(
    ([ticker, cells]) => [ticker, tickers.includes(ticker) ? still(cells) : cells] as const,
  );
  return { ...MARKET, prices: new Map(prices) };
}

test("if a block has nothing to learn from, the last network that could be trained forecasts it", async () => {
  const output = await jobOn(flat(["KO"]), config("mlp", { refit_every: 6, window: 42 }));
  const { blocks, by_ticker } = output.refits!;
  const failed = blocks.flatMap(({ stand_ins }, b) => (stand_ins > 0 ? [b] : []));
  assert.ok(failed.length > 0 && failed.length < blocks.length - 1, String(failed));
  for (const b of failed) {
    assert.equal(blocks[b]!.stand_ins, 1);
    assert.equal(by_ticker.KO!.label_means[b], by_ticker.KO!.label_means[failed[0]! - 1]);
  }
  const told = output.warnings.filter(({ code }) => code === "failed_refit");
  assert.deepEqual(
    told.map(({ ticker, count }) => [ticker, count]),
    [["KO", failed.length]],
  );
  assert.match(told[0]!.message, /training labels are equal/);
  assert.equal(output.forecasts.KO!.dates.length, output.forecasts.MSFT!.dates.length);
  assert.deepEqual(output.failures, []);
});

test("a ticker with nothing to learn from fails in a joint network of the others", async () => {
  const output = await jobOn(flat(["KO"]), config("portfolio_lstm", { refit_every: 6, window: 42 }));
  assert.deepEqual(
    output.failures.map(({ ticker, code }) => [ticker, code]),
    [["KO", "constant_target"]],
  );
  assert.match(output.failures[0]!.message, /\(in the network of the block from 2021-\d\d-\d\d\)$/);
  assert.ok(!("KO" in output.forecasts) && "MSFT" in output.mu);
  assert.ok(output.refits!.blocks.every(({ stand_ins }) => stand_ins === 0));
});
