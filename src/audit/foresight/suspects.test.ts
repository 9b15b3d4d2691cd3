import assert from "node:assert/strict";
import { test } from "node:test";
import { suspicionOf } from "./suspects.ts";

const NONE = { level: undefined, change: undefined, size: undefined, later: undefined, laterSize: undefined };
const at = (c: number, n = 2_000) => ({ c, n });
const later = (c: number, value: number, other: number) => ({
  ...at(c),
  lag: 9,
  signs: { value, other: { c: other, lag: -9 } },
});
const beside = (c: number, partial: number) => ({ ...at(c), partial });
const codeOf = (correlations: Partial<Parameters<typeof suspicionOf>[0]>, needed = 5) =>
  suspicionOf({ ...NONE, ...correlations }, needed)?.code;

const CASES = [
  ["nothing beyond 0.2", { level: at(0.19), change: at(-0.19), size: at(0.24) }, undefined],
  [
    "a level beyond 0.2 is skill that a person has to explain",
    { level: at(-0.3), change: at(0.2) },
    "implausible_skill",
  ],
  ["a change that stays below 1.2 levels, too", { level: at(0.3), change: at(0.35) }, "implausible_skill"],
  [
    "a change beyond 1.2 levels knows the next price",
    { level: at(0.3), change: at(-0.37) },
    "knows_next_price",
  ],
  ["a change alone as well", { level: at(0.05), change: at(0.21) }, "knows_next_price"],
  ["a level beyond 0.9 as well", { level: at(0.91), change: at(0.5) }, "knows_next_price"],
  ["a change that goes with the size as well", { size: at(-0.26) }, "knows_next_price"],
  ["a change that the last returns tell as well", { change: beside(-0.28, 0.02) }, undefined],
  ["a value that they tell as well", { level: beside(-0.95, 0.1), change: at(0.1) }, undefined],
  ["a change of which they leave much", { change: beside(-0.5, -0.21) }, "knows_next_price"],
  ["a change of which they take little", { change: beside(0.21, 0.19) }, "knows_next_price"],
  [
    "a value that they do not tell, and a change that they do",
    { level: beside(0.22, 0.25), change: beside(0.3, 0.1) },
    "implausible_skill",
  ],
  ["a later return", { later: later(0.21, 0.1, 0.3) }, "knows_later_return"],
  [
    "the next price is graver than a later one",
    { change: at(0.4), later: later(0.6, 0.1, 0.3) },
    "knows_next_price",
  ],
  ["a later one is graver than skill", { level: at(0.3), later: later(0.3, 0.1, 0.3) }, "knows_later_return"],
  ["the size of a later return", { laterSize: { ...at(0.26), lag: 9 }, size: at(0.2) }, "knows_later_return"],
  [
    "the size of all later returns, as volatility clusters",
    { laterSize: { ...at(0.26), lag: 9 }, size: at(0.24) },
    undefined,
  ],
] as const;

for (const [name, correlations, code] of CASES) {
  test(`${name}: ${code ?? "no suspicion"}`, () => assert.equal(codeOf(correlations), code));
}

test("no correlation is suspected below the deviations that all tests require", () => {
  assert.equal(codeOf({ level: at(0.95, 100), change: at(0.5, 100) }, 30), undefined);
  assert.equal(codeOf({ level: at(0.3, 200), change: at(0.4, 200) }, 5), "knows_next_price");
  assert.equal(codeOf({ level: at(0.3, 200), change: at(0.4, 150) }, 5.2), undefined);
});

test("a change that correlates with returns at two places comes from a window; one that its value explains may be an honest lag", () => {
  const isWindow = (...signs: Parameters<typeof later>) =>
    suspicionOf({ ...NONE, later: later(...signs) }, 5)!.isWindow;
  assert.equal(isWindow(0.65, 0.22, -0.65), true);
  assert.equal(isWindow(0.25, 0.05, 0.21), true);
  assert.equal(isWindow(0.41, 0.58, 0.05), false);
  assert.equal(isWindow(0.41, 0.1, 0.05), false);
  assert.equal(isWindow(0.41, 0.58, -0.41), false);
  assert.equal(isWindow(0.7, 0.95, 0.05), true);
});
