/** A program for tests to kill: a service with one job. Its argument is JSON: a sandbox, an order, and whether a job process waits. */
import { RecordingListener } from "../executor-suite.testing.ts";
import { executorIn } from "./jobs.testing.ts";

const { sandbox, order, warm } = JSON.parse(process.argv[2]!);
const executor = executorIn(sandbox, { warm });
if (order) await executor.start(order, new RecordingListener());
