/**
 * What a Ray cluster costs compared with this machine's own pool, on nodes in network namespaces of this machine. Takes about 10 minutes.
 * docs/cluster.md has the figures and what they say about larger clusters.
 */
import type { Table } from "../bench.ts";
import { benchFaults } from "./faults.ts";
import { benchOverhead } from "./overhead.ts";
import { benchTransfer } from "./transfer.ts";

export async function benchCluster(): Promise<readonly Table[]> {
  return [await benchOverhead(), await benchTransfer(), await benchFaults()];
}
