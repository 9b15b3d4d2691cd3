/**
 * A service is stopped as container engines stop it, by SIGTERM and SIGKILL soon after, repeatedly during one job. SIGKILL comes before the
 * service has handled SIGTERM, while it waits for its job, or while it ends the job.
 */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { release } from "./core.testing.ts";
import { DATABASES } from "./databases.testing.ts";
import { eventuallyTrue } from "./eventually.testing.ts";
import { Restarted } from "./restarted.testing.ts";
import { endServices, untilNoneRuns } from "./service.testing.ts";

interface Stop {
  readonly when: string;
  readonly drainSeconds: number;
  /** Between SIGTERM and SIGKILL. */
  wait(service: Restarted): Promise<void>;
}

async function drains({ serving }: Restarted): Promise<void> {
  await eventuallyTrue("its drain is recorded", async () =>
    serving.logs().includes('"msg":"recorded the drain"'),
  );
}

const AT_ONCE: Stop = { when: "at once", drainSeconds: 600, wait: async () => undefined };
const IN_DRAIN: Stop = { when: "while it waits for its job", drainSeconds: 600, wait: drains };
const AT_RELEASE: Stop = {
  when: "while it ends a job process that does not answer",
  drainSeconds: 0,
  wait: drains,
};

/** SIGTERM and SIGKILL, at the times that the stop names. Job processes are stopped first, so that none ends before its service. */
async function stop(service: Restarted, { wait }: Stop): Promise<void> {
  const { serving } = service;
  const seen = serving.processes();
  const jobs = seen.filter(({ parent }) => parent === serving.pid);
  for (const { pid } of jobs) process.kill(pid, "SIGSTOP");
  serving.signal("SIGTERM");
  await wait(service);
  await serving.kill9();
  for (const { pid } of jobs) process.kill(pid, "SIGCONT");
  await untilNoneRuns(seen);
}

for (const database of DATABASES) {
  describe(`SIGTERM and then SIGKILL on ${database.name}`, { timeout: 600_000 }, () => {
    let service: Restarted | undefined;
    after(async () => {
      await endServices();
      await service?.storage.stop();
      await database.end();
    });

    test("five times at once and five times during the drain of one job: it succeeds, once", async () => {
      const stops = [
        AT_ONCE,
        IN_DRAIN,
        AT_RELEASE,
        IN_DRAIN,
        AT_ONCE,
        AT_RELEASE,
        AT_ONCE,
        IN_DRAIN,
        AT_ONCE,
        AT_ONCE,
      ];
      const { drainSeconds } = stops[0]!;
      const held = { MUCAST_DRAIN_SECONDS: String(drainSeconds) };
      service = await Restarted.start(database, "held", held);
      const id = await service.heldRunning("stopped");
      for (const [before, one] of stops.entries()) {
        await service.isRead("stopped", before + 1);
        await stop(service, one);
        const next = stops[before + 1];
        if (next) await service.start(1, "held", { MUCAST_DRAIN_SECONDS: String(next.drainSeconds) });
      }
      release(service.storage, "stopped");
      await service.start(1);
      await service.succeeded(id);
      // A service that is killed before it has stored the handle of its attempt leaves no event of that attempt.
      const attempts = await service.attemptsOf(id);
      assert.deepEqual(
        attempts,
        [...new Set(attempts)].sort((a, b) => a - b),
      );
      assert.equal(attempts.at(-1), stops.length + 1);
    });
  });
}
