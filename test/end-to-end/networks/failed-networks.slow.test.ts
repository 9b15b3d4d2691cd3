/** What forecasts the rows of a block whose network has nothing to learn from. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { removeFolders } from "../jobs/job-runs.ts";
import type { Cell, Market } from "../markets/market.ts";
import { between, config, jobOn, MARKET } from "./refitted-networks.ts";

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

describe("if a block has nothing to learn from, the last network that could be trained forecasts it", () => {
  const asked = { refit_every: 6, window: 42 };
  const options = WHOLE_MATRIX ? (["mlp", "portfolio_lstm"] as const) : (["mlp"] as const);

  test("for one ticker", async () => {
    const output = await jobOn(flat(["KO"]), config("mlp", asked));
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

  for (const option of options) {
    test(`for all tickers, with ${option}`, async () => {
      const names = [...MARKET.prices.keys()];
      const output = await jobOn(flat(names), config(option, asked));
      const told = output.warnings.filter(({ code }) => code === "failed_refit");
      const isJoint = option === "portfolio_lstm";
      assert.deepEqual(
        told.map(({ ticker }) => ticker),
        isJoint ? [undefined] : [...names].sort(),
      );
      const stood = output.refits!.blocks.map(({ stand_ins }) => stand_ins);
      assert.deepEqual([...new Set(stood)].sort(), [0, names.length]);
      assert.equal(told[0]!.count, stood.filter((count) => count > 0).length);
    });
  }

  test("its forecasts equal those of a longer block", async () => {
    for (const option of options) {
      const market = option === "mlp" ? flat(["KO"]) : flat([...MARKET.prices.keys()]);
      const output = await jobOn(market, config(option, asked));
      const { blocks } = output.refits!;
      const first = blocks.findIndex(({ stand_ins }) => stand_ins > 0);
      // In blocks of this many dates, the second one starts at the last block before the constant one.
      const longer = await jobOn(market, config(option, { ...asked, refit_every: 6 * (first - 1) }));
      assert.equal(longer.refits!.blocks[1]!.start, blocks[first - 1]!.start);
      const end = longer.refits!.blocks[2]?.start;
      const dates = [blocks[first]!.start, blocks[first + 1]!.start];
      assert.ok(end === undefined || end >= dates[1]!);
      const own = (blob: OutputBlob) =>
        between(dates[0]!, dates[1], blob).filter(([ticker]) => ticker === "KO");
      const [[, rows]] = own(output) as [[string, [string, number][]]];
      const [[, expected]] = own(longer) as [[string, [string, number][]]];
      for (const [i, [date, value]] of rows.entries()) {
        assert.equal(date, expected[i]![0]);
        // Their positions among the rows that are predicted together differ.
        assert.ok(Math.abs(value - expected[i]![1]) < 1e-9, `${option} on ${date}`);
      }
    }
  });
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
