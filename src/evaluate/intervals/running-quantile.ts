import { conformalRank } from "./conformal.ts";

/** The conformal quantile of a sequence of scores; the cost of each is the logarithm of their number. */
export class RunningQuantile {
  private readonly alpha: number;
  /** The scores up to the quantile, negated, so that the largest is on top. */
  private readonly below = new Heap();
  private readonly above = new Heap();

  constructor(alpha: number) {
    this.alpha = alpha;
  }

  /** @param score may be +Infinity. */
  add(score: number): void {
    if (-score >= (this.below.top() ?? Number.NEGATIVE_INFINITY)) this.below.push(-score);
    else this.above.push(score);
    const n = this.below.size + this.above.size;
    const rank = Math.min(conformalRank(n, this.alpha), n);
    while (this.below.size < rank) this.below.push(-this.above.pop());
    while (this.below.size > rank) this.above.push(-this.below.pop());
  }

  /** @returns undefined if the scores are too few for a finite interval. */
  quantile(): number | undefined {
    const n = this.below.size + this.above.size;
    return conformalRank(n, this.alpha) > n ? undefined : -this.below.top()!;
  }
}

/** A binary heap with the smallest value on top. */
class Heap {
  private readonly values: number[] = [];

  get size(): number {
    return this.values.length;
  }

  top(): number | undefined {
    return this.values[0];
  }

  push(value: number): void {
    const { values } = this;
    let at = values.length;
    values.push(value);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (values[parent]! <= value) break;
      values[at] = values[parent]!;
      at = parent;
    }
    values[at] = value;
  }

  /** The heap must not be empty. */
  pop(): number {
    const { values } = this;
    const top = values[0]!;
    const last = values.pop()!;
    const n = values.length;
    let at = 0;
    while (2 * at + 1 < n) {
      const left = 2 * at + 1;
      const child = left + 1 < n && values[left + 1]! < values[left]! ? left + 1 : left;
      if (values[child]! >= last) break;
      values[at] = values[child]!;
      at = child;
    }
    if (n > 0) values[at] = last;
    return top;
  }
}
