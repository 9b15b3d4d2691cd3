import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { after, describe, test } from "node:test";
import { engineThatCrashes } from "../../../test/end-to-end/faults/crashing-engine.ts";
import { removeFolders, writeMarket } from "../../../test/end-to-end/jobs/job-runs.ts";
import { openSharedEngine } from "../../../test/end-to-end/jobs/shared-engines.ts";
import { dirtyMarket } from "../../../test/end-to-end/markets/dirty-market.ts";
import { cleanMarket, type Market, weekdays } from "../../../test/end-to-end/markets/market.ts";
import { smallMarket } from "../../../test/end-to-end/markets/network-market.ts";
import {
  dirtyPanelMarket,
  lateListings,
  learningUntil,
} from "../../../test/end-to-end/markets/panel-market.ts";
import { networkConfig } from "../../../test/end-to-end/networks/network-jobs.ts";
import { WHOLE_MATRIX } from "../../../test/whole-matrix.testing.ts";
import type { Report } from "../../contract/output/job-events.ts";
import { JOBS, type Jobs } from "../../jobs/run-job.ts";
import type { OpenEngine } from "../../jobs/shared/job.ts";
import type { AuditInputs } from "../check.ts";
import { checked } from "../checked.testing.ts";
import { faultyOutput, LOOKING_AHEAD } from "./faulty-jobs.testing.ts";
import { truncation } from "./truncation.ts";

after(removeFolders);

const RIDGE = '{"ML params": {"model": "ridge", "n_splits": 3, "intervals": {"alpha": 0.2}}}';
const DATES = weekdays(260);

/** Folders of this process under TMPDIR, each with copies of blobs or with an engine's matrices. */
function workFolders(): string[] {
  return readdirSync(tmpdir()).filter(
    (name) => /^mucast-[0-9a-f]{8}-/.test(name) && name.includes(`-${process.pid}-`),
  );
}

type Options = Partial<AuditInputs> & { signal?: AbortSignal; onStep?: () => void; openEngine?: OpenEngine };

async function audit(
  market: Market,
  config: string,
  { signal, onStep, openEngine = openSharedEngine, ...more }: Options = {},
  jobs: Jobs = JOBS,
) {
  const { features, prices } = await writeMarket(market);
  const request = { featureUrl: features, dataExtractorUrl: prices, config, id: "audit" };
  const report: Report = ({ kind }) => {
    assert.equal(kind, "progress", "the jobs of an audit report nothing");
    onStep?.();
  };
  const context = { report, openEngine, ...(signal === undefined ? {} : { signal }) };
  const result = await checked(truncation, { request, ...more }, context, { jobs });
  return { ...result, folder: features };
}

/** Whether the jobs of an audit have the quick model; in `npm test` they all do. */
const QUICK = WHOLE_MATRIX ? [false, true] : [true];

