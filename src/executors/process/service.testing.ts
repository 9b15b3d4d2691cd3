/**
 * A program for tests to kill: a service with one job. Its argument is JSON: a sandbox, an order, whether a job process waits,
 * and the policy of the order's inputs. It prints the job's stages, one per line.
 */
import { executorIn } from "./jobs.testing.ts";

const { sandbox, order, warm, policy } = JSON.parse(process.argv[2]!);
const executor = executorIn(sandbox, { warm, policy });
if (order) {
  await executor.start(order, {
    onEvents: ({ progress }) => void process.stdout.write(`${progress?.stage}\n`),
    onTimings: () => undefined,
  });
  process.stdout.write("started\n");
}
