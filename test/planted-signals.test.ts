import assert from "node:assert/strict";
import { before, test } from "node:test";
import { jobsOf, MINIMA, OPTIONS } from "../bench/planted-minima.ts";
import { plantedIcs, twoAtATime } from "../bench/planted-runs.ts";
import type { SignalName } from "../bench/planted-signals.ts";
import { withEngine } from "../bench/shared-engine.ts";

const SEED = 1;

/** IC by option and signal. */
const reached = new Map<string, Map<SignalName, number>>(OPTIONS.map((option) => [option, new Map()]));

before(async () => {
  const jobs = OPTIONS.flatMap((option) => jobsOf(option).map((signals) => ({ option, signals })));
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
