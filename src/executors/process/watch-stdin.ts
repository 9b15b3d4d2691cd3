/**
 * A thread of a job process: reads stdin, hands on its lines, and kills the process and its engine a little after
 * stdin has ended, whatever the main thread is busy with. The service holds the other end, so that is when it dies.
 */
import { Socket } from "node:net";
import { parentPort } from "node:worker_threads";
import { onLines } from "../../engine/lines.ts";
import { LONGEST_MESSAGE } from "./messages.ts";
import { killGroup } from "./process-group.ts";

const GRACE_MILLISECONDS = 2_000;

// stdin of a thread would be fed by the main thread.
const stdin = new Socket({ fd: 0, readable: true, writable: false });
// An order that is none of the service's: the process ends, and its end tells the service.
const onLonger = () => killGroup(process.pid);
onLines(stdin, (line) => parentPort!.postMessage(line), { longest: LONGEST_MESSAGE, onLonger });
stdin.once("error", () => stdin.destroy());
stdin.once("close", () => {
  parentPort!.postMessage(undefined);
  setTimeout(() => killGroup(process.pid), GRACE_MILLISECONDS);
});
