import assert from "node:assert/strict";
import { test } from "node:test";
import { readOutput } from "../../client/read-output.ts";
import type { AuditBlob } from "../../contract/output/audit-blob.ts";
import type { ReplayBlob } from "../../contract/output/replay-blob.ts";
import { problemOf } from "../../contract/problems/problem.ts";
import { mlText } from "../../outputs/outputs.testing.ts";
import { checkVerdicts } from "./check-verdicts.ts";

const DOCUMENT = readOutput(JSON.parse(mlText({ tickers: ["A"] })));
const OUTPUT = { name: "output.json", sha256: "a".repeat(64), document: DOCUMENT };
const { provenance } = DOCUMENT;

const REPLAY: ReplayBlob = {
  schema: "mucast.replay/1",
  id: "1",
  verdict: "identical",
  output: { url: "output.json", sha256: OUTPUT.sha256, operation: "run_ml_job", id: "1", created_at: null },
  lacks: [],
  versions: [],
  machine: [],
};

const AUDIT: AuditBlob = {
  schema: "mucast.audit/1",
  id: "1",
  operation: "run_ml_job",
  verdict: "found",
  checks: { foresight: { status: "found", cost: "one reading", tests: 3, facts: {} } },
  findings: [
    {
      number: 1,
      check: "foresight",
      code: "knows_next_price",
      severity: "high",
      message: "<b>f</b> knows",
      evidence: {},
      advice: "Look.",
    },
  ],
  finding_counts: { knows_next_price: 1 },
  accepted: [],
  inputs: {
    feature: { url: "f", sha256: provenance.feature_sha256 },
    data_extractor: { url: "p", sha256: provenance.data_extractor_sha256 },
    config_sha256: provenance.config_sha256,
  },
  blind_spots: ["what was left out before"],
  versions: {},
};

const file = (value: unknown) => [{ name: "verdict.json", value }];

test("a verdict is shown beside the output that it judges", () => {
  const other = { ...OUTPUT, sha256: "b".repeat(64) };
  const [first, second] = checkVerdicts([other, OUTPUT], file(REPLAY), file(AUDIT));
  assert.equal(first!.replay, undefined);
  assert.deepEqual([second!.replay!.verdict, second!.replay!.isGood], ["identical", true]);
  assert.match(second!.replay!.sentence, /the same bytes/);
  assert.equal(second!.audit!.isGood, false);
  assert.match(second!.audit!.sentence, /1 check \(foresight\) found signs of look-ahead/);
  assert.deepEqual(second!.audit!.lines, [
    "high knows_next_price: <b>f</b> knows",
    "Not covered by any check: what was left out before",
  ]);
  assert.deepEqual(first!.audit, second!.audit, "both are of the same blobs and config");
});

test("a verdict on something else, and a file that is not a verdict, are refused", () => {
  const strange = { ...REPLAY, output: { ...REPLAY.output, sha256: "c".repeat(64) } };
  assert.throws(() => checkVerdicts([OUTPUT], file(strange), []), {
    code: "invalid_request",
    message: /on an output that is not given/,
  });
  const elsewhere = { ...AUDIT, inputs: { ...AUDIT.inputs, config_sha256: "c".repeat(64) } };
  assert.throws(() => checkVerdicts([OUTPUT], [], file(elsewhere)), {
    code: "invalid_request",
    message: /inputs and a config/,
  });
  assert.throws(() => checkVerdicts([OUTPUT], file(AUDIT), []), {
    code: "unreadable_blob",
    message: /verdict\.json is not a verdict of mucast replay/,
  });
  assert.throws(
    () => checkVerdicts([OUTPUT], [], file(null)),
    (error) => problemOf(error).title === "The document is not the expected verdict",
  );
});
