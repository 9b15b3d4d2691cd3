/**
 * What a Ray cluster costs compared with this machine's own pool, on nodes in network namespaces of this machine: `npm run bench -- cluster`.
 * docs/cluster.md has the figures and what they say about larger clusters.
 */
import type { Table } from "../table.ts";
import { benchFaults } from "./faults.ts";
import { benchOverhead } from "./overhead.ts";
import { benchScaling } from "./scaling.ts";
import { benchTransfer } from "./transfer.ts";

/** Each part has its own cluster, so that one that fails does not affect the figures of the others. */
const PARTS = {
  overhead: benchOverhead,
  transfer: benchTransfer,
  faults: benchFaults,
  scaling: benchScaling,
};
/** Minutes of all parts on a quiet machine: about 12. */
const MAX_MINUTES = 30;

export async function benchCluster(): Promise<readonly Table[]> {
  const tables: Table[] = [];
  const give = setTimeout(() => giveUp(tables), MAX_MINUTES * 60_000);
  for (const [name, bench] of Object.entries(PARTS)) {
    const started = performance.now();
    try {
      tables.push(await bench());
    } catch (error) {
      tables.push({ title: `${name} failed`, header: ["why"], rows: [[String(error)]] });
    }
    const seconds = ((performance.now() - started) / 1_000).toFixed(0);
    process.stderr.write(`${name}: ${seconds} s\n`);
  }
  clearTimeout(give);
  return tables;
}

/** The clusters end with this process. */
function giveUp(tables: readonly Table[]): never {
  process.stderr.write(`no end within ${MAX_MINUTES} minutes; so far: ${JSON.stringify(tables)}\n`);
  process.exit(1);
}
