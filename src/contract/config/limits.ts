/** Upper limits of a config's fields, all counts; docs/config.md states them. */
export const LIMITS = {
  configBytes: 32 * 1024,
  cvTestSize: 10_000,
  nSplits: 1_000,
  refitEvery: 10_000,
  /** Blocks of score rows that models are fitted for, one after the other. */
  refitBlocks: 1_000,
  /** As many rows as a fit needs at least. */
  leastWindow: 30,
  /** As many rows as leave a network 30 to train on, whatever it holds back. */
  leastNetworkWindow: 42,
  window: 100_000,
  epochs: 10_000,
  /** Networks of one ensemble. */
  ensemble: 50,
  batchSize: 65_536,
  lookback: 1_000,
  patience: 10_000,
  layers: 16,
  layerWidth: 4_096,
  kernelSize: 101,
  heads: 64,
  /** Of learning_rate and weight_decay, because networks compute in float32. */
  optimizerNumber: 1e30,
  networkParameters: 50_000_000,
  /** Numbers in the input of one batch. */
  batchElements: 2 ** 28,
} as const;
