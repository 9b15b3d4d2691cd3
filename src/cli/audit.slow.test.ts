import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { jsonLines, mucast } from "../../test/end-to-end/commands/command.ts";
import { auditBlobSchema } from "../contract/output/audit-blob.ts";
import { refusedCommand } from "./refused-command.testing.ts";

const tiny = "test/cases/tiny/data";
const BLOBS = [
  "--feature-url",
  `${tiny}/feature_engine_tiny.json`,
  "--data-extractor-url",
  `${tiny}/data_extractor_tiny.json`,
];
const RIDGE = '{"ML params": {"model": "ridge", "n_splits": 2, "cv_test_size": 3}}';
const TRUNCATION = ["--checks", "truncation", "--truncations", "1"];

describe("mucast audit", { concurrency: 2, timeout: 600_000 }, () => {
  test("prints the verdict on stdout, the checks with their costs and a table on stderr, and ends with 0", async () => {
    const { code, stdout, stderr } = await mucast(["audit", ...BLOBS, "--config", RIDGE, ...TRUNCATION]);
    assert.equal(code, 0, stderr);
    const verdict = auditBlobSchema.parse(JSON.parse(stdout));
    assert.equal(verdict.verdict, "clean");
    assert.deepEqual(Object.keys(verdict.checks), ["truncation"]);
    assert.equal(verdict.inputs.feature.url, "feature_engine_tiny.json");
    assert.match(stderr, /^truncation: 2 jobs; .*\ntruncation: 1 of 2\ntruncation: 2 of 2\nverdict: clean\./);
    assert.match(
      stderr,
      /verdict: clean\. .*No earlier day's feature blob.*\nWhat these checks cannot see:\n- Without an earlier (.*\n)*\ncheck +result/,
    );
  });

  test("ends as the job does if there is no verdict", async () => {
    const config = '{"ML params": {"model": "ridge", "model_params": {"alpha": "much"}}}';
    const args = ["audit", ...BLOBS, "--config", config, ...TRUNCATION, "--log", "json"];
    const { code, stdout, stderr } = await mucast(args);
    assert.deepEqual([code, stdout], [2, ""]);
    assert.equal(jsonLines(stderr).at(-1)?.code, "invalid_model_params");
  });

  test("ends with 8 if history was rewritten, and with 0 if there are only notes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "mucast-audit-"));
    const earlier = (change: (blob: { prices: Record<string, number[]> }) => void) => {
      const blob = JSON.parse(readFileSync(`${tiny}/data_extractor_tiny.json`, "utf8"));
      change(blob);
      const path = join(folder, "earlier.json");
      writeFileSync(path, JSON.stringify(blob));
      return ["--checks", "restatement", "--previous-data-extractor-url", path];
    };
    try {
      const rewritten = earlier(({ prices }) => (Object.values(prices)[0]![20]! *= 1.01));
      const found = await mucast(["audit", ...BLOBS, "--config", RIDGE, ...rewritten]);
      assert.equal(found.code, 8, found.stderr);
      const verdict = auditBlobSchema.parse(JSON.parse(found.stdout));
      assert.deepEqual([verdict.verdict, verdict.finding_counts], ["found", { price_rewritten: 1 }]);
      assert.match(found.stderr, /restatement: one reading of .*\n(.*\n)*1\. high price_rewritten: /);
      const split = earlier(({ prices }) => {
        const [ticker, own] = Object.entries(prices)[0]!;
        prices[ticker] = own.map((price) => 4 * price);
      });
      const noted = await mucast(["audit", ...BLOBS, "--config", RIDGE, ...split]);
      assert.equal(noted.code, 0, noted.stderr);
      const { verdict: word, findings } = auditBlobSchema.parse(JSON.parse(noted.stdout));
      assert.deepEqual(
        [word, findings.map(({ code, severity }) => [code, severity])],
        ["clean", [["price_rescaled", "note"]]],
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  const refused: readonly (readonly [what: string, args: readonly string[], told: RegExp])[] = [
    ["no cut at all", ["--config", RIDGE, "--truncations", "0"], /--truncations: must be >= 1, got 0/],
    ["a number that is none", ["--config", RIDGE, "--permutations", "x"], /must be a number, got "x"/],
    [
      "a check that is none",
      ["--config", RIDGE, "--checks", "truncation,luck"],
      /--checks: must be one of truncation, .*, got "luck"/,
    ],
    [
      "a config of both jobs",
      ["--config", '{"ML params": {}, "NN params": {}}'],
      /--operation: must be run_ml_job or run_dl_job/,
    ],
    ["a config of none", ["--config", "{}"], /neither "ML params" nor "NN params"/],
    [
      "the other job",
      ["--config", RIDGE, "--operation", "run_dl_job"],
      /no section of "run_dl_job"; it is one of run_ml_job/,
    ],
  ];
  for (const [what, args, told] of refused) {
    test(`refuses ${what}`, async () => {
      const { code, said } = await refusedCommand(["audit", ...BLOBS, ...args]);
      assert.equal(code, 2);
      assert.match(said, told);
    });
  }
});
