/**
 * What a Ray cluster costs beside this machine's own pool, on nodes in namespaces of this machine: `npm run bench -- cluster`.
 * docs/cluster.md has the figures and what they say of larger clusters.
 */
import type { Table } from "../table.ts";
import { benchFaults } from "./faults.ts";
import { benchOverhead } from "./overhead.ts";
import { benchScaling } from "./scaling.ts";
import { benchTransfer } from "./transfer.ts";

export async function benchCluster(): Promise<readonly Table[]> {
  return [await benchOverhead(), await benchScaling(), await benchFaults(), await benchTransfer()];
}
