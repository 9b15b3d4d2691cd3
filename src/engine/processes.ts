import { setTimeout as sleep } from "node:timers/promises";
import { isRunning } from "../contract/process-stat.ts";

const POLL_MILLISECONDS = 10;
const PATIENCE_MILLISECONDS = 5_000;

/** Waits until none of these processes runs any more; they are being killed, and are not our children. */
export async function untilGone(pids: readonly number[]): Promise<void> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS;
  while (pids.some(isRunning) && performance.now() < deadline) await sleep(POLL_MILLISECONDS);
}
