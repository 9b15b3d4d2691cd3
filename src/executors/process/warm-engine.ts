import { findEnvironment } from "../../engine/environment/environment.ts";
import { EnginePool } from "../../engine/pool/pool.ts";
import { WarmHost } from "../../engine/pool/warm-host.ts";
import { type EngineNeed, type OpenEngine, openEngine } from "../../jobs/shared/job.ts";
import { openWorkFolder, type WorkFolder } from "../../jobs/shared/work-folder.ts";

/** Together hardly slower and larger than scikit-learn alone; catboost and PyTorch would cost far more. */
export const WARM_LIBRARIES = ["sklearn", "xgboost", "lightgbm"];

/**
 * An engine that serves one job after the other, and starts before or together with the first. Libraries stay imported, and every job gets
 * new workers. A job that it does not suit gets a new engine instead.
 */
export class WarmEngine {
  readonly #python = findEnvironment("ml").python;
  readonly #work: WorkFolder = openWorkFolder();
  readonly #host: WarmHost;
  #closed: Promise<void> | undefined;

  /** @throws MucastError engine_unavailable, output_failed. */
  constructor(libraries: readonly string[]) {
    this.#host = new WarmHost({ python: this.#python, libraries, workFolder: this.#work.path });
  }

  /** Whether it waits for a job. */
  get isIdle(): boolean {
    return this.#closed === undefined && this.#host.waits;
  }

  /**
   * Whether it can be the engine of this job. A network's job gets its own engine, because its libraries start their own threads; so does a
   * portable job and a job on a cluster.
   */
  static suits({ environment, portable, cluster }: EngineNeed): boolean {
    return environment === "ml" && portable !== true && cluster === undefined;
  }

  readonly open: OpenEngine = (need) => {
    if (!WarmEngine.suits(need) || findEnvironment("ml").python !== this.#python) {
      this.close().catch((error: unknown) => console.error(error));
      return openEngine(need);
    }
    const { libraries, workers, memoryBytes } = need;
    const limit = memoryBytes === undefined ? {} : { memoryLimitBytes: memoryBytes };
    const { path: workFolder } = this.#work;
    const shared = { python: this.#python, workFolder, warmHost: this.#host };
    const pool = EnginePool.start({ ...shared, libraries, workers, ...limit });
    return {
      pool,
      workFolder,
      close: async () => {
        await pool.close();
        if (!this.#work.clear()) await this.close();
      },
    };
  };

  /** Closes its host and removes its work folder; no job may be using it. */
  close(): Promise<void> {
    this.#closed ??= this.#host.close().then(() => this.#work.remove());
    return this.#closed;
  }
}
