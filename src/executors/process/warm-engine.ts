import { requireEnvironment } from "../../engine/environment/environment.ts";
import { EnginePool } from "../../engine/pool/pool.ts";
import { WarmHost } from "../../engine/pool/warm-host.ts";
import { type EngineNeed, type OpenEngine, openEngine } from "../../jobs/shared/job.ts";
import { openWorkFolder, type WorkFolder } from "../../jobs/shared/work-folder.ts";

/** Together hardly slower and larger than scikit-learn alone; catboost and PyTorch would cost far more. */
export const WARM_LIBRARIES = ["sklearn", "xgboost", "lightgbm"];

/**
 * An engine for one job after the other, started before the first is known or with it: what is imported stays
 * imported, and every job gets workers of its own. A job that it does not suit gets a new one instead.
 */
export class WarmEngine {
  readonly #python: string;
  readonly #work: WorkFolder;
  readonly #host: WarmHost;
  #over: Promise<void> | undefined;

  /** @throws MucastError engine_unavailable, output_failed. */
  constructor(libraries: readonly string[]) {
    this.#python = requireEnvironment("ml").python;
    this.#work = openWorkFolder();
    this.#host = new WarmHost({ python: this.#python, libraries, workFolder: this.#work.path });
  }

  /** Settles once its libraries are imported, or it is of no use; never rejects. */
  get ready(): Promise<unknown> {
    return this.#host.ready;
  }

  /** Whether another job may have it. */
  get waits(): boolean {
    return this.#over === undefined && this.#host.waits;
  }

  /** Whether it can be the engine of such a job: a network's libraries bring threads that are not to meet others'. */
  static suits({ environment }: EngineNeed): boolean {
    return environment === "ml";
  }

  readonly open: OpenEngine = (need) => {
    if (!WarmEngine.suits(need) || requireEnvironment("ml").python !== this.#python) {
      this.close().catch((error: unknown) => console.error(error));
      return openEngine(need);
    }
    const { libraries, workers, memoryBytes } = need;
    const limit = memoryBytes === undefined ? {} : { memoryLimitBytes: memoryBytes };
    const workFolder = this.#work.path;
    const warmHost = this.#host;
    const pool = EnginePool.start({
      python: this.#python,
      libraries,
      workers,
      workFolder,
      warmHost,
      ...limit,
    });
    return {
      pool,
      workFolder,
      close: async () => {
        await pool.close();
        if (!this.#work.clear()) await this.close();
      },
    };
  };

  /** Ends it; no job has it any more. */
  close(): Promise<void> {
    this.#over ??= this.#host.close().then(() => this.#work.remove());
    return this.#over;
  }
}
