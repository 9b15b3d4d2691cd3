/** `refit_every` and `window` of run_dl_job: what they leave unchanged, and what is reported about them. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { auditContext, auditInputs } from "../../../src/audit/checked.testing.ts";
import { runAudit } from "../../../src/audit/run-audit.ts";
import { truncation } from "../../../src/audit/truncation/truncation.ts";
import { JOBS } from "../../../src/jobs/run-job.ts";
import { validateJob } from "../../../src/jobs/validate-job.ts";
import { replayOutput } from "../../../src/replay/replay.ts";
import { IN_RELEASE_TIER } from "../../whole-matrix.testing.ts";
import { removeFolders, writeMarket } from "../jobs/job-runs.ts";
import { openSharedEngine } from "../jobs/shared-engines.ts";
import { runNetworkJob } from "./network-jobs.ts";
import { config, DIRTY, LISTINGS, RELATIVE, sampled } from "./refitted-networks.ts";

after(removeFolders);

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
