/**
 * `npm run bench [-- NAME …]` measures everything except `skill`, which needs options, or only what is named. Ratios are measured side by
 * side in one run.
 */
import { cpus, totalmem } from "node:os";
import { table } from "../src/cli/terminal/output-table.ts";
import { MucastError } from "../src/contract/errors/errors.ts";
import { benchAudit } from "./audit/audit.ts";
import { BenchError } from "./bench-error.ts";
import { benchChoice } from "./choice/choice.ts";
import { benchCluster } from "./cluster/cluster.ts";
import { benchIntervals } from "./intervals/intervals.ts";
import { benchPooledFits } from "./jobs/pooled-fits.ts";
import { benchPooledMemory } from "./jobs/pooled-memory.ts";
import { benchProcessorSeconds } from "./jobs/processor-seconds.ts";
import { benchRefits } from "./jobs/refits.ts";
import { benchSteps } from "./jobs/steps.ts";
import { benchWholeJob } from "./jobs/whole-job.ts";
import { benchEnsembles } from "./networks/ensembles.ts";
import { benchNetworkMemory } from "./networks/network-memory.ts";
import { benchNetworks } from "./networks/networks.ts";
import { benchSeeds } from "./networks/seed-table.ts";
import { benchPlanted } from "./planted/planted-table.ts";
import { benchReading } from "./reading/reading.ts";
import { bandTable } from "./report/band-sizes.ts";
import { benchReport } from "./report/report.ts";
import { benchService } from "./service/service.ts";
import { benchSkill } from "./skill/skill.ts";
import type { Table } from "./table.ts";
import { benchMeanTests } from "./warnings/mean-tests.ts";
import { panelNoiseTable } from "./warnings/panel-noise.ts";
import { benchNoSkill, benchWarnings } from "./warnings/warnings.ts";

const BENCHES: Record<string, () => Promise<readonly Table[]>> = {
  audit: benchAudit,
  reading: benchReading,
  report: benchReport,
  bands: async () => [bandTable()],
  steps: benchSteps,
  "small-fits": async () => [await benchProcessorSeconds()],
  jobs: async () => [await benchWholeJob()],
  pooled: async () => [await benchPooledFits()],
  refits: async () => [await benchRefits()],
  "pooled-memory": async () => [await benchPooledMemory()],
  dl: benchNetworks,
  "dl-memory": benchNetworkMemory,
  ensembles: async () => [await benchEnsembles()],
  planted: benchPlanted,
  seeds: benchSeeds,
  intervals: benchIntervals,
  warnings: async () => [...(await benchWarnings()), ...benchNoSkill()],
  "no-skill": async () => benchNoSkill(),
  "mean-tests": async () => benchMeanTests(),
  "panel-noise": async () => [await panelNoiseTable()],
  service: benchService,
  choice: benchChoice,
  cluster: benchCluster,
};

const [cpu] = cpus();
const memory = Math.round(totalmem() / 2 ** 30);
process.stdout.write(
  `${new Date().toISOString().slice(0, 10)}, ${cpu?.model}, ${cpus().length} cores, ${memory} GiB, node ${process.version}\n`,
);
try {
  await runBenches(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof BenchError || error instanceof MucastError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

async function runBenches(asked: readonly string[]): Promise<void> {
  if (asked[0] === "skill") return print(await benchSkill(asked.slice(1)));
  for (const name of asked.length > 0 ? asked : Object.keys(BENCHES)) print(await benchNamed(name));
}

function benchNamed(name: string): Promise<readonly Table[]> {
  const bench = BENCHES[name];
  if (bench !== undefined) return bench();
  throw new BenchError(`no bench is called ${name}; there are skill, ${Object.keys(BENCHES).join(", ")}`);
}

function print(tables: readonly Table[]): void {
  for (const { title, header, rows } of tables)
    process.stdout.write(`\n${title}\n\n${table(header, rows)}\n`);
}
