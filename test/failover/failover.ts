/**
 * `npm run failover [-- --jobs N]`: small jobs on three services that share a PostgreSQL and an Azurite, all of them real. After
 * a fifth of the jobs has ended, one service is killed (kill -9) and another one is added in its place, and after two thirds one
 * is drained (SIGTERM). In the end, no job may be lost or run twice, and no service may have run more than half of them.
 */
import { parseArgs } from "node:util";
import { table } from "../../src/cli/terminal/output-table.ts";
import { unconfined } from "../deployment/confined.testing.ts";
import { startAzurite } from "../servers/azurite.testing.ts";
import { startPostgres } from "../servers/postgres.testing.ts";
import { Api } from "../service/api.testing.ts";
import { putInputs } from "../service/inputs.testing.ts";
import { endServices } from "../service/service.testing.ts";
import { Fleet } from "./fleet.ts";
import { faultsOf, readOutcome } from "./outcome.ts";
import { submitAll } from "./submit-all.ts";

const DEFAULT_JOBS = "300";

/** @returns whether every promise was kept. */
export async function failover(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: { jobs: { type: "string", default: DEFAULT_JOBS } },
  });
  const jobs = Number(values.jobs);
  if (unconfined)
    process.stderr.write(`${unconfined}; the services are told apart by their processes alone\n`);
  const [postgres, azurite] = await Promise.all([startPostgres(), startAzurite()]);
  try {
    const container = await azurite.newContainer("blobs");
    const fleet = new Fleet(
      {
        DATABASE_URL: await postgres.newDatabase(),
        BLOB_URL: azurite.containerUrl("blobs"),
        MUCAST_PRIVATE_ORIGINS: azurite.origin,
        AZURE_STORAGE_CONNECTION_STRING: azurite.connectionString,
      },
      jobs,
    );
    const [first, second] = await fleet.add(3);
    await putInputs(new Api(first!.url), "small");
    const began = performance.now();
    const ids = await submitAll(fleet.urls, azurite.containerUrl("blobs"), jobs);
    const accepted = performance.now();
    await fleet.untilEnded(jobs / 5);
    await fleet.kill(first!);
    await fleet.add(1);
    await fleet.untilEnded((2 * jobs) / 3);
    await fleet.drain(second!);
    await fleet.untilEnded(jobs);
    const ended = performance.now();
    const outcome = await readOutcome(fleet, ids, container);
    const faults = faultsOf(outcome, ids);
    process.stdout.write(`${table(fleet.header, await fleet.rows())}\n\n`);
    process.stdout.write(
      `${jobs} jobs accepted in ${seconds(accepted - began)} s and ended after ${seconds(ended - began)} s; ` +
        `${outcome.outputs.length} outputs, ${outcome.again.length} of a lost attempt that was made again` +
        `${outcome.againAfter.map((after) => ` after ${after.toFixed(0)} s`).join()}\n`,
    );
    for (const fault of faults) process.stdout.write(`FAULT: ${fault}\n`);
    return faults.length === 0;
  } finally {
    await endServices();
    await azurite.stop();
    await postgres.stop();
  }
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1_000).toFixed(1);
}
