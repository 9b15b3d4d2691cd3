/** A growing array of float64: only the first `length` entries of `values` count. Hot loops write to it directly. */
export class Doubles {
  values: Float64Array;
  length = 0;

  constructor(capacity = 256) {
    this.values = new Float64Array(capacity);
  }

  push(value: number): void {
    if (this.length === this.values.length) this.reserve(this.length + 1);
    this.values[this.length++] = value;
  }

  /** Makes room for at least `length` entries; capacity doubles, so that pushing stays linear. */
  reserve(length: number): void {
    if (length <= this.values.length) return;
    const larger = new Float64Array(Math.max(length, this.values.length * 2));
    larger.set(this.values.subarray(0, this.length));
    this.values = larger;
  }

  clear(): void {
    this.length = 0;
  }

  view(): Float64Array {
    return this.values.subarray(0, this.length);
  }

  copy(): Float64Array {
    return this.values.slice(0, this.length);
  }
}
