/** `npm run bench -- NAME [OPTION ...]` prints the tables of one bench. Ratios compare figures measured side by side in one run. */
import { cpus, totalmem } from "node:os";
import { table } from "../src/cli/terminal/output-table.ts";
import { MucastError } from "../src/contract/errors/errors.ts";
import { benchAudit } from "./audit/audit.ts";
import { BenchError, type Table } from "./bench.ts";
import { benchCluster } from "./cluster/cluster.ts";
import { benchIntervals } from "./intervals/intervals.ts";
import { benchRefits } from "./jobs/refits.ts";
import { benchWholeJob } from "./jobs/whole-job.ts";
import { benchNetworks } from "./networks/networks.ts";
import { benchPlanted } from "./planted/planted-table.ts";
import { benchReading } from "./reading/reading.ts";
import { benchService } from "./service/service.ts";
import { benchSkill } from "./skill/skill.ts";

const BENCHES: Readonly<Record<string, (options: readonly string[]) => Promise<readonly Table[]>>> = {
  audit: benchAudit,
  cluster: benchCluster,
  dl: benchNetworks,
  intervals: benchIntervals,
  jobs: benchWholeJob,
  planted: benchPlanted,
  reading: benchReading,
  refits: benchRefits,
  service: benchService,
  skill: benchSkill,
};

const memory = Math.round(totalmem() / 2 ** 30);
process.stdout.write(
  `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model}, ${cpus().length} cores, ${memory} GiB, node ${process.version}\n`,
);
const [name, ...options] = process.argv.slice(2);
try {
  const bench = BENCHES[name ?? ""];
  if (bench === undefined) throw new BenchError(`name a bench: ${Object.keys(BENCHES).join(", ")}`);
  for (const { title, header, rows } of await bench(options))
    process.stdout.write(`\n${title}\n\n${table(header, rows)}\n`);
} catch (error) {
  if (!(error instanceof BenchError || error instanceof MucastError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