describe("the truncation check", { timeout: 600_000 }, () => {
  test("finds nothing on a market with every kind of gap, and leaves nothing beside its blobs", async () => {
    const { status, findings, facts, tests, steps, folder } = await audit(
      dirtyMarket({ learningEnd: true }),
      RIDGE,
    );
    assert.deepEqual([status, findings, facts.not_compared], ["clean", [], []]);
    assert.ok(tests > 500, String(tests));
    assert.deepEqual(steps, ["1/3", "2/3", "3/3"]);
    assert.equal(readdirSync(folder.replace(/[^/]*$/, "")).length, 2);
  });

  test("pins the kernels of each of its jobs if it is portable, and names the level that the whole job records", async () => {
    const asked: (boolean | undefined)[] = [];
    const openEngine: OpenEngine = ({ portable, ...need }) => {
      asked.push(portable);
      return openSharedEngine(need);
    };
    const pinned = faultyOutput((output) => {
      output.provenance.kernel_level = "x86-64-v3";
    });
    const market = cleanMarket(DATES[220]);
    const { verdict } = await audit(market, RIDGE, { portable: true, openEngine }, pinned);
    assert.deepEqual([asked, verdict.kernel_level], [[true, true, true], "x86-64-v3"]);
    const { verdict: usual } = await audit(market, RIDGE, { openEngine });
    assert.deepEqual([asked.slice(3), usual.kernel_level], [Array(3).fill(undefined), undefined]);
  });

  test("finds nothing in a choice among candidates, and finds members that its losses do not support", async () => {
    const params = {
      ...{ model: "ridge", scaler: "standard", cv_test_size: 6, n_splits: 6, refit_every: 15 },
      choice: {
        candidates: [
          { model: "lasso", grid: { alpha: [0.0001, 0.01] } },
          { fit: "pooled", model_params: { alpha: 100 } },
          { target: "relative", cross_section: true },
        ],
        warm_up: 6,
      },
    };
    const config = JSON.stringify({ "ML params": params });
    const market = learningUntil("2021-06-04", lateListings(dirtyPanelMarket()));
    for (const quick of QUICK) {
      const { status, findings, facts } = await audit(market, config, { truncations: 1, quick });
      assert.deepEqual([status, findings, facts.not_compared], ["clean", [], []]);
    }
    const tampered = faultyOutput(({ choice }) => {
      const { changes } = choice!;
      assert.ok(changes.length > 1);
      changes.pop();
    });
    const { status, findings } = await audit(market, config, { truncations: 1 }, tampered);
    const [{ code, severity, message } = assert.fail(), ...others] = findings;
    assert.deepEqual([status, code, severity, others], ["found", "choice_unsupported", "high", []]);
    assert.match(
      message,
      /^choice\.changes \(2021-.*\) has [\d, ]+, and the losses support [\d, ]+; \d+ more differences?$/,
    );
  });

  test("finds nothing in networks, nor in a choice among them, even in a quick audit", async () => {
    const config = networkConfig("mlp", { intervals: {}, training: { epochs: 4 } });
    const chosen = JSON.parse(networkConfig("mlp", { training: { epochs: 3 } }));
    chosen["NN params"]["Dot prediction"].choice = { candidates: [{ training_params: { epochs: 4 } }] };
    for (const quick of QUICK) {
      const options = { operation: "run_dl_job", quick, truncations: 1 } as const;
      for (const each of [config, JSON.stringify(chosen)]) {
        const { status, findings, tests } = await audit(smallMarket(), each, options);
        assert.deepEqual([status, findings], ["clean", []]);
        assert.ok(tests > 100, String(tests));
      }
    }
  });

  test("finds a job whose panel looks one row ahead, by the forecasts of the last date before each cut", async () => {
    const { findings, facts } = await audit(cleanMarket(DATES[220]), RIDGE, {}, LOOKING_AHEAD);
    const forecasts = findings.filter(({ code }) => code === "forecast_changed");
    assert.deepEqual(forecasts.map(({ ticker }) => ticker).sort(), ["AAPL", "JPM", "KO", "MSFT", "XOM"]);
    const cuts = facts.cut_after as string[];
    for (const { evidence } of forecasts) {
      assert.deepEqual([evidence.at, evidence.cut_after], [`predicted ${cuts[0]}`, cuts]);
    }
    // Nothing but the last forecast, the interval around it and `mu`.
    assert.deepEqual([...new Set(findings.map(({ code }) => code))].sort(), [
      "forecast_changed",
      "interval_changed",
    ]);
  });

  test("finds intervals and folds that know how the window ends", async () => {
    const peek = faultyOutput(({ window, forecasts, cross_validation }) => {
      forecasts.KO!.upper[0]! += Number(window.end.slice(8)) * 1e-9;
      cross_validation!.XOM!.folds[1]!.rmse = Number(window.end.slice(8));
    });
    const { findings } = await audit(cleanMarket(DATES[220]), RIDGE, { truncations: 1 }, peek);
    assert.deepEqual(
      findings.map(({ code, ticker, evidence }) => [code, ticker, evidence.at]),
      [
        ["interval_changed", "KO", `upper ${DATES[220]}`],
        ["fold_changed", "XOM", "folds[1].rmse"],
      ],
    );
  });

  test("gives no verdict if a job of the audit loses one or all tickers with its engine's processes", async () => {
    const lost = [
      [2, ["JPM"]],
      [2, ["AAPL", "JPM", "KO", "MSFT", "XOM"]],
      [1, ["JPM"]],
    ] as const;
    for (const [job, crashed] of lost.slice(0, WHOLE_MATRIX ? 3 : 2)) {
      const openEngine = engineThatCrashes(job, crashed);
      await assert.rejects(audit(cleanMarket(DATES[220]), RIDGE, { truncations: 1, openEngine }), {
        code: "engine_crashed",
        message: new RegExp(
          `^${crashed[0]}: the worker died 2 times.*; this failed the ticker in a job of the audit, .* audit again$`,
        ),
      });
    }
  });

  test("ends with its signal between two jobs, and leaves no copy of a blob", async () => {
    await openSharedEngine({ environment: "ml", libraries: [], workers: 1 }).close();
    const before = workFolders();
    const caller = new AbortController();
    const onStep = () => caller.abort(new Error("no longer wanted"));
    await assert.rejects(audit(cleanMarket(DATES[220]), RIDGE, { signal: caller.signal, onStep }), {
      code: "canceled",
    });
    assert.deepEqual(workFolders(), before);
  });

  test("is not run if the config disables the job", async () => {
    const off = networkConfig("mlp", { status: false });
    const { status, reason } = await audit(smallMarket(), off, { operation: "run_dl_job" });
    assert.deepEqual([status, reason], ["not_run", "the config disables the job"]);
  });
});
