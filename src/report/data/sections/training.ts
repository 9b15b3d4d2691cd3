import { byTicker } from "../../../outputs/scored-rows.ts";
import type { OutputEvidence } from "../../evidence/output-evidence.ts";
import { countedRows, figure } from "../figures.ts";
import type { Part } from "../report-data.ts";
import type { TrainedNetwork, Training } from "../section-data.ts";

/** How networks learned. */
export function trainingOf({ document }: OutputEvidence): Part<Training> {
  if (document.training === undefined)
    return { absent: "The output is of no network, so it has no training curves." };
  const networks = byTicker(document.training).map(([name, network]): TrainedNetwork => {
    const { epochs, best_epoch, zero_validation_loss: zeroLoss, parameters } = network;
    const best = epochs[best_epoch - 1]?.validation_loss;
    const beside = besideZero(best, zeroLoss);
    return {
      name,
      trainLoss: Float64Array.from(epochs, ({ train_loss }) => train_loss),
      validationLoss: Float64Array.from(epochs, ({ validation_loss }) => validation_loss),
      bestEpoch: best_epoch,
      parameters,
      zeroLoss,
      finding: `${name}: the best of ${countedRows(epochs.length, "epoch")} was number ${best_epoch}, with a validation loss of ${figure(best, "number")}${beside}.`,
    };
  });
  if (networks.length === 0) return { absent: "No network was trained." };
  return { data: { networks, finding: findingOf(networks) } };
}

/** The best epoch is the one that did best there, so to be below is no evidence of skill, and not to be is evidence of none. */
function besideZero(best: number | undefined, zeroLoss: number | undefined): string {
  if (best === undefined || zeroLoss === undefined) return "";
  const zero = figure(zeroLoss, "number");
  if (figure(best, "number") === zero) return ", that of the zero forecast but for later digits";
  return `, ${best < zeroLoss ? "below" : "not below"} the ${zero} of the zero forecast`;
}

function findingOf(networks: readonly TrainedNetwork[]): string {
  const first = networks.filter(({ bestEpoch }) => bestEpoch === 1).length;
  const last = networks.filter(({ bestEpoch, trainLoss }) => bestEpoch === trainLoss.length).length;
  const all = countedRows(networks.length, "network");
  const early =
    first === 0
      ? "none was best after its first epoch"
      : `${figure(first, "count")} ${first === 1 ? "was" : "were"} best after the first epoch: what ${first === 1 ? "it" : "they"} learned later did not hold`;
  const late = `${figure(last, "count")} ${last === 1 ? "was" : "were"} best after the last`;
  return `Of ${all} ${early}; ${late}.${againstZero(networks)}`;
}

function againstZero(networks: readonly TrainedNetwork[]): string {
  const isBelow = networks.flatMap(({ validationLoss, bestEpoch, zeroLoss }) =>
    zeroLoss === undefined ? [] : [validationLoss[bestEpoch - 1]! < zeroLoss],
  );
  if (isBelow.length === 0) return "";
  const below = isBelow.filter(Boolean).length;
  const which =
    below === 0
      ? "Even at its best, none"
      : `At its best, ${below === isBelow.length ? "each" : `${figure(below, "count")} of them`}`;
  return ` ${which} had a lower validation loss than the zero forecast.`;
}
