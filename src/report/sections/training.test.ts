import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { dlText } from "../../outputs/outputs.testing.ts";
import { reportedData } from "../reported.testing.ts";

const NETWORK = dlText({ config: { intervals: {} } });

const reportOn = (text: string) => reportedData(text).outputs[0]!;

test("curves of networks are shown beside the zero forecast, if the output has its loss", () => {
  const document: OutputBlob = JSON.parse(NETWORK);
  const { networks, finding } = reportOn(NETWORK).training.data!;
  assert.equal(networks[0]!.zeroLoss, document.training!.AAA!.zero_validation_loss);
  assert.match(networks[0]!.finding, /validation loss of 1\.000, below the 1\.002 of the zero forecast\.$/);
  assert.match(finding, /At its best epoch, each had a lower validation loss than the zero forecast\.$/);
  for (const network of Object.values(document.training!)) network.zero_validation_loss = 0.999;
  const worse = reportOn(JSON.stringify(document)).training.data!;
  assert.match(worse.networks[0]!.finding, /, not below the 0\.9990 of the zero forecast\.$/);
  assert.match(worse.finding, /At its best epoch, none had/);
  for (const network of Object.values(document.training!)) network.zero_validation_loss = 1.000001;
  const near = reportOn(JSON.stringify(document)).training.data!;
  assert.match(
    near.networks[0]!.finding,
    / 1\.000, equal to that of the zero forecast in the digits shown\.$/,
  );
  for (const network of Object.values(document.training!)) delete network.zero_validation_loss;
  const older = reportOn(JSON.stringify(document)).training.data!;
  assert.equal(older.networks[0]!.zeroLoss, undefined);
  assert.doesNotMatch(older.finding + older.networks[0]!.finding, /zero forecast/);
});

test("the finding of a network trained for several blocks has the best epochs and losses of all", () => {
  const document: OutputBlob = JSON.parse(NETWORK);
  const training = {
    epochs: [12, 12, null, 12],
    best_epochs: [4, 2, null, 6.5],
    validation_losses: [1, 1.1, null, 0.9],
    zero_validation_losses: [1.002, 1, null, 1],
  };
  document.refits = { blocks: [], by_ticker: {}, training: { AAA: training } };
  const { networks } = reportOn(JSON.stringify(document)).training.data!;
  assert.match(
    networks[0]!.finding,
    /\. Over the 3 blocks it was trained for, the best epoch is 2 to 7, and 2 of the validation losses are below that of the zero forecast\.$/,
  );
  assert.doesNotMatch(networks[1]!.finding, /blocks/);
});

test("the finding of a network whose early stopping monitored the IC has the IC beside the loss", () => {
  const document: OutputBlob = JSON.parse(NETWORK);
  for (const { epochs } of Object.values(document.training!)) {
    for (const [i, epoch] of epochs.entries()) epoch.validation_ic = 0.01 * i;
  }
  const { networks } = reportOn(JSON.stringify(document)).training.data!;
  assert.match(
    networks[0]!.finding,
    /epoch 4 was the best of 12 epochs, with a validation IC of \+0\.030 and a validation loss of 1\.000/,
  );
});

test("the members of an ensemble are curves of their network, and all of them count", () => {
  const config = { training_params: { ensemble: 3 } };
  const report = reportOn(dlText({ config }));
  const { networks, finding } = report.training.data!;
  assert.deepEqual(
    networks[0]!.members.map(({ bestEpoch, validationLoss }) => [bestEpoch, validationLoss.length]),
    [
      [5, 13],
      [6, 14],
    ],
  );
  assert.match(
    networks[0]!.finding,
    /^AAA, member 0 of 3: epoch 4 was the best of 12 epochs,.* Best epochs of the other members: 5 to 6\.$/,
  );
  assert.match(finding, /^Of 24 members, none was best after its first epoch/);
  const spreads = new Map(report.mu.data!.bars.map(({ ticker, spread }) => [ticker, spread]));
  assert.deepEqual([spreads.get("AAA"), reportOn(NETWORK).mu.data!.bars[0]!.spread], [0.001, undefined]);
});
