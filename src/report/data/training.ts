import { countedRows, figure } from "./figures.ts";
import type { OutputEvidence } from "./output-evidence.ts";
import type { Part, TrainedNetwork, Training } from "./report-data.ts";
import { byTicker } from "./scored-rows.ts";

/** How networks learned. */
export function trainingOf({ document }: OutputEvidence): Part<Training> {
  if (document.training === undefined)
    return { absent: "The output is of no network, so it has no training curves." };
  const networks = byTicker(document.training).map(([name, network]): TrainedNetwork => {
    const { epochs, best_epoch, parameters } = network;
    const best = epochs[best_epoch - 1]?.validation_loss;
    return {
      name,
      trainLoss: Float64Array.from(epochs, ({ train_loss }) => train_loss),
      validationLoss: Float64Array.from(epochs, ({ validation_loss }) => validation_loss),
      bestEpoch: best_epoch,
      parameters,
      zeroLoss: undefined,
      finding: `${name}: the best of ${countedRows(epochs.length, "epoch")} was number ${best_epoch}, with a validation loss of ${figure(best, "number")}.`,
    };
  });
  if (networks.length === 0) return { absent: "No network was trained." };
  return { data: { networks, finding: findingOf(networks) } };
}

function findingOf(networks: readonly TrainedNetwork[]): string {
  const first = networks.filter(({ bestEpoch }) => bestEpoch === 1).length;
  const last = networks.filter(({ bestEpoch, trainLoss }) => bestEpoch === trainLoss.length).length;
  const all = countedRows(networks.length, "network");
  const early =
    first === 0
      ? "none was best after its first epoch"
      : `${figure(first, "count")} ${first === 1 ? "was" : "were"} best after the first epoch: what ${first === 1 ? "it" : "they"} learned later did not hold`;
  return `Of ${all} ${early}; ${figure(last, "count")} ${last === 1 ? "was" : "were"} best after the last.`;
}
