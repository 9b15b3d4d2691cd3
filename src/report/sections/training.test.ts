import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutputBlob } from "../../contract/output/output-blob.ts";
import { dlText } from "../../outputs/outputs.testing.ts";
import { page } from "../page.ts";
import { panelsOn, reported, textOf } from "../reported.testing.ts";

const NETWORK = dlText();

/** The panel of the training of an output after `change`, with the sentences of single networks. */
function trainingOf(text: string, change: (output: OutputBlob) => void = () => undefined) {
  const output: OutputBlob = JSON.parse(text);
  change(output);
  const panel = panelsOn(page(reported(JSON.stringify(output)))).find(({ title }) =>
    title.startsWith("Training of"),
  )!;
  const small = panel.html.slice(panel.html.indexOf('<div class="small">'));
  const networks = [...small.matchAll(/<div><p>(.*?)<\/p>/gs)].map(([, sentence]) => textOf(sentence!));
  return { ...panel, networks };
}

test("curves of networks are beside the loss of the zero forecast, if the output has it", () => {
  const withZero = (loss: number | undefined) =>
    trainingOf(NETWORK, ({ training }) => {
      for (const network of Object.values(training!)) {
        if (loss === undefined) delete network.zero_validation_loss;
        else network.zero_validation_loss = loss;
      }
    });
  const { sentence, networks, html, rows } = trainingOf(NETWORK);
  assert.match(networks[0]!, /validation loss of 1\.000, below the 1\.002 of the zero forecast\.$/);
  assert.match(sentence, /At its best epoch, each had a lower validation loss than the zero forecast\.$/);
  // The fan of all networks, and the curves of each of the eight.
  assert.equal(html.match(/<path class="level" d="M0 \d+H1000">/g)?.length, 9);
  assert.deepEqual([rows.length, rows[0]!.slice(0, 3)], [8, ["AAA", "12", "4"]]);
  const worse = withZero(0.999);
  assert.match(worse.networks[0]!, /, not below the 0\.9990 of the zero forecast\.$/);
  assert.match(worse.sentence, /At its best epoch, none had/);
  assert.match(
    withZero(1.000001).networks[0]!,
    / 1\.000, equal to that of the zero forecast in the digits shown\.$/,
  );
  const older = withZero(undefined);
  assert.doesNotMatch(older.sentence + older.networks[0], /zero forecast/);
});

test("a network trained for several blocks has the best epochs and losses of all, and its validation IC", () => {
  const { networks } = trainingOf(NETWORK, (output) => {
    const training = {
      epochs: [12, 12, null, 12],
      best_epochs: [4, 2, null, 6.5],
      validation_losses: [1, 1.1, null, 0.9],
      zero_validation_losses: [1.002, 1, null, 1],
    };
    output.refits = { blocks: [], by_ticker: {}, training: { AAA: training } };
    for (const { epochs } of Object.values(output.training!))
      for (const [i, epoch] of epochs.entries()) epoch.validation_ic = 0.01 * i;
  });
  assert.match(
    networks[0]!,
    /epoch 4 was the best of 12 epochs, with a validation IC of \+0\.030 and .* Over the 3 blocks it was trained for, the best epoch is 2 to 7, and 2 of the validation losses are below that of the zero forecast\.$/,
  );
  assert.doesNotMatch(networks[1]!, /blocks/);
});

test("an ensemble's other members are thin lines behind member 0, up to a limit, and their best epochs are in the table", () => {
  const members = (ensemble: number) => trainingOf(dlText({ config: { training_params: { ensemble } } }));
  const lines = (html: string) =>
    [...html.matchAll(/<path class="line faint" d="(M[^"]*)"/g)].map(([, d]) => d!.split("M").length - 1);
  const three = members(3);
  assert.deepEqual(lines(three.html).slice(1, 9), Array(8).fill(2));
  assert.match(three.sentence, /^Of 24 members, none was best after its first epoch/);
  assert.match(three.networks[0]!, /^AAA, member 0 of 3: .* Best epochs of the other members: 5 to 6\.$/);
  assert.deepEqual(three.rows[0]!.slice(-3, -1), ["2", "5 to 6"]);
  const fifty = members(50);
  assert.deepEqual(lines(fifty.html).slice(1, 9), Array(8).fill(19));
  assert.match(textOf(fifty.html), /validation loss of 19 of the 49 other members/);
  assert.doesNotMatch(members(1).html, /faint|members/);
});

test("up to four networks have their curves at once; more are one fan, and single ones open on demand", () => {
  const of = (count: number) =>
    trainingOf(dlText({ tickers: Array.from({ length: count }, (_, i) => `T${i}`) })).html;
  assert.doesNotMatch(of(4), /median validation loss|Curves of single networks/);
  const five = of(5);
  assert.match(five, /data-name="median validation loss".*data-name="median training loss"/s);
  assert.equal(/<details class="curves">.*/s.exec(five)![0].match(/data-name="validation loss"/g)!.length, 5);
});
