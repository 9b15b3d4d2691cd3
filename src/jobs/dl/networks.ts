import { type DlSettings, parseDlSettings } from "../../contract/config/dl-settings.ts";
import type { Warning } from "../../contract/problems/warnings.ts";
import { networkLibraries } from "../../engine/environment/engine-status.ts";
import { jointThreads } from "../../engine/pool/cluster-capacity.ts";
import type { RefitBlock } from "../../panel/refit-blocks.ts";
import type { FitOutcome, FitRun, JobKind } from "../plan.ts";
import { plain } from "../shared/job-document.ts";
import { chosenEarly } from "../shared/listed-warnings.ts";
import type { FitPanel } from "../shared/panels.ts";
import { recordedDl } from "../shared/recorded-settings.ts";
import { combineNetworks, testedParts } from "./combine-networks.ts";
import { planNetworks } from "./dl-preview.ts";
import { planJointNetwork } from "./plan-joint-network.ts";
import { planTickerNetworks } from "./plan-ticker-networks.ts";
import type { TrainedTicker } from "./planned-network.ts";
import { trainNetworks } from "./train-networks.ts";
import { blockTrainingOf } from "./trained-blocks.ts";

/** The warning of a config that is switched off. */
const DISABLED: Warning = {
  code: "disabled",
  message: "config.NN params.Dot prediction.status is false: nothing was trained, and mu is empty.",
};

/** The kind of run_dl_job: networks, one per ticker or one for all. */
export const NETWORKS: JobKind<DlSettings, TrainedTicker> = {
  environment: "dl",
  parse(config) {
    const { settings, warnings } = parseDlSettings(config);
    return { settings, warnings: settings.enabled ? warnings : [...warnings, DISABLED] };
  },
  libraries: (settings) => {
    const all = settings.choice?.candidates.map((candidate) => candidate.settings) ?? [settings];
    return settings.enabled ? [...new Set(all.flatMap(networkLibraries))] : undefined;
  },
  async start(pool, settings, { signal }) {
    const { device } = await pool.run({ task: "device", device: settings.device }, { signal });
    return device;
  },
  listed: () => [],
  plan: (panels, settings, blocks) => ({
    ...planNetworks(panels, settings, blocks),
    collect: (run) => train(panels, settings, blocks, run),
  }),
  testedParts,
  choose: combineNetworks,
  judged: (tickers) =>
    tickers.some(({ calibration }) => calibration.days.length > 0) ? "calibration" : "validation",
  recorded: recordedDl,
  seed: ({ seed }) => seed,
  model: ({ network: { architecture, ...params } }) => ({ name: architecture, params }),
  fit: ({ joint }) => (joint ? "joint" : "per_ticker"),
};

async function train(
  panels: readonly FitPanel[],
  settings: DlSettings,
  blocks: readonly RefitBlock[],
  { pool, signal, report, timings, workFolder, device }: FitRun,
): Promise<FitOutcome<TrainedTicker>> {
  const plan = (settings.joint ? planJointNetwork : planTickerNetworks)(panels, settings, workFolder, blocks);
  const capacity = await pool.capacity;
  const { trained, training, blockTraining, failures, ...outcome } = await trainNetworks(plan.networks, {
    ...{ pool, signal, report, timings, device: await device },
    ...{ threads: jointThreads(capacity), slots: capacity.slots, gpus: capacity.gpus },
    ...{ epochs: settings.training.epochs, ensemble: settings.ensemble },
  });
  const failed = new Set(failures.map(({ ticker }) => ticker));
  return {
    ...outcome,
    tickers: trained,
    failures: [...plan.failures.filter(({ ticker }) => !failed.has(ticker)), ...failures],
    listed: chosenEarly(training),
    training: plain(training),
    blockTraining: new Map(
      [...blockTraining].map(([name, own]) => [name, () => blockTrainingOf(own, blocks.length)]),
    ),
  };
}
