import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { findEnvironment } from "../../src/engine/environment/environment.ts";
import type { Table } from "../table.ts";

/** Prints the size and power of the verdict's tests. About three minutes on one core; does not depend on the machine. */
export function benchMeanTests(): readonly Table[] {
  const script = fileURLToPath(new URL("./mean_tests.py", import.meta.url));
  const env = { ...process.env, OMP_NUM_THREADS: "1", OPENBLAS_NUM_THREADS: "1" };
  execFileSync(findEnvironment().python, [script], { stdio: "inherit", env });
  return [];
}
