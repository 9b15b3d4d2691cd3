import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { mean } from "../../evaluate/statistics.ts";
import type { OrderedJson } from "../shared/ordered-json.ts";
import type { TrainingRecord } from "./ensemble.ts";

/** How the network of one block was trained; of an ensemble, the means over its members. */
export interface BlockTraining {
  /** Epochs until training stopped. */
  readonly epochs: number;
  readonly bestEpoch: number;
  /** After the best epoch. */
  readonly validationLoss: number;
  /** Of the zero forecast. */
  readonly zeroValidationLoss: number;
  /** After the best epoch, with `monitor` `ic`. */
  readonly validationIc?: number;
}

export function blockTraining({ members = [], ...first }: TrainingRecord): BlockTraining {
  const all = [first, ...members];
  const best = all.map(({ epochs, best_epoch }) => epochs[best_epoch - 1]!);
  const ics = best.flatMap(({ validation_ic }) => validation_ic ?? []);
  const meanOf = (values: readonly number[]) => mean(Float64Array.from(values));
  return {
    epochs: meanOf(all.map(({ epochs }) => epochs.length)),
    bestEpoch: meanOf(all.map(({ best_epoch }) => best_epoch)),
    validationLoss: meanOf(best.map(({ validation_loss }) => validation_loss)),
    zeroValidationLoss: meanOf(all.map(({ zero_validation_loss }) => zero_validation_loss)),
    ...(ics.length === all.length ? { validationIc: meanOf(ics) } : {}),
  };
}

type Training = NonNullable<NonNullable<OutputBlob["refits"]>["training"]>[string];

/** The entry of a network in the output's `refits.training`. @param trained by block; a block without a network of its own has none. */
export function blockTrainingOf(trained: ReadonlyMap<number, BlockTraining>, blocks: number) {
  const byBlock = (value: (training: BlockTraining) => number): (number | null)[] =>
    Array.from({ length: blocks }, (_, b) => {
      const training = trained.get(b);
      return training === undefined ? null : value(training);
    });
  const hasIc = trained.values().some(({ validationIc }) => validationIc !== undefined);
  return {
    epochs: byBlock(({ epochs }) => epochs),
    best_epochs: byBlock(({ bestEpoch }) => bestEpoch),
    validation_losses: byBlock(({ validationLoss }) => validationLoss),
    zero_validation_losses: byBlock(({ zeroValidationLoss }) => zeroValidationLoss),
    ...(hasIc ? { validation_ics: byBlock(({ validationIc }) => validationIc!) } : {}),
  } satisfies Readonly<Record<keyof Omit<Training, "validation_ics">, OrderedJson>>;
}
