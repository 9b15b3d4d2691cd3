import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { appendFileSync, readFileSync, rmSync } from "node:fs";
import { after, describe, test } from "node:test";
import { removeFolders, writeMarket } from "../../test/end-to-end/jobs/job-runs.ts";
import { openSharedEngine } from "../../test/end-to-end/jobs/shared-engines.ts";
import { cleanMarket, weekdays } from "../../test/end-to-end/markets/market.ts";
import { JOBS, type Jobs } from "../jobs/run-job.ts";
import type { AuditCheck } from "./check.ts";
import { auditContext, auditInputs } from "./checked.testing.ts";
import { foresight } from "./foresight/foresight.ts";
import { runAudit } from "./run-audit.ts";
import { skill } from "./skill/skill.ts";
import { truncation } from "./truncation/truncation.ts";

after(removeFolders);

const RIDGE = '{"ML params": {"model": "ridge", "n_splits": 2}}';

/** Jobs after each of which something happens. */
function afterJob(happens: () => void): Jobs {
  const run_ml_job: Jobs["run_ml_job"] = async (request, context) => {
    const record = await JOBS.run_ml_job(request, context);
    happens();
    return record;
  };
  return { ...JOBS, run_ml_job };
}

/** The audit of a market of five tickers, without an earlier day. */
async function marketAudit(learningEnd?: string) {
  const { features, prices } = await writeMarket(cleanMarket(learningEnd));
  const sha256 = createHash("sha256").update(readFileSync(features)).digest("hex");
  const request = { featureUrl: features, dataExtractorUrl: prices, config: RIDGE, id: "audit" };
  const context = auditContext({ openEngine: openSharedEngine });
  const run = (checks: readonly AuditCheck[], jobs?: Jobs) =>
    runAudit(auditInputs({ request, truncations: 1 }), context, { checks, jobs });
  return { features, prices, sha256, run };
}

describe("an audit", { timeout: 600_000 }, () => {
  test("runs the job on the whole blobs once, for truncation and skill; each gives the same result by itself, and again", async () => {
    let runs = 0;
    const counted = afterJob(() => runs++);
    const { run } = await marketAudit();
    const both = await run([truncation, skill], counted);
    assert.equal(runs, 2);
    assert.match(both.checks.skill!.cost, /^no additional job/);
    const alone = await run([skill], counted);
    assert.deepEqual([runs, alone.checks.skill!.cost], [3, "one job"]);
    assert.deepEqual([alone.checks.skill!.facts, alone.inputs], [both.checks.skill!.facts, both.inputs]);
    assert.equal(JSON.stringify(await run([skill])), JSON.stringify(alone));
  });

  test("takes the digest of a blob from the reading of the job", async () => {
    const { features, sha256, run } = await marketAudit(weekdays(260)[150]);
    const { inputs, checks } = await run(
      [skill],
      afterJob(() => rmSync(features)),
    );
    // Its planted signal is more than a real market shows.
    assert.deepEqual([inputs.feature.sha256, checks.skill!.status], [sha256, "found"]);
  });

  test("gives no verdict on a blob that changes meanwhile", async () => {
    const { features, run } = await marketAudit(weekdays(260)[150]);
    const growing = afterJob(() => appendFileSync(features, "\n"));
    await assert.rejects(run([skill, foresight], growing), {
      code: "blob_unavailable",
      message: /changed while it was audited; run again/,
    });
  });
});
