/** `refit_every` and `window` of run_dl_job: what they leave unchanged, and what is reported about them. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { auditContext, auditInputs } from "../../../src/audit/checked.testing.ts";
import { runAudit } from "../../../src/audit/run-audit.ts";
import { truncation } from "../../../src/audit/truncation/truncation.ts";
import type { OutputBlob } from "../../../src/contract/output/output-blob.ts";
import { JOBS } from "../../../src/jobs/run-job.ts";
import { validateJob } from "../../../src/jobs/validate-job.ts";
import { openDocument } from "../../../src/outputs/open-document.ts";
import { replayOutput } from "../../../src/replay/replay.ts";
import { checkedEvidence } from "../../../src/report/evidence/check-metrics.ts";
import { IN_RELEASE_TIER, WHOLE_MATRIX } from "../../whole-matrix.testing.ts";
import { removeFolders, withoutIdentity, writeMarket } from "../jobs/job-runs.ts";
import { openSharedEngine } from "../jobs/shared-engines.ts";
import { runNetworkJob } from "./network-jobs.ts";
import { config, DIRTY, EVERY, LISTINGS, RELATIVE, sampled } from "./refitted-networks.ts";

after(removeFolders);

test("a single block gives the forecasts of a job without refits, and a warning", async () => {
  const blobs = await writeMarket(DIRTY);
  for (const [option, settings, sections] of sampled([
    ["mlp", { shrinkage: "own" }, { intervals: {}, training: { ensemble: 2 } }],
    ["portfolio_lstm", RELATIVE, { intervals: {} }],
  ] as const)) {
    const without = await runNetworkJob(blobs, config(option, settings, sections));
    const one = await runNetworkJob(blobs, config(option, { ...settings, refit_every: 1000 }, sections));
    const { refits, model, warnings, provenance: _, id: __, created_at: ___, ...rest } = one.output;
    assert.equal(refits!.blocks.length, 1);
    assert.equal(model.refit_every, 1000);
    assert.deepEqual(
      warnings.filter(({ code }) => code !== "no_refit"),
      without.output.warnings,
    );
    assert.equal(warnings.length, without.output.warnings.length + 1);
    for (const [key, value] of Object.entries(rest)) {
      assert.deepEqual(value, without.output[key as keyof OutputBlob], key);
    }
  }
});

test("any number of workers gives the same bytes", async () => {
  const blobs = await writeMarket(DIRTY);
  for (const [option, settings] of sampled([
    ["mlp", { refit_every: EVERY, shrinkage: "pooled" }],
    ["lstm", { refit_every: EVERY }],
    ["portfolio_lstm", { refit_every: EVERY, ...RELATIVE }],
    ["portfolio_transformer", { refit_every: EVERY }],
  ] as const)) {
    const text = config(option, settings, { training: { ensemble: 2 }, intervals: {} });
    // Other files use the engine with three workers, too.
    const [one, ...more] = await Promise.all(
      (WHOLE_MATRIX ? [1, 2, 3, 4] : [1, 3]).map((workers) => runNetworkJob(blobs, text, workers)),
    );
    for (const { text } of more) assert.equal(withoutIdentity(text), withoutIdentity(one!.text), option);
  }
});

test("a preview shows the networks, blocks and warnings of the job", async () => {
  const blobs = await writeMarket(DIRTY);
  for (const [option, settings, ensemble] of sampled([
    ["mlp", { refit_every: 9 }, 2],
    ["portfolio_lstm", { ...RELATIVE, refit_every: 9 }, 1],
    ["portfolio_lstm", { window: 50 }, 1],
  ] as const)) {
    const text = config(option, settings, { training: { ensemble, epochs: 3 } });
    const request = {
      featureUrl: blobs.features,
      dataExtractorUrl: blobs.prices,
      config: text,
      id: "preview",
    };
    const preview = await validateJob(request, auditContext());
    const { output, events } = await runNetworkJob(blobs, text);
    const last = events.findLast((event) => event.kind === "progress" && event.stage === "fit");
    assert.equal(preview.refits!.blocks, output.refits!.blocks.length);
    assert.ok(last?.kind === "progress");
    assert.deepEqual([last.done, last.total], [3 * preview.refits!.fits, 3 * preview.refits!.fits]);
    assert.ok(preview.refits!.fit_bytes! > 0);
    const late = ({ code }: { readonly code: string }) => code === "late_ticker";
    assert.deepEqual(preview.warnings.filter(late), output.warnings.filter(late));
    assert.deepEqual(
      preview.tickers.map(({ ticker, fit_rows }) => [ticker, fit_rows]),
      Object.entries(output.fits!).map(([ticker, { fit_rows }]) => [ticker, fit_rows]),
    );
    assert.deepEqual(
      preview.failures.map(({ ticker, code }) => [ticker, code]),
      output.failures.map(({ ticker, code }) => [ticker, code]),
    );
  }
});

test("the metrics of the output match its forecasts", IN_RELEASE_TIER, async () => {
  for (const [option] of sampled([["mlp"], ["portfolio_lstm"]] as const)) {
    const text = config(option, { refit_every: 8, shrinkage: "pooled" }, { intervals: {} });
    const { url } = await runNetworkJob(await writeMarket(DIRTY), text);
    const document = await openDocument(url, { policy: { allowed: [] }, blobUrl: undefined });
    const evidence = checkedEvidence(document);
    assert.ok(evidence.meanTable !== undefined);
    const means = new Set(evidence.rows.flatMap(({ trainingMean }) => [...trainingMean]));
    assert.ok(means.size > evidence.rows.length);
  }
});

for (const [option, settings, market] of sampled([
  ["mlp", { refit_every: 15, intervals: {} }, LISTINGS],
  ["portfolio_lstm", { ...RELATIVE, refit_every: 15, window: 60 }, DIRTY],
] as const)) {
  test(
    `the audit's truncations of ${option} ${JSON.stringify(settings)} are clean, and a replay is identical`,
    IN_RELEASE_TIER,
    async () => {
      const { features, prices } = await writeMarket(market);
      const text = config(option, settings);
      const request = { featureUrl: features, dataExtractorUrl: prices, config: text, id: "audit" };
      const context = auditContext({ openEngine: openSharedEngine });
      const inputs = auditInputs({ request, operation: "run_dl_job" });
      const { checks } = await runAudit(inputs, context, { checks: [truncation] });
      assert.equal(checks.truncation!.status, "clean");
      const record = await JOBS.run_dl_job(request, context);
      const { verdict } = await replayOutput(
        { id: "replay", outputUrl: fileURLToPath(record.output_url) },
        context,
      );
      assert.equal(verdict, "identical");
    },
  );
}
