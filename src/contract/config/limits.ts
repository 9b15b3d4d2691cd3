/** Upper limits of a config's fields, all counts; docs/config.md states them. */
export const LIMITS = {
  configBytes: 32 * 1024,
  cvTestSize: 10_000,
  nSplits: 1_000,
  candidates: 100,
  /** The number of fits per ticker before the score rows, over all candidates. */
  choiceFits: 10_000,
  delay: 5,
  refitEvery: 10_000,
  refitBlocks: 1_000,
  leastWindow: 30,
  /** Enough rows to leave a network 30 for training, whatever number it holds back. */
  leastNetworkWindow: 42,
  window: 100_000,
  epochs: 10_000,
  ensemble: 50,
  batchSize: 65_536,
  lookback: 1_000,
  patience: 10_000,
  layers: 16,
  layerWidth: 4_096,
  kernelSize: 101,
  heads: 64,
  /** For learning_rate and weight_decay, because networks compute in float32. */
  optimizerNumber: 1e30,
  networkParameters: 50_000_000,
  batchElements: 2 ** 28,
} as const;

export const TAG_LIMITS = { tags: 16, characters: 64 } as const;

/** A whole tag, as a regular expression: printable ASCII characters without a space at either end. */
export const TAG_PATTERN = "[!-~](?:[ -~]{0,62}[!-~])?";

/** Maximum number of outputs in one report: more are not readable side by side. */
export const MAX_COMPARED_OUTPUTS = 8;
