/** Whether the service grows while it works: its resident memory over a thousand finished operations. */
import { readFileSync } from "node:fs";
import { Api } from "../../test/service/api.testing.ts";
import { payload } from "../../test/service/inputs.testing.ts";
import type { Serving } from "../../test/service/service.testing.ts";

const STEP = 200;
const STEPS = 5;
/** As many as wait for their answer at the same time. */
const AT_ONCE = 4;

export const MEMORY_HEADER = ["database", "at the start", ...steps().map(String), "last / first step"];

/** Memory of the service alone, in MiB, at the start and after each 200 operations; its job processes come and go. */
export async function measureMemory(name: string, serving: Serving): Promise<string[]> {
  const api = new Api(serving.url);
  const seen = [residentMiB(serving.pid)];
  for (const _ of steps()) {
    let left = STEP;
    const caller = async () => {
      while (left-- > 0) {
        const { status } = await api.submit(payload(serving.url, "small"), { prefer: "wait=60" });
        if (status !== "Succeeded") throw new Error(`an operation is ${status}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, caller));
    seen.push(residentMiB(serving.pid));
  }
  const growth = seen.at(-1)! / seen[1]!;
  return [name, ...seen.map((mebibytes) => mebibytes.toFixed(0)), growth.toFixed(2)];
}

function steps(): number[] {
  return Array.from({ length: STEPS }, (_, i) => (i + 1) * STEP);
}

function residentMiB(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1_024;
}
