import { requireEnvironment } from "../../engine/environment.ts";
import { EnginePool } from "../../engine/pool.ts";
import { WarmHost } from "../../engine/warm-host.ts";
import { type OpenEngine, openEngine } from "../../jobs/job-engine.ts";
import { openWorkFolder, type WorkFolder } from "../../jobs/work-folder.ts";

/** Together hardly slower and larger than scikit-learn alone; catboost and PyTorch would cost far more. */
const LIBRARIES = ["sklearn", "xgboost", "lightgbm"];

/** The engine of a job that is not known yet. A job that it does not suit gets a new one instead. */
export class WarmEngine {
  readonly #python: string;
  readonly #work: WorkFolder;
  readonly #host: WarmHost;
  #over: Promise<void> | undefined;

  /** @throws MucastError engine_unavailable, output_failed. */
  constructor() {
    this.#python = requireEnvironment("ml").python;
    this.#work = openWorkFolder();
    this.#host = new WarmHost({ python: this.#python, libraries: LIBRARIES, workFolder: this.#work.path });
  }

  /** Settles once its libraries are imported, or it is of no use; never rejects. */
  get ready(): Promise<unknown> {
    return this.#host.ready;
  }

  readonly open: OpenEngine = (need) => {
    // A network's libraries bring threads of their own, which are not to meet those of others.
    if (need.environment !== "ml" || requireEnvironment("ml").python !== this.#python) {
      void this.close();
      return openEngine(need);
    }
    this.#over = Promise.resolve();
    const { libraries, workers } = need;
    const workFolder = this.#work.path;
    const warmHost = this.#host;
    const pool = EnginePool.start({ python: this.#python, libraries, workers, workFolder, warmHost });
    return {
      pool,
      workFolder,
      close: async () => {
        await pool.close();
        this.#work.remove();
      },
    };
  };

  /** Ends it where no job has taken it. */
  close(): Promise<void> {
    this.#over ??= this.#host.close().then(() => this.#work.remove());
    return this.#over;
  }
}
