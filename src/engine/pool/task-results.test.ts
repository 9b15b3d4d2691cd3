import assert from "node:assert/strict";
import { test } from "node:test";
import type { EngineTask } from "./protocol.ts";
import { resultFault } from "./task-results.ts";

const array = (ref: string, length: number) => ({ ref, dtype: "<f8", shape: [length], order: "C" });

/** The fields of each task that the check of its result reads. */
const network = (name: string) => ({
  task: "train_network",
  parts: { train: 9, validate: 3, predict: 4 },
  predictions: { ref: name },
});

const trained = (name: string, length = 7) => ({
  predictions: array(name, length),
  epochs: [1, 2, 3].map(() => ({ train_loss: 0.1, validation_loss: 0.2 })),
  best_epoch: 2,
  zero_validation_loss: 0.3,
  parameters: 12,
  seconds: 0.5,
});

type Case = readonly [task: object, result: object, wrong: readonly (readonly [object, string])[]];

/** Each kind of task with a result, and changes that do not fit, by the member that is named. */
const CASES: { readonly [K in EngineTask["task"]]: Case } = {
  trial: [{ task: "trial" }, {}, []],
  device: [{ task: "device" }, { device: "cuda:1" }, [[{ device: undefined }, "device"]]],
  fit_predict: [
    {
      task: "fit_predict",
      fits: [{ predict: [150, 170] }, { predict: [170, 200], diagnose: true, pool: [0, 9] }],
      permutation: { groups: [[0], [1, 2]] },
      predictions: { ref: "p" },
    },
    { predictions: array("p", 110), seconds: [0, 0.5], unconverged_fits: 1, diagnoses: [{}] },
    [
      [{ seconds: [1] }, "seconds"],
      [{ seconds: [1, null] }, "seconds"],
      [{ diagnoses: [] }, "diagnoses"],
      [{ predictions: array("other", 110) }, "predictions"],
      [{ predictions: array("p", 50) }, "predictions"],
      [{ predictions: { ...array("p", 110), shape: [110, 1] } }, "predictions"],
    ],
  ],
  train_network: [
    network("A"),
    trained("A"),
    [
      [{ epochs: [{ train_loss: 1 }] }, "epochs"],
      [{ best_epoch: 4 }, "best_epoch"],
      [{ zero_validation_loss: null }, "zero_validation_loss"],
    ],
  ],
  train_joint: [
    { ...network("J"), task: "train_joint", tickers: [{}, {}] },
    trained("J", 14),
    [[{ predictions: array("J", 7) }, "predictions"]],
  ],
  train_stack: [
    { task: "train_stack", networks: [network("A"), network("B")] },
    { results: [trained("A"), { code: "diverged", message: "it is not finite", data: {} }] },
    [
      [{ results: [] }, "results"],
      [{ results: [{ ...trained("A"), best_epoch: 9 }, {}] }, "results.0.best_epoch"],
    ],
  ],
};

for (const [kind, [task, result, wrong]] of Object.entries(CASES)) {
  test(`an answer to a ${kind} task that does not fit it is refused, with its member`, () => {
    const check = (answer: unknown) => resultFault(task as EngineTask, answer);
    assert.equal(check(result), undefined);
    for (const [change, member] of wrong) {
      assert.equal(check({ ...result, ...change }), `its "${member}" does not fit the task`);
    }
    if (kind !== "trial") assert.equal(check(null), "a member is missing");
  });
}
