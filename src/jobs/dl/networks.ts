import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { networkLibraries } from "../../engine/environment/engine-status.ts";
import { jointThreads } from "../../engine/pool/cluster-capacity.ts";
import type { JobKind } from "../plan.ts";
import { combineNetworks } from "../shared/combine-candidates.ts";
import { recordedDl } from "../shared/recorded-settings.ts";
import { collectNetworks } from "./collect-networks.ts";
import { planJointNetworks } from "./joint.ts";
import { planPerTicker } from "./per-ticker.ts";
import { trainNetworks } from "./train-networks.ts";

const DISABLED: Warning = {
  code: "disabled",
  message: "config.NN params.Dot prediction.status is false: nothing was trained, and mu is empty.",
};

export const NETWORKS: JobKind<DlSettings> = {
  environment: "dl",
  parse(config) {
    const { settings, warnings } = parseDlSettings(config);
    return { settings, warnings: settings.status ? warnings : [...warnings, DISABLED] };
  },
  libraries: (settings) => {
    const all = settings.choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
    return settings.status ? [...new Set(all.flatMap(networkLibraries))] : undefined;
  },
  async start(pool, settings, { signal }) {
    const { device } = await pool.run({ task: "device", device: settings.device }, { signal });
    return device;
  },
  listed: () => [],
  plan(panels, settings, blocks) {
    const planNetworks = settings.joint ? planJointNetworks : planPerTicker;
    const { series, bytes, tickers, failures } = planNetworks(panels, settings, blocks);
    const networks = series.flatMap((own) => own.blocks.map(own.seconds));
    const fits = settings.ensemble * networks.length;
    return {
      ...{ tickers, failures, fits, fitBytes: bytes, steps: fits * settings.training.epochs },
      estimate: {
        seconds: settings.ensemble * networks.reduce((sum, seconds) => sum + seconds, 0),
        matrix_bytes: bytes,
      },
      async collect(run) {
        const capacity = await run.pool.capacity;
        const trained = await trainNetworks(series, {
          ...run,
          ...{ threads: jointThreads(capacity), slots: capacity.slots, gpus: capacity.gpus },
          ...{ epochs: settings.training.epochs, ensemble: settings.ensemble },
        });
        return collectNetworks(trained, blocks.length);
      },
    };
  },
  choose: combineNetworks,
  judged: (tickers) =>
    tickers.some(({ residuals }) => residuals.days.length > 0) ? "calibration" : "validation",
  recorded: recordedDl,
  seed: ({ seed }) => seed,
  model: ({ network: { architecture, ...params } }) => ({ name: architecture, params }),
  fit: ({ joint }) => (joint ? "joint" : "per_ticker"),
};
