import type { LOSS_TYPES } from "./dl-config.ts";

/** A network with every default filled in, as the engine builds it. */
export type NetworkSpec =
  | {
      readonly architecture: "lstm" | "portfolio_lstm";
      readonly hidden_dims: readonly number[];
      readonly dropout: number;
    }
  | {
      readonly architecture: "cnn";
      readonly filters: readonly number[];
      readonly kernel_size: number;
      readonly pool_size: number;
      readonly dropout: number;
    }
  | {
      readonly architecture: "transformer" | "portfolio_transformer";
      readonly d_model: number;
      readonly nhead: number;
      readonly num_layers: number;
      readonly dim_feedforward: number;
      readonly dropout: number;
    }
  | { readonly architecture: "mlp"; readonly hidden_dims: readonly number[]; readonly dropout: number };

/** How a network is trained, every default filled in. */
export interface TrainingSpec {
  readonly epochs: number;
  readonly batch_size: number;
  readonly learning_rate: number;
  readonly patience: number;
  readonly optimizer: "adam" | "sgd" | "rmsprop";
  readonly weight_decay: number;
  /** Largest norm of the gradient; 0 for no clipping. */
  readonly grad_clip: number;
  readonly loss: (typeof LOSS_TYPES)[number];
}
