/**
 * How well run_dl_job finds planted signals with all defaults, compared with the required minimum, and how well each loss and an
 * ensemble find them. Each seed gives another market and training. Usage: node bench/planted/planted-table.ts [--seeds 10]
 * [--loss-seeds 3] [--ensemble-seeds 3], where 0 omits the table.
 */
import { parseArgs } from "node:util";
import { table } from "../../src/cli/terminal/output-table.ts";
import { LOSS_TYPES } from "../../src/contract/config/networks/networks.ts";
import { type Train, withEngine } from "../networks/shared-engine.ts";
import type { Table } from "../table.ts";
import { isJoint, MINIMA, OPTIONS } from "./planted-minima.ts";
import { mapInPairs, type PlantedRun, plantedRun } from "./planted-runs.ts";
import { SIGNALS, type SignalName } from "./planted-signals.ts";

const NAMES = Object.keys(SIGNALS) as SignalName[];

/** Takes about two minutes per seed on two cores, half a minute per loss and seed, and one and a half per seed of ensembles. */
export async function benchPlanted(seeds = 10, lossSeeds = 3, ensembleSeeds = 3): Promise<readonly Table[]> {
  return [
    ...(seeds > 0 ? [await signalTable(seeds)] : []),
    ...(lossSeeds > 0 ? [await lossTable(lossSeeds)] : []),
    ...(ensembleSeeds > 0 ? [await ensembleTable(ensembleSeeds)] : []),
  ];
}

async function signalTable(seeds: number): Promise<Table> {
  const runs = OPTIONS.flatMap((option) =>
    (isJoint(option) ? NAMES.map((name) => [name]) : [NAMES]).flatMap((signals) =>
      seedsUpTo(seeds).map((seed) => ({ option, signals, seed })),
    ),
  );
  const found = await allIcs(runs);
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
  const found = await allIcs(runs);
  return {
    title: `linear, every loss: mean IC of ${seeds} seeds (smallest to largest)`,
    header: ["", ...LOSS_TYPES],
    rows: OPTIONS.map((option) => [
      option,
      ...LOSS_TYPES.map((loss) => spread(found.get(`${option} linear ${loss}`)!)),
    ]),
  };
}

/** The options that train fastest. */
const ENSEMBLE_OPTIONS = ["mlp", "cnn"];
const ENSEMBLES = [1, 3, 5];

async function ensembleTable(seeds: number): Promise<Table> {
  const signals = ["linear", "memory"] as const;
  const runs = ENSEMBLE_OPTIONS.flatMap((option) =>
    ENSEMBLES.flatMap((ensemble) => seedsUpTo(seeds).map((seed) => ({ option, signals, seed, ensemble }))),
  );
  const found = await allIcs(runs);
  return {
    title: `ensembles: mean IC of ${seeds} seeds (smallest to largest)`,
    header: ["", ...ENSEMBLES.map((ensemble) => `ensemble of ${ensemble}`)],
    rows: ENSEMBLE_OPTIONS.flatMap((option) =>
      signals.map((signal) => [
        `${option}, ${signal}`,
        ...ENSEMBLES.map((ensemble) => spread(found.get(`${option} ${signal} ${ensemble}`)!)),
      ]),
    ),
  };
}

/** ICs of all seeds, by option, signal, loss and ensemble. */
async function allIcs(runs: readonly PlantedRun[]): Promise<Map<string, number[]>> {
  const found = new Map<string, number[]>();
  const inTurn = (train: Train) => async (run: PlantedRun, i: number) => {
    const icOf = await plantedRun(train, run);
    const found = [...icOf].map(([signal, { ic }]) => `${signal} ${ic.toFixed(3)}`).join(", ");
    const name = [run.option, run.loss, run.ensemble && `ensemble of ${run.ensemble}`, `seed ${run.seed}`]
      .filter((part) => part !== undefined)
      .join(", ");
    process.stderr.write(`${i + 1} of ${runs.length}: ${name}: ${found}\n`);
    return icOf;
  };
  const ics = await withEngine(2, ["torch", "sklearn"], (train) => mapInPairs(runs, inTurn(train)));
  for (const [i, { option, loss, ensemble }] of runs.entries()) {
    for (const [signal, { ic }] of ics[i]!) {
      const key = [option, signal, loss, ensemble].filter((part) => part !== undefined).join(" ");
      found.set(key, [...(found.get(key) ?? []), ic]);
    }
  }
  return found;
}

function spread(ics: readonly number[]): string {
  const mean = ics.reduce((sum, ic) => sum + ic, 0) / ics.length;
  if (ics.length === 1) return mean.toFixed(3);
  return `${mean.toFixed(3)} (${Math.min(...ics).toFixed(2)} to ${Math.max(...ics).toFixed(2)})`;
}

function seedsUpTo(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i + 1);
}

if (import.meta.main) {
  const count = { type: "string" } as const;
  const { values } = parseArgs({ options: { seeds: count, "loss-seeds": count, "ensemble-seeds": count } });
  const tables = await benchPlanted(
    Number(values.seeds ?? 10),
    Number(values["loss-seeds"] ?? 3),
    Number(values["ensemble-seeds"] ?? 3),
  );
  for (const { title, header, rows } of tables)
    process.stdout.write(`${title}\n\n${table(header, rows)}\n\n`);
}
