/** A program for tests: its main thread prints "blocked" and then blocks for good, while a thread watches stdin. */
import { writeSync } from "node:fs";
import { Worker } from "node:worker_threads";

const watch = new Worker(new URL("./watch-stdin.ts", import.meta.url));
watch.once("message", () => {
  writeSync(1, "blocked\n");
  for (;;);
});
