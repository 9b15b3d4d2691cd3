/**
 * Ensembles of networks: the forecast is the mean of the members, member 0 equals the network without an ensemble, and neither the number
 * of workers nor the order of the work changes a byte.
 */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { readArray } from "../../../src/engine/npy.ts";
import type { EnginePool } from "../../../src/engine/pool/pool.ts";
import type { EngineTask, ResultOf } from "../../../src/engine/pool/protocol.ts";
import { runDlJob } from "../../../src/jobs/run-job.ts";
import type { OpenEngine } from "../../../src/jobs/shared/job.ts";
import { type BlobPair, type JobRun, removeFolders, runJob, writeMarket } from "../jobs/job-runs.ts";
import { openSharedEngine } from "../jobs/shared-engines.ts";
import { smallMarket, TICKERS, withFeatures } from "../markets/network-market.ts";
import { networkConfig, runNetworkJob } from "./network-jobs.ts";

const ENSEMBLE = 3;
const KINDS = {
  mlp: { loss_type: "directional" },
  portfolio_lstm: { loss_type: "r2", epochs: 1 },
} as const;
type Kind = keyof typeof KINDS;
const configOf = (kind: Kind, ensemble?: number) =>
  networkConfig(kind, { training: { ...KINDS[kind], ...(ensemble === undefined ? {} : { ensemble }) } });

let pair: BlobPair;
before(async () => {
  pair = await writeMarket(smallMarket());
});
after(removeFolders);

/** Each member's predictions of the validation part and the score rows, by its ticker or `portfolio`. */
type Told = Map<string, Float64Array[]>;

/** Runs a job in an engine that records the predictions of each network. */
async function recorded(
  config: string,
): Promise<{ readonly run: JobRun; readonly told: Told; readonly watched: number }> {
  const told: Told = new Map();
  let watched = 0;
  const openHere: OpenEngine = (need) => {
    const engine = openSharedEngine(need);
    const { pool } = engine;
    const run = async <T extends EngineTask>(task: T, options: object): Promise<ResultOf<T>> => {
      const result = await pool.run(task, options);
      if ((task.task === "train_network" || task.task === "train_joint") && "predictions" in result) {
        const name = task.task === "train_network" ? task.ticker : "portfolio";
        const own = told.get(name) ?? [];
        own[task.member] = readArray(result.predictions);
        told.set(name, own);
        watched = task.parts.validate;
      }
      return result;
    };
    const { greeting, capacity } = pool;
    // The parts of a pool that a job uses.
    return { ...engine, pool: { run, greeting, capacity } as unknown as EnginePool };
  };
  const run = await runJob(pair, config, 3, runDlJob, openHere);
  return { run, told, watched };
}

/** The parts of an output that describe only member 0. */
function ofMember0({ training = {} }: OutputBlob): string {
  return JSON.stringify(Object.entries(training).map(([name, { members: _, ...own }]) => [name, own]));
}

for (const kind of Object.keys(KINDS) as Kind[]) {
  describe(`an ensemble of ${kind}`, () => {
    test("has the mean of its members, and member 0 to the byte", async () => {
      const alone = await runNetworkJob(pair, configOf(kind));
      const { run, told, watched } = await recorded(configOf(kind, ENSEMBLE));
      const { output } = run;
      assert.equal(ofMember0(output), ofMember0(alone.output));
      const width = kind === "mlp" ? 1 : TICKERS.length;
      for (const [place, ticker] of [...TICKERS].sort().entries()) {
        const members = told.get(kind === "mlp" ? ticker : "portfolio")!;
        assert.equal(members.length, ENSEMBLE);
        const { predicted } = output.forecasts[ticker]!;
        // All tickers of the market have the same dates. JSON has no -0.
        const own = (values: Float64Array) =>
          predicted.map((_, i) => values[(watched + i) * width + (width === 1 ? 0 : place)]! + 0);
        assert.deepEqual(own(members[0]!), alone.output.forecasts[ticker]!.predicted);
        const [a, b, c] = members.map(own);
        assert.deepEqual(
          predicted,
          a!.map((value, i) => (value + b![i]! + c![i]!) / ENSEMBLE),
        );
        const last = [a!.at(-1)!, b!.at(-1)!, c!.at(-1)!];
        const squares = last.map((value) => (value - output.mu[ticker]!) ** 2);
        const spread = Math.sqrt(squares.reduce((sum, square) => sum + square) / (ENSEMBLE - 1));
        assert.ok(Math.abs(output.mu_spread![ticker]! - spread) <= 1e-12 * spread);
      }
      assert.ok(Object.values(output.mu_spread!).some((spread) => spread > 0));
      assert.equal(alone.output.mu_spread, undefined);
      assert.equal((output.model.training_params as { ensemble: number }).ensemble, ENSEMBLE);
      for (const { members, epochs, ...own } of Object.values(output.training!)) {
        assert.deepEqual(
          members!.map(({ member }) => member),
          [1, 2],
        );
        for (const member of members!) {
          assert.equal(member.zero_validation_loss, own.zero_validation_loss);
          assert.equal(member.prediction_scale === undefined, own.prediction_scale === undefined);
          assert.notDeepEqual(member.epochs, epochs);
        }
      }
    });
  });
}

test("every epoch of every member is reported, and all of them count", async () => {
  const { events } = await runNetworkJob(pair, configOf("portfolio_lstm", 2));
  const fits = events.flatMap((event) => (event.kind === "progress" && event.stage === "fit" ? [event] : []));
  assert.deepEqual(
    fits
      .filter(({ epoch }) => epoch !== undefined)
      .map(({ ticker, member, epoch }) => [ticker, member, epoch]),
    [
      ["portfolio", 0, 1],
      ["portfolio", 1, 1],
    ],
  );
  assert.deepEqual([fits.at(-1)!.done, fits.at(-1)!.total], [2, 2]);
});

describe("a member that fails", () => {
  const dates = smallMarket().featureDates;
  const broken = () =>
    withFeatures(smallMarket(), "MSFT", (cell, date) => (date === dates[40] ? 1e300 : cell), ["noise"]);

  test("fails its ticker, with a message that names it", async () => {
    const config = networkConfig("mlp", { training: { ensemble: 2 } });
    const { output } = await runNetworkJob(await writeMarket(broken()), config, 3);
    const [failure, ...others] = output.failures;
    assert.deepEqual([failure!.ticker, failure!.code, others], ["MSFT", "diverged", []]);
    assert.match(failure!.message, /^MSFT member 0: /);
    assert.deepEqual(Object.keys(output.mu_spread!), Object.keys(output.mu));
    assert.equal(Object.keys(output.mu).includes("MSFT"), false);
  });
});
