/** Runs the suite for executors on ContainerAppsExecutor, with a fake of Azure's management API. */
import { MucastError } from "../../contract/errors/errors.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import type { JobOrder } from "../executor.ts";
import {
  type ExecutorTrial,
  type JobKind,
  type StartedExecution,
  testExecutor,
} from "../executor-suite.testing.ts";
import { ORDER, RECORD, Stage } from "./container-apps.testing.ts";

class FakeApiTrial implements ExecutorTrial {
  readonly #stage: Stage;
  readonly #kinds = new Map<string, JobKind>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  open() {
    return this.#stage.executor();
  }

  order(kind: JobKind): JobOrder {
    const id = `op-${this.#kinds.size + 1}`;
    this.#kinds.set(id, kind);
    return { ...ORDER, id };
  }

  async amid({ order, listener }: StartedExecution): Promise<void> {
    this.#stage.say({ progress: { stage: "fit", done: 1, total: 2 } }, order);
    await this.#stage.until(() => listener.batches.length > 0);
  }

  async finish(tried: StartedExecution): Promise<void> {
    const { order } = tried;
    const fails = this.#kinds.get(order.id) === "fails";
    const problem = problemOf(new MucastError("invalid_model_params", "alpha must not be negative"));
    this.#stage.say(
      {
        warnings: [{ code: "long_gap", message: "a gap", ticker: "AAPL" }],
        timings: [{ name: "fit", start: 1, end: 2 }],
        end: fails ? { problem } : { record: { ...RECORD, output_name: `ml_engine_${order.id}.json` } },
      },
      order,
    );
    this.#stateOf(tried).status = fails ? "Failed" : "Succeeded";
  }

  kill(tried: StartedExecution): void {
    this.#stateOf(tried).status = "Failed";
  }

  async checkLeft(): Promise<void> {
    // The fake runs nothing.
  }

  async close(): Promise<void> {
    await this.#stage.close();
  }

  #stateOf({ execution }: StartedExecution): { status: string } {
    return this.#stage.api.executions.find(({ name }) => execution.handle.endsWith(`/${name}`))!.properties;
  }
}

testExecutor("container-apps", { timeout: 600_000 }, async () => new FakeApiTrial(await Stage.start()));
