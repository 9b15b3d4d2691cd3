import assert from "node:assert/strict";
import { before, test } from "node:test";
import { jobsOf, MINIMA, OPTIONS } from "../bench/planted-minima.ts";
import { plantedIcs, twoAtATime } from "../bench/planted-runs.ts";
import type { SignalName } from "../bench/planted-signals.ts";
import { withEngine } from "../bench/shared-engine.ts";

const SEED = 1;

/** IC by option and signal. */
const reached = new Map<string, Map<SignalName, number>>(OPTIONS.map((option) => [option, new Map()]));

/** A ticker's own features hold an eighth of the variance of this signal: a correlation of 0.577 / sqrt(8). */
const ALONE = { option: "transformer", signals: ["cross"] } as const;
const BEST_ALONE = 0.204;
/** By chance alone a mean over 8 tickers scatters by 0.02. */
const CHANCE = 0.06;

before(async () => {
  const asked = OPTIONS.flatMap((option) => jobsOf(option).map((signals) => ({ option, signals })));
  const jobs: { option: string; signals: readonly SignalName[] }[] = [...asked, ALONE];
  await withEngine(2, ["torch"], (train) =>
    twoAtATime(jobs, async ({ option, signals }) => {
      const ics = await plantedIcs(train, { option, signals, seed: SEED });
      for (const [signal, ic] of ics) reached.get(option)!.set(signal, ic);
    }),
  );
});

for (const [option, minima] of Object.entries(MINIMA)) {
  test(`${option} finds the planted signals with all its defaults`, (t) => {
    const found = reached.get(option)!;
    for (const [signal, ic] of found) t.diagnostic(`${option} ${signal} ${ic.toFixed(3)}`);
    const short = Object.entries(minima).filter(([signal, least]) => {
      const ic = found.get(signal as SignalName)!;
      return signal === "null" ? !(Math.abs(ic) < least) : !(ic >= least);
    });
    assert.deepEqual(short, []);
  });
}

test("a transformer that sees one ticker alone cannot find what lies across tickers", (t) => {
  const ic = reached.get(ALONE.option)!.get("cross")!;
  t.diagnostic(`transformer cross ${ic.toFixed(3)}`);
  assert.ok(ic < BEST_ALONE + CHANCE, `${ic}`);
});
