/** Engine processes that die at a certain ticker. */
import { MucastError } from "../../../src/contract/errors/errors.ts";
import type { EnginePool } from "../../../src/engine/pool/pool.ts";
import type { OpenEngine } from "../../../src/jobs/shared/job.ts";
import { openSharedEngine } from "../jobs/shared-engines.ts";

/**
 * An engine, with a fake in front of it in one job: each task with one of these labels ends as if its worker had been killed twice.
 * @param job counted from 1, among the jobs that open it.
 * @param labels tickers; for an ensemble, `TICKER member N`.
 */
export function engineThatCrashes(
  job: number,
  labels: readonly string[],
  openEngine: OpenEngine = openSharedEngine,
): OpenEngine {
  let jobs = 0;
  return (need) => {
    const engine = openEngine(need);
    if (++jobs !== job) return engine;
    const run: EnginePool["run"] = (task, options) => {
      const ticker = labels.find((label) => label === task.label);
      if (ticker === undefined) return engine.pool.run(task, options);
      const message = `${ticker}: the worker died 2 times: it was ended by SIGKILL; it was ended by SIGKILL`;
      return Promise.reject(new MucastError("engine_crashed", message, { ticker }));
    };
    const get = (pool: EnginePool, name: string | symbol) => {
      const member = name === "run" ? run : Reflect.get(pool, name, pool);
      return typeof member === "function" ? member.bind(pool) : member;
    };
    return { ...engine, pool: new Proxy(engine.pool, { get }) };
  };
}
