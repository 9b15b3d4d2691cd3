import type { EpochPoint, Epochs } from "../../client/index.ts";

/** Both losses of an epoch, on scaled returns; null if one is not finite. */
export interface CurvePoint {
  readonly epoch: number;
  readonly train: number | null;
  readonly validation: number | null;
}

/** What the networks of a job have learned so far, from its events, of which the service keeps only so many. */
export class TrainingCurves {
  readonly #curves = new Map<string, Map<number, CurvePoint>>();
  /** The number of epochs that the service did not send, as it reports. */
  leftOut = 0;

  add({ points, left_out = 0 }: Epochs): void {
    this.leftOut += left_out;
    for (const point of points) {
      const { epoch, train_loss: train, validation_loss: validation } = point;
      const curve = this.#curves.get(networkOf(point)) ?? new Map<number, CurvePoint>();
      this.#curves.set(networkOf(point), curve.set(epoch, { epoch, train, validation }));
    }
  }

  /** Names of the networks, in the order in which they started. */
  get networks(): readonly string[] {
    return [...this.#curves.keys()];
  }

  /** The losses of a network by epoch. */
  of(network: string): readonly CurvePoint[] {
    return [...(this.#curves.get(network)?.values() ?? [])].sort((a, b) => a.epoch - b.epoch);
  }

  /**
   * The median loss at each epoch that at least half of the networks have reached. Later epochs would show only the few networks that
   * train longest.
   */
  median(): readonly CurvePoint[] {
    const points = [...this.#curves.values()].flatMap((curve) => [...curve.values()]);
    return [...Map.groupBy(points, ({ epoch }) => epoch)]
      .filter(([, reached]) => reached.length >= this.#curves.size / 2)
      .sort(([a], [b]) => a - b)
      .map(([epoch, reached]) => ({
        epoch,
        train: medianOf(reached.map(({ train }) => train)),
        validation: medianOf(reached.map(({ validation }) => validation)),
      }));
  }
}

/** The epoch with the smallest validation loss; undefined if none is finite. */
export function bestOf(points: readonly CurvePoint[]): CurvePoint | undefined {
  const finite = points.filter(({ validation }) => validation !== null);
  return finite.toSorted((a, b) => a.validation! - b.validation!)[0];
}

function networkOf({ ticker, member }: EpochPoint): string {
  return member === undefined ? ticker : `${ticker} member ${member}`;
}

/** Of the finite values; null if there are none. */
function medianOf(values: readonly (number | null)[]): number | null {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return low === undefined || high === undefined ? null : (low + high) / 2;
}
