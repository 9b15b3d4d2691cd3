/** What was opened, to be closed in the opposite order, whatever any of it throws. */
export class Closing {
  readonly #steps: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.#steps.push(close);
  }

  /** @throws the first error, once everything is closed. */
  async all(): Promise<void> {
    const errors: unknown[] = [];
    for (const close of this.#steps.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }
}
