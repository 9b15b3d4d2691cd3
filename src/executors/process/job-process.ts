/**
 * The process of jobs, one after the other: `node job-process.ts [--warm]`, started by the service. It hears its orders
 * on stdin and tells on descriptor 3; what is printed on stdout or stderr is logged by the service.
 */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { JobRuns } from "./job-runs.ts";
import { type FromJob, TELLING, type ToJob, WARM_FLAG } from "./messages.ts";
import { offerToOomKiller } from "./oom-score.ts";
import { TellingPipe } from "./telling-pipe.ts";

// The service decides when a job ends, also where a whole group is signalled.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

// Before anything is started that would keep the score of the service.
offerToOomKiller();

// Where the service is gone, so are the readers of what is printed; stdin tells that.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);

const pipe = new TellingPipe<FromJob>(TELLING);
const runs = new JobRuns((message) => pipe.tell(message), process.argv.includes(WARM_FLAG));

const here = import.meta.url;
const watch = new Worker(new URL(`./watch-stdin${extname(here)}`, here));
watch.on("error", (error) => {
  throw error;
});
watch.on("message", (line: string | undefined) => {
  if (line === undefined) runs.serviceIsGone();
  else runs.hear(JSON.parse(line) as ToJob);
});

await runs.ended;
await pipe.flushed();
process.exit(0);
