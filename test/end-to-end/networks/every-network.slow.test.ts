/**
 * run_dl_job does what a plain Python reading of the contract says, on blobs with every fault: rows, windows and parts, every loss, scale
 * and interval that is known without training, and every figure computed from the forecasts.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ARCHITECTURES, type Architecture, LOSS_TYPES } from "../../../src/contract/config/networks.ts";
import { type BlobPair, removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { assertValid } from "../jobs/published-schemas.ts";
import { dirtyNetworkMarket } from "../markets/network-market.ts";
import {
  assertJudgedRight,
  assertStoppedRight,
  type JudgedRun,
  judgedByTwin,
  type NetworkTwin,
} from "../twins/plain-network-twin.ts";
import { keyOrder } from "../twins/plain-twin.ts";
import { networkConfig, runNetworkJob, type Sections, VANISHING } from "./network-jobs.ts";

interface Case {
  readonly option: Architecture;
  readonly sections: Sections;
  readonly learningEnd: boolean;
}

/** A batch that contains every sample, so that a training loss is one number of the formula. */
const WHOLE = { batch_size: 4096 };

const vanishing = (loss_type: string) => ({ ...VANISHING, loss_type });

/**
 * Networks whose weights vanish. A lookback of 4 with intervals and of 9 without leaves 30 training windows of one ticker and 29 of
 * another.
 */
const VANISHED: readonly Case[] = [
  {
    option: "lstm",
    learningEnd: true,
    sections: { training: vanishing("mae"), data: { ...WHOLE, lookback: 9 } },
  },
  {
    option: "cnn",
    learningEnd: true,
    sections: {
      training: vanishing("huber"),
      data: { ...WHOLE, lookback: 4, scaler: "standard" },
      models: { cnn: { filters: [4], kernel_size: 2, pool_size: 2 } },
      intervals: { alpha: 0.15 },
    },
  },
  {
    option: "transformer",
    learningEnd: false,
    sections: {
      training: vanishing("mse"),
      data: { ...WHOLE, scaler: "minmax" },
      intervals: { enabled: false },
    },
  },
  {
    option: "mlp",
    learningEnd: true,
    sections: {
      training: vanishing("r2"),
      data: { ...WHOLE, lookback: 4 },
      intervals: { alpha: 0.2, bound: "lower", method: "split" },
    },
  },
  {
    option: "portfolio_lstm",
    learningEnd: true,
    sections: { training: vanishing("mahalanobis"), data: { ...WHOLE, scaler: "maxabs" } },
  },
  {
    option: "portfolio_transformer",
    learningEnd: true,
    sections: { training: vanishing("mse"), data: WHOLE, intervals: {} },
  },
  {
    option: "portfolio_lstm",
    learningEnd: false,
    sections: { training: vanishing("r2"), data: { ...WHOLE, lookback: 1 }, intervals: { alpha: 0.03 } },
  },
  {
    option: "mlp",
    learningEnd: true,
    sections: {
      training: vanishing("mse"),
      data: { ...WHOLE, lookback: 2 },
      intervals: { alpha: 0.2 },
      delay: 3,
    },
  },
  {
    option: "portfolio_lstm",
    learningEnd: true,
    sections: {
      training: vanishing("mse"),
      data: { ...WHOLE, lookback: 2 },
      intervals: { alpha: 0.2 },
      delay: 1,
    },
  },
];

const TRAINED: readonly Case[] = [
  {
    option: "cnn",
    learningEnd: false,
    sections: { training: { loss_type: "directional" }, intervals: { alpha: 0.3, bound: "upper" } },
  },
  {
    option: "mlp",
    learningEnd: true,
    sections: {
      training: { loss_type: "mae", epochs: 12, patience: 2, learning_rate: 0.02, optimizer: "rmsprop" },
      intervals: { alpha: 0.01, method: "split" },
    },
  },
  {
    option: "portfolio_transformer",
    learningEnd: false,
    sections: {
      training: { loss_type: "mahalanobis", epochs: 8, patience: 1, learning_rate: 0.02 },
      intervals: {},
    },
  },
];

const CASES = [...VANISHED, ...TRAINED];
let runs: JudgedRun[];
/** Time limit of a process that judges all runs. */
let twins: NetworkTwin[];
before(async () => {
  const pairs = new Map<boolean, BlobPair>();
  for (const learningEnd of [true, false]) {
    pairs.set(learningEnd, await writeMarket(dirtyNetworkMarket({ learningEnd })));
  }
  runs = await Promise.all(
    CASES.map(async ({ option, sections, learningEnd }, i) => {
      const [blobs, config] = [pairs.get(learningEnd)!, networkConfig(option, sections)];
      return { blobs, config, run: await runNetworkJob(blobs, config), vanishing: i < VANISHED.length };
    }),
  );
  twins = await judgedByTwin(runs);
});
after(removeFolders);

function judged(one: Case): JudgedRun {
  const [judge, twin] = [runs[CASES.indexOf(one)]!, twins[CASES.indexOf(one)]!];
  assertJudgedRight(judge, twin);
  assertValid("output-blob", judge.run.output);
  assert.deepEqual(keyOrder(judge.run.text, "forecasts"), Object.keys(twin.forecasts).sort(byCodePoint));
  return judge;
}

const name = ({ option, sections: { training, intervals, delay = 0 }, learningEnd }: Case) =>
  `${option} by ${(training as { loss_type: string }).loss_type}, delay ${delay}, ` +
  `${intervals ? `intervals ${JSON.stringify(intervals)}` : "no intervals"}, ` +
  `${learningEnd ? "with" : "without"} Learning_end`;

test("compares every network and every loss", () => {
  const compared = new Set(VANISHED.map(({ option }) => option));
  assert.deepEqual([...compared].sort(), [...ARCHITECTURES].sort());
  const losses = CASES.map(({ sections }) => (sections.training as { loss_type: string }).loss_type);
  assert.deepEqual([...new Set(losses)].sort(), [...LOSS_TYPES].sort());
});

describe("a network that forecasts 0 has the losses and intervals of a plain reading", () => {
  for (const one of VANISHED) test(name(one), () => void judged(one));
});

describe("a trained network has the rows, figures and early stop of a plain reading", () => {
  for (const one of TRAINED) {
    test(name(one), () => {
      const { run } = judged(one);
      const {
        epochs = 2,
        patience = 10,
        loss_type,
      } = one.sections.training as {
        epochs?: number;
        patience?: number;
        loss_type: string;
      };
      assertStoppedRight(run, epochs, patience);
      for (const { prediction_scale: scale } of Object.values(run.output.training!)) {
        // Every other loss determines the scale of a forecast by itself.
        if (loss_type === "directional") assert.ok(scale! >= 0 && scale! <= 1);
        else assert.equal(scale, undefined);
      }
    });
  }
});

/** UTF-8 keeps the order of code points. */
function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
