import assert from "node:assert/strict";
import { test } from "node:test";
import { warningLines } from "./validate.ts";

const stale = (ticker: string) => ({
  code: "stale_ticker" as const,
  ticker,
  message: `${ticker} ends early`,
});

test("validate warns in one line about all tickers with the same warning, and says where the others are", () => {
  assert.deepEqual(
    warningLines([
      ...["A", "B", "C", "D", "E"].map(stale),
      { code: "no_prices", ticker: "F", message: "F has no prices" },
      { code: "unknown_section", message: "keys is ignored" },
      { code: "empty_feature", ticker: "A", message: "A: x is empty" },
      { code: "empty_feature", ticker: "A", message: "A: y is empty" },
    ] as Parameters<typeof warningLines>[0]),
    [
      "warning: unknown_section: keys is ignored",
      "warning: stale_ticker: 5 tickers (A, B, C and 2 more), such as: A ends early",
      "warning: no_prices: F has no prices",
      "warning: empty_feature: 1 ticker (A), such as: A: x is empty",
      "--log json lists every warning.",
    ],
  );
});
