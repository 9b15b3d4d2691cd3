/** A program to be watched: its main thread says "blocked" and never does anything else; a thread watches stdin. */
import { writeSync } from "node:fs";
import { Worker } from "node:worker_threads";

const watch = new Worker(new URL("./watch-stdin.ts", import.meta.url));
watch.once("message", () => {
  writeSync(1, "blocked\n");
  for (;;);
});
