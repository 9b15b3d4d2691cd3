/**
 * A thread of a child process: kills the process and its group when its stdin ends, even while the main thread computes. The parent holds
 * the other end of stdin, which closes when the parent dies.
 */
import { Socket } from "node:net";
import { killGroup } from "./process-group.ts";

// The main thread would feed the stdin of a thread.
const stdin = new Socket({ fd: 0, readable: true, writable: false });
stdin.resume();
stdin.once("error", () => stdin.destroy());
stdin.once("close", () => killGroup(process.pid));
