/** Runs run_dl_job in this process, on configs that are written in a few words. */
import { type Architecture, architecturesOf } from "../../../src/contract/config/networks.ts";
import { runDlJob } from "../../../src/jobs/run-job.ts";
import { type BlobPair, type JobRun, runJob } from "../jobs/job-runs.ts";

export const PER_TICKER = architecturesOf({ joint: false });
export const JOINT = architecturesOf({ joint: true });

/** Sections of `Dot prediction`, as a caller writes them. */
export interface Sections {
  readonly global?: object;
  readonly data?: object;
  readonly training?: object;
  readonly models?: object;
  readonly intervals?: object;
  readonly status?: boolean;
  readonly delay?: number;
}

/** So small that a network trains in a moment. */
const SMALL: Readonly<Record<Architecture, object>> = {
  lstm: { hidden_dims: [6, 4] },
  cnn: { filters: [4, 6], kernel_size: 3, pool_size: 2 },
  transformer: { d_model: 8, nhead: 2, num_layers: 1, dim_feedforward: 12 },
  mlp: { hidden_dims: [8, 5] },
  portfolio_lstm: { hidden_dims: [6, 4] },
  portfolio_transformer: { d_model: 8, nhead: 2, num_layers: 1 },
};

/** JSON text: a small network, windows of five rows, two epochs, with the changes in `sections`. */
export function networkConfig(option: Architecture, sections: Sections = {}): string {
  const { global, data, training, models, intervals, status, delay } = sections;
  return JSON.stringify({
    "NN params": {
      "Dot prediction": {
        "current option": option,
        ...(status === undefined ? {} : { status }),
        global_settings: { device: "cpu", seed: 7, ...global },
        data_processing: { lookback: 5, batch_size: 64, ...data },
        training_params: { epochs: 2, patience: 10, loss_type: "mse", ...training },
        models_params: models ?? { [option]: SMALL[option] },
        ...(intervals === undefined ? {} : { intervals }),
        ...(delay === undefined ? {} : { delay }),
      },
    },
  });
}

/**
 * Training that leaves every weight at about 0: the decay, 2^20 times a rate of 2^-20, removes each weight completely in the first step,
 * and what the gradient adds is below a millionth. The network then forecasts 0, whatever its architecture, so that losses and intervals
 * are known without training.
 */
export const VANISHING = {
  optimizer: "sgd",
  learning_rate: 2 ** -20,
  weight_decay: 2 ** 20,
  epochs: 2,
} as const;

/** Training too slow to change a float32: the network forecasts with its initial weights. */
export const FROZEN = { optimizer: "sgd", learning_rate: 1e-30, grad_clip: 0, epochs: 1 } as const;

export function runNetworkJob(blobs: BlobPair, config: string, workers = 1): Promise<JobRun> {
  return runJob(blobs, config, workers, runDlJob);
}
