/**
 * The process of jobs, one after the other: `node job-process.ts [--warm]`, started by the service. It reads its orders
 * from stdin and writes messages to descriptor 3; the service logs what it prints on stdout or stderr.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import { EventPipe } from "./event-pipe.ts";
import { JobRuns } from "./job-runs.ts";
import { MESSAGE_DESCRIPTOR, type ToJob, WARM_FLAG } from "./messages.ts";

// The service decides when a job ends, also where a whole group is signalled.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => undefined);

// Before anything is started that would keep the score of the service.
offerToOomKiller();

// Where the service is gone, so are the readers of stdout and stderr; the end of stdin ends this process then.
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

/**
 * Makes the kernel end this process, and what it starts from now on, before its service where the machine's memory runs
 * out: then the service is there to report that the job failed. Does nothing where there is no such file (macOS).
 */
function offerToOomKiller(): void {
  const file = "/proc/self/oom_score_adj";
  const [more, most] = [500, 1_000];
  try {
    const own = Number(readFileSync(file, "latin1"));
    writeFileSync(file, String(Math.min(most, own + more)));
  } catch {
    // A system that has no such scores decides by its own.
  }
}
