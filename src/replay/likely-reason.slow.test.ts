import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { removeFolders } from "../../test/end-to-end/jobs/job-runs.ts";
import { openQuickEngine } from "../../test/end-to-end/jobs/shared-engines.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import type { OpenEngine } from "../jobs/shared/job.ts";
import { compareOutputs } from "./compare-outputs.ts";
import { likelyReason } from "./likely-reason.ts";
import { readFacts } from "./recorded-output.ts";
import { changed, edited, type Place, placeOf, replay } from "./replay.testing.ts";

const DIFFERENCES = {
  ...{ numbers: 0, others: 1, first: { path: "mu.A" }, largest: null, largest_relative: null, members: [] },
};

describe("a replay that differs", { timeout: 900_000 }, () => {
  let place: Place;
  before(async () => {
    place = await placeOf();
  });
  after(removeFolders);

  test("names the spelling if another program rewrote every value, but not if a value changed too", async () => {
    const rewritten = (text: string) =>
      execFileSync("python3", ["-c", "import json, sys; json.dump(json.load(sys.stdin), sys.stdout)"], {
        input: text.replace(/(?<=[[,])0(?=[,\]])/, "0.0"),
        encoding: "utf8",
      });
    const { verdict, reason, differences } = await replay({ outputUrl: await changed(place, rewritten) });
    assert.deepEqual([verdict, reason?.code], ["differs", "spelling"]);
    assert.match(
      reason!.message,
      /every value is the same, and \d+ (is|are) written in another way, such as /,
    );
    assert.deepEqual([differences!.numbers, differences!.others], [0, 0]);
    assert.ok(differences!.spellings! > 0);

    const alsoChanged = (text: string) => rewritten(edited(({ mu }) => (mu.ALFA! += 1e-9))(text));
    const both = await replay({ outputUrl: await changed(place, alsoChanged) });
    assert.equal(both.reason?.code, "defect");
    assert.equal(both.differences!.numbers, 1);
  });

  test("names versions and a commit that differ, with the size of the differences, and compares as with an older one", async () => {
    const commit = "0123456789abcdef0123456789abcdef01234567-dirty";
    const outputUrl = await changed(
      place,
      edited((document) => {
        document.provenance.versions.catboost = "1.0.0";
        document.provenance.commit = commit;
        document.mu.ALFA! += 1e-9;
        delete document.metrics.score.pooled.up_share;
      }),
    );
    const { verdict, reason, versions, differences, lacks } = await replay({ outputUrl });
    assert.deepEqual([verdict, reason?.code], ["differs", "versions"]);
    assert.deepEqual(
      versions.map(({ name, recorded }) => [name, recorded]),
      [
        ["catboost", "1.0.0"],
        ["commit", commit],
      ],
    );
    assert.match(
      reason!.message,
      new RegExp(`^other versions: catboost 1\\.0\\.0, now .*; commit ${commit}, now `),
    );
    assert.deepEqual(lacks, ["metrics.score.pooled.up_share"]);
    assert.deepEqual([differences!.first.path, differences!.numbers, differences!.others], ["mu.ALFA", 1, 2]);
  });

  test("a defect is qualified, and the advice names the commit, by what identifies the build", () => {
    const facts = { inputs: [], machine: [], crashed: [], device: "cpu", differences: DIFFERENCES };
    const commit = "0".repeat(40);
    const same = "inputs, versions and processor are the same";
    for (const [build, message] of [
      [commit, same],
      [undefined, `${same}, but neither output names the commit of mucast`],
      [`${commit}-dirty`, `${same}, but mucast was built from changed files of one commit`],
    ] as const) {
      const found = likelyReason({ ...facts, versions: [], commit: build, recordedCommit: build });
      assert.deepEqual([found.code, found.message.split(";")[0]], ["defect", message]);
    }
    for (const [recordedCommit, advice] of [
      ["1".repeat(40), /^Install the version and commit of mucast that the output records/],
      [undefined, /^Install the version of mucast .* The output records no commit/],
    ] as const) {
      const versions = [{ name: "commit", recorded: recordedCommit ?? null, replayed: commit }];
      assert.match(likelyReason({ ...facts, versions, commit, recordedCommit }).advice, advice);
    }
  });

  test("names the kernels that differ if the numbers do, and is identical if they agree", async () => {
    const machine = (document: OutputBlob) => {
      document.machine!.blas.numpy = { name: "openblas", version: "0.3.30", kernel: "Prescott" };
    };
    const agreed = await replay({ outputUrl: await changed(place, edited(machine)) });
    assert.equal(agreed.verdict, "identical");
    assert.ok(agreed.machine.some(({ name }) => name === "machine.blas.numpy.kernel"));
    const outputUrl = await changed(
      place,
      edited((document) => {
        machine(document);
        document.forecasts.BETA!.predicted[1]! *= 1 + 1e-12;
      }),
    );
    const { reason, differences } = await replay({ outputUrl });
    assert.equal(reason?.code, "instruction_set");
    assert.equal(differences?.first.path, "forecasts.BETA.predicted[1]");
    assert.ok(differences!.largest_relative!.relative! < 1e-11);
  });

  test("pins the kernels if the output says that its job did", async () => {
    const outputUrl = await changed(
      place,
      edited((document) => {
        document.provenance.kernel_level = "x86-64-v3";
      }),
    );
    const asked: (boolean | undefined)[] = [];
    const unpinned: OpenEngine = ({ portable, ...need }) => {
      asked.push(portable);
      return openQuickEngine(need);
    };
    const { reason, machine } = await replay({ outputUrl }, unpinned);
    assert.deepEqual(asked, [true]);
    assert.equal(reason?.code, "instruction_set");
    assert.deepEqual(machine, [{ name: "kernel_level", recorded: "x86-64-v3", replayed: null }]);
  });

  test("reports a ticker that one of the two runs lost with a process of its engine", async () => {
    const outputUrl = await changed(
      place,
      edited((document) => {
        document.failures.push({ ticker: "ALFA", code: "engine_crashed", message: "the worker died" });
      }),
    );
    const { verdict, reason } = await replay({ outputUrl });
    assert.deepEqual([verdict, reason?.code], ["differs", "engine_crashed"]);
    assert.match(reason!.message, /died at ALFA/);

    const [before, after] = [place.output, outputUrl].map((path) => ({ path, name: "output" }));
    await assert.rejects(compareOutputs((await readFacts(before!))!, before!, after!), {
      code: "engine_crashed",
    });
    const both = await compareOutputs((await readFacts(after!))!, after!, after!);
    assert.equal(both.verdict, "identical", "both lost it");
  });

  test("reports a change of the output itself only as a defect", async () => {
    for (const change of [
      edited((document) => {
        document.mu.GAMA = -document.mu.GAMA!;
      }),
      edited((document) => {
        delete document.metrics.score.pooled.up_share;
      }),
      (text: string) => text.replace('"mu":', '"extra":1,"mu":'),
    ]) {
      const { verdict, reason, lacks } = await replay({ outputUrl: await changed(place, change) });
      assert.equal(verdict, "differs");
      assert.equal(reason?.code, "defect");
      assert.deepEqual(lacks, []);
    }
  });

  test("says which members of a choice its recorded losses do not support", async () => {
    const choice = { candidates: [{ grid: { depth: [2, 3] } }], warm_up: 3 };
    const own = { model: "catboost", n_splits: 2, cv_test_size: 3, model_params: { iterations: 2 }, choice };
    const chosen = await placeOf(JSON.stringify({ "ML params": own }));
    assert.equal((await replay({ outputUrl: chosen.output })).verdict, "identical");
    const outputUrl = await changed(
      chosen,
      edited((document) => {
        document.choice!.members = [1];
      }),
    );
    const { reason } = await replay({ outputUrl });
    assert.equal(reason?.code, "defect");
    assert.match(
      reason!.message,
      /the output contradicts itself: choice\.members has 1, and its losses support 0; /,
    );
    const other = await replay({
      outputUrl: await changed(
        chosen,
        edited(({ mu }) => (mu.ALFA! *= 2)),
      ),
    });
    assert.doesNotMatch(other.reason!.message, /contradicts/);
  });
});
