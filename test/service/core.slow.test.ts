/**
 * What a service promises while it runs: about operations on both databases (in `npm test` on SQLite), and about everything that is the
 * same on both, where the suites share a service that runs one job at a time.
 */
import { after, before, describe } from "node:test";
import { WHOLE_MATRIX } from "../whole-matrix.testing.ts";
import { cancelling } from "./cancelling.testing.ts";
import { typedClient } from "./client.testing.ts";
import { type Core, startCore } from "./core.testing.ts";
import { DATABASES, SQLITE } from "./databases.testing.ts";
import { killedJobs } from "./killed-jobs.testing.ts";
import { limits } from "./limits.testing.ts";
import { quickStart } from "./quick-start.testing.ts";
import { endServices } from "./service.testing.ts";
import { storageFaults } from "./storage-faults.testing.ts";
import { submitting, trainingNetworks } from "./submitting.testing.ts";
import { verdicts } from "./verdicts.testing.ts";

const OF_OPERATIONS = [submitting, cancelling];

const SUITES = {
  SQLite: [
    ...OF_OPERATIONS,
    // In `npm test`, who-may.slow.test.ts starts a service and follows its quick start, with keys.
    ...(WHOLE_MATRIX ? [trainingNetworks, quickStart] : []),
    typedClient,
    storageFaults,
    limits,
    verdicts,
    killedJobs,
  ],
  PostgreSQL: OF_OPERATIONS,
};

for (const database of WHOLE_MATRIX ? DATABASES : [SQLITE]) {
  describe(`on ${database.name}`, { timeout: 900_000 }, () => {
    let core: Core;
    before(async () => {
      await database.begin();
      core = await startCore(database, { jobs: 1, limited: true });
    });
    after(async () => {
      await endServices();
      await core?.storage.stop();
      await database.end();
    });
    for (const suite of SUITES[database.name]) suite(() => core);
  });
}
