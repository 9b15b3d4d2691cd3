/**
 * A program for tests to kill: a service with one request process. Its argument is the order as JSON; it prints a line once that
 * has started.
 */
import { childEnvironment } from "../../processes/child-environment.ts";
import { runProcess } from "./request-processes.ts";

const running = runProcess(
  JSON.parse(process.argv[2]!),
  { env: childEnvironment(process.env, {}), memoryBytes: 2 ** 30, seconds: 3_600, answerBytes: 2 ** 20 },
  new AbortController().signal,
);
process.stdout.write("begun\n");
await running;
