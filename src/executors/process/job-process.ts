/**
 * The process of jobs, one after the other: `node job-process.ts [--warm]`, started by the service. It reads its orders
 * from stdin and writes messages to descriptor 3; the service logs what it prints on stdout or stderr.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { EventPipe } from "./event-pipe.ts";
import { JobRuns } from "./job-runs.ts";
import { MESSAGE_DESCRIPTOR, type ToJob, WARM_FLAG } from "./messages.ts";
import { OOM_SCORES, offerToOomKiller } from "./oom-score.ts";

// The service decides when a job ends, even if a whole group gets a signal.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

// Runs before anything starts that would keep the score of the service.
offerToOomKiller(OOM_SCORES.job);

// If the service is gone, so are the readers of stdout and stderr; the end of stdin ends this process then.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

const pipe = new EventPipe(MESSAGE_DESCRIPTOR);
const runs = new JobRuns((message) => pipe.send(message), process.argv.includes(WARM_FLAG));

const here = import.meta.url;
const watch = new Worker(new URL(`./watch-stdin${extname(here)}`, here));
watch.on("error", (error) => {
  throw error;
});
watch.on("message", (line: string | undefined) => {
  if (line === undefined) runs.stopWithService();
  else runs.receive(JSON.parse(line) as ToJob);
});

await runs.ended;
await pipe.close();
process.exit(0);
