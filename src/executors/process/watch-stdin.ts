/**
 * A thread of a job process: reads stdin, posts its lines to the main thread, and kills the process and its engine 2 s after stdin ends,
 * even while the main thread is busy. The service holds the other end, which closes when the service dies.
 */
import { Socket } from "node:net";
import { parentPort } from "node:worker_threads";
import { onLines } from "../../engine/lines.ts";
import { MAX_MESSAGE_LENGTH } from "./messages.ts";
import { killGroup } from "./process-group.ts";

const GRACE_MILLISECONDS = 2_000;

// The main thread would feed the stdin of a thread.
const stdin = new Socket({ fd: 0, readable: true, writable: false });
// Longer than any order of the service. The process ends, and the service notices.
const onLonger = () => killGroup(process.pid);
onLines(stdin, (line) => parentPort!.postMessage(line), { longest: MAX_MESSAGE_LENGTH, onLonger });
stdin.once("error", () => stdin.destroy());
stdin.once("close", () => {
  parentPort!.postMessage(undefined);
  setTimeout(() => killGroup(process.pid), GRACE_MILLISECONDS);
});
