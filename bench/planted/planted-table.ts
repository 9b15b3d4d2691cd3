/** How well run_dl_job finds planted signals with all defaults, beside the required minimum, and how well each loss finds one. */
import { parseArgs } from "node:util";
import { LOSS_TYPES } from "../../src/contract/config/networks.ts";
import type { Table } from "../bench.ts";
import { withEngine } from "../networks/shared-engine.ts";
import { isJoint, MINIMA, OPTIONS } from "./planted-minima.ts";
import { mapInPairs, type PlantedRun, plantedRun } from "./planted-runs.ts";
import { SIGNALS, type SignalName } from "./planted-signals.ts";

const NAMES = Object.keys(SIGNALS) as SignalName[];

/**
 * `--seeds` is 10, two minutes each on two cores, and `--loss-seeds` is 3, half a minute for each loss; 0 omits the table. Each seed
 * gives another market and training.
 */
export async function benchPlanted(options: readonly string[]): Promise<readonly Table[]> {
  const count = (value: string) => ({ type: "string", default: value }) as const;
  const { values } = parseArgs({
    args: [...options],
    options: { seeds: count("10"), "loss-seeds": count("3") },
  });
  const [seeds, lossSeeds] = [Number(values.seeds), Number(values["loss-seeds"])];
  return [
    ...(seeds > 0 ? [await signalTable(seeds)] : []),
    ...(lossSeeds > 0 ? [await lossTable(lossSeeds)] : []),
  ];
}

async function signalTable(seeds: number): Promise<Table> {
  const runs = OPTIONS.flatMap((option) =>
    (isJoint(option) ? NAMES.map((name) => [name]) : [NAMES]).flatMap((signals) =>
      seedsUpTo(seeds).map((seed) => ({ option, signals, seed })),
    ),
  );
  const found = await findIcs(runs);
  return {
    title: `mean IC of ${seeds} seeds (smallest to largest), then what every seed should reach`,
    header: ["", ...NAMES.map((name) => `${name} (best ${SIGNALS[name].bestIc.toFixed(3)})`)],
    rows: OPTIONS.map((option) => [
      option,
      ...NAMES.map((signal) => {
        const required = MINIMA[option]![signal];
        const bound =
          required === undefined ? "" : `, ${signal === "null" ? "abs <" : ">="} ${required.toFixed(2)}`;
        return `${spread(found.get(`${option} ${signal}`)!)}${bound}`;
      }),
    ]),
  };
}

async function lossTable(seeds: number): Promise<Table> {
  const signals = ["linear"] as const;
  const runs = OPTIONS.flatMap((option) =>
    LOSS_TYPES.flatMap((loss) => seedsUpTo(seeds).map((seed) => ({ option, signals, seed, loss }))),
  );
  const found = await findIcs(runs);
  return {
    title: `linear, every loss: mean IC of ${seeds} seeds (smallest to largest)`,
    header: ["", ...LOSS_TYPES],
    rows: OPTIONS.map((option) => [
      option,
      ...LOSS_TYPES.map((loss) => spread(found.get(`${option} linear ${loss}`)!)),
    ]),
  };
}

/** @returns the ICs of all seeds, by option, signal and loss. */
async function findIcs(runs: readonly PlantedRun[]): Promise<Map<string, number[]>> {
  const ics = await withEngine(2, ["torch", "sklearn"], (train) =>
    mapInPairs(runs, async (run, i) => {
      const found = await plantedRun(train, run);
      const shown = [...found].map(([signal, { ic }]) => `${signal} ${ic.toFixed(3)}`).join(", ");
      process.stderr.write(
        `${i + 1} of ${runs.length}: ${run.option} ${run.loss ?? ""} seed ${run.seed}: ${shown}\n`,
      );
      return [...found].map(([signal, { ic }]) => ({
        key: [run.option, signal, ...(run.loss === undefined ? [] : [run.loss])].join(" "),
        ic,
      }));
    }),
  );
  const byKey = Map.groupBy(ics.flat(), ({ key }) => key);
  return new Map([...byKey].map(([key, found]) => [key, found.map(({ ic }) => ic)]));
}

function spread(ics: readonly number[]): string {
  const mean = ics.reduce((sum, ic) => sum + ic, 0) / ics.length;
  if (ics.length === 1) return mean.toFixed(3);
  return `${mean.toFixed(3)} (${Math.min(...ics).toFixed(2)} to ${Math.max(...ics).toFixed(2)})`;
}

function seedsUpTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}
