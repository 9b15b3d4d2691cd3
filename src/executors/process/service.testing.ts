/**
 * A program to be killed: a service with one job. Its argument is JSON: a sandbox and an order, and whether it waits
 * for a job process to be ready; it prints its job's stages, one a line.
 */
import { executorIn } from "./jobs.testing.ts";

const { sandbox, order, warm } = JSON.parse(process.argv[2]!);
const executor = executorIn(sandbox, { warm });
await executor.ready();
process.stdout.write("ready\n");
if (order) {
  await executor.start(order, {
    onEvents: ({ progress }) => void process.stdout.write(`${progress?.stage}\n`),
    onTimings: () => undefined,
  });
  process.stdout.write("started\n");
}
