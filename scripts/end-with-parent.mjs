// Loaded by scripts/run.mjs and scripts/setup.mjs before the programs that they start: asks each program to end once its starter
// is gone, even if the starter was killed.
import { isMainThread } from "node:worker_threads";
import { whenParentEnds } from "./parent.mjs";

if (isMainThread) whenParentEnds(() => process.kill(process.pid, "SIGTERM"));
