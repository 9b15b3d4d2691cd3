import type { EpochPoint, Epochs } from "../../../client/index.ts";

/** Both losses of an epoch, on scaled returns; null if one is not finite. */
export interface CurvePoint {
  readonly epoch: number;
  readonly train: number | null;
  readonly validation: number | null;
}

/** The number of networks whose epochs the service keeps. */
const MAX_NETWORKS = 500;
/** Maximum number of epochs per network: beyond it, every second one is dropped, repeatedly. */
const MAX_POINTS = 512;

/** The epochs of one network, evenly thinned if there are very many; the best and the last one always stay. */
class Curve {
  readonly #points = new Map<number, CurvePoint>();
  #step = 1;
  #best: CurvePoint | undefined;
  #last: CurvePoint | undefined;

  add(point: CurvePoint): void {
    if (this.#last === undefined || point.epoch >= this.#last.epoch) this.#last = point;
    const loss = point.validation ?? Number.POSITIVE_INFINITY;
    if (this.#best === undefined || loss < (this.#best.validation ?? Number.POSITIVE_INFINITY))
      this.#best = point;
    if (point.epoch % this.#step === 0 || this.#points.size === 0) this.#points.set(point.epoch, point);
    while (this.#points.size > MAX_POINTS) {
      this.#step *= 2;
      for (const epoch of this.#points.keys()) if (epoch % this.#step !== 0) this.#points.delete(epoch);
    }
  }

  /** The epoch with the smallest validation loss. */
  get best(): CurvePoint | undefined {
    return this.#best;
  }

  /** By epoch. */
  get points(): readonly CurvePoint[] {
    const all = new Map(this.#points);
    for (const point of [this.#best, this.#last]) if (point !== undefined) all.set(point.epoch, point);
    return [...all.values()].sort((a, b) => a.epoch - b.epoch);
  }
}

/** What the networks of a job have learned so far, from its events. If there are too many, the networks that started first stay. */
export class TrainingCurves {
  readonly #curves = new Map<string, Curve>();
  #leftOut = 0;

  add({ points, left_out = 0 }: Epochs): void {
    this.#leftOut += left_out;
    for (const point of points) {
      const name = networkOf(point);
      let curve = this.#curves.get(name);
      if (curve === undefined) {
        if (this.#curves.size >= MAX_NETWORKS) continue;
        curve = new Curve();
        this.#curves.set(name, curve);
      }
      curve.add({ epoch: point.epoch, train: point.train_loss, validation: point.validation_loss });
    }
  }

  /** Names of the networks, in the order in which they started. */
  get networks(): readonly string[] {
    return [...this.#curves.keys()];
  }

  /** The number of epochs that the service did not send, as it reports. */
  get leftOut(): number {
    return this.#leftOut;
  }

  of(network: string): { readonly points: readonly CurvePoint[]; readonly best: CurvePoint | undefined } {
    const curve = this.#curves.get(network);
    return { points: curve?.points ?? [], best: curve?.best };
  }

  /**
   * The median loss at each epoch that at least half of the networks have reached. Later epochs would show only the few networks that
   * train longest.
   */
  median(): readonly CurvePoint[] {
    const at = new Map<number, { count: number; readonly train: number[]; readonly validation: number[] }>();
    for (const curve of this.#curves.values()) {
      for (const { epoch, train, validation } of curve.points) {
        let losses = at.get(epoch);
        if (losses === undefined) {
          losses = { count: 0, train: [], validation: [] };
          at.set(epoch, losses);
        }
        losses.count += 1;
        if (train !== null) losses.train.push(train);
        if (validation !== null) losses.validation.push(validation);
      }
    }
    const half = this.#curves.size / 2;
    return [...at]
      .filter(([, { count }]) => count >= half)
      .sort(([a], [b]) => a - b)
      .map(([epoch, { train, validation }]) => ({
        epoch,
        train: medianOf(train),
        validation: medianOf(validation),
      }));
  }
}

function networkOf({ ticker, member }: EpochPoint): string {
  return member === undefined ? ticker : memberName(ticker, member);
}

/** The name of a network of an ensemble. */
export function memberName(ticker: string, member: number): string {
  return `${ticker} member ${member}`;
}

export function medianOf(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
