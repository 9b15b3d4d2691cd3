import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { engineThatCrashes } from "../../test/end-to-end/crashing-engine.ts";
import { newFolder, removeFolders, runJob } from "../../test/end-to-end/job-runs.ts";
import { openQuickEngine } from "../../test/end-to-end/shared-engines.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";
import { REPLAY_EXITS } from "../contract/output/replay-blob.ts";
import type { OpenEngine } from "../jobs/shared/job.ts";
import { compareOutputs } from "./compare-outputs.ts";
import { JsonFile } from "./json-file.ts";
import { readFacts } from "./recorded-output.ts";
import {
  CONFIG,
  changeDigit,
  changed,
  edited,
  FEATURES,
  noEngine,
  type Place,
  PRICES,
  placeOf,
  replay,
  TINY,
} from "./replay.testing.ts";

const LATER = ["config", "lock_sha256", "threads", "kernel_level"] as const;

describe("a replay", { timeout: 900_000 }, () => {
  let place: Place;
  before(async () => {
    place = await placeOf();
  });
  after(removeFolders);

  test("of the same blobs is identical, and leaves the same bytes twice and nothing else", async () => {
    const files = readdirSync(place.folder);
    const first = await replay({ outputUrl: place.output });
    assert.equal(first.verdict, "identical");
    assert.equal(first.reason, undefined);
    assert.equal(first.compared?.sha256, first.compared?.replayed_sha256);
    const bare = place.text
      .replace(/"id":"[^"]*",/, "")
      .replace(/"created_at":"[^"]*",/, "")
      .replace(/"machine":\{.*?\}\}\},/, "");
    assert.equal(first.compared?.sha256, createHash("sha256").update(bare).digest("hex"));
    assert.deepEqual(await replay({ outputUrl: place.output }), first);
    assert.deepEqual(readdirSync(place.folder), files);
  });

  test("takes inputs that the caller names, wherever they are", async () => {
    const path = join(await newFolder(), basename(place.output));
    writeFileSync(path, place.text);
    const named = { featureUrl: join(TINY, FEATURES), dataExtractorUrl: join(TINY, PRICES) };
    assert.equal((await replay({ outputUrl: path, ...named })).verdict, "identical");
  });

  test("reads no pipe, neither as a named input nor beside the output", { timeout: 600_000 }, async () => {
    const path = join(await newFolder(), basename(place.output));
    writeFileSync(path, place.text);
    const pipe = join(path, "..", FEATURES);
    execFileSync("mkfifo", [pipe]);
    for (const featureUrl of [pipe, undefined]) {
      const { reason, inputs } = await replay({ outputUrl: path, featureUrl });
      assert.equal(reason?.code, "inputs_gone");
      assert.deepEqual(inputs?.feature.tried, [{ url: FEATURES, problem: "invalid_request" }]);
    }
  });

  test("runs the job of networks as well, here one that is switched off", async () => {
    const config =
      '{"NN params": {"Dot prediction": {"status": false, "current option": "mlp"}, "x": {"secret": 1}}, "y": {}}';
    const { runDlJob } = await import("../jobs/dl/run-dl-job.ts");
    const pair = {
      folder: place.folder,
      features: join(place.folder, FEATURES),
      prices: join(place.folder, PRICES),
    };
    const { output } = await runJob(pair, config, 1, runDlJob, noEngine);
    const outputUrl = join(place.folder, `nn_engine_${output.id}.json`);
    assert.equal((await replay({ outputUrl }, noEngine)).verdict, "identical");
  });

  for (const [kind, name, mark] of [
    ["feature", FEATURES, '"ret_5"'],
    ["data_extractor", PRICES, '"GAMA"'],
  ] as const) {
    test(`runs nothing where a digit of the ${kind} blob has changed, and says which ticker and date`, async () => {
      const folder = await newFolder();
      const path = join(folder, name);
      copyFileSync(join(TINY, name), path);
      changeDigit(path, mark);
      const flag = kind === "feature" ? { featureUrl: path } : { dataExtractorUrl: path };
      const both = await replay({ outputUrl: place.output, ...flag }, noEngine);
      assert.equal(both.verdict, "differs");
      assert.equal(both.reason?.code, "inputs");
      const { change, sha256, found } = both.inputs![kind];
      assert.notEqual(found?.sha256, sha256);
      assert.equal(change?.values, 1);
      assert.equal(change?.tickers.count, 1);
      assert.equal(change?.dates?.count, 1);

      const alone = await changed(place, (text) => `${text} `);
      changeDigit(join(alone, "..", name), mark);
      const one = await replay({ outputUrl: alone }, noEngine);
      assert.equal(one.reason?.code, "inputs");
      assert.equal(one.inputs![kind].change, undefined);
    });
  }

  test("names both blobs where both have changed, and the same values in other bytes", async () => {
    const folder = await newFolder();
    const places = { featureUrl: join(folder, FEATURES), dataExtractorUrl: join(folder, PRICES) };
    for (const [name, mark] of [
      [FEATURES, '"ret_5"'],
      [PRICES, '"GAMA"'],
    ] as const) {
      copyFileSync(join(TINY, name), join(folder, name));
      changeDigit(join(folder, name), mark);
    }
    const both = await replay({ outputUrl: place.output, ...places }, noEngine);
    assert.match(
      both.reason!.message,
      /^nothing was run: feature_engine_tiny\.json .*; data_extractor_tiny\.json /,
    );
    assert.deepEqual(
      [both.inputs!.feature.change?.values, both.inputs!.data_extractor.change?.values],
      [1, 1],
    );

    writeFileSync(places.featureUrl, gzipSync(readFileSync(join(TINY, FEATURES))));
    const prices = readFileSync(join(TINY, PRICES), "utf8");
    writeFileSync(places.dataExtractorUrl, ` ${prices}`);
    const same = await replay({ outputUrl: place.output, ...places }, noEngine);
    assert.deepEqual([same.verdict, same.reason?.code], ["differs", "inputs"]);
    for (const { change } of Object.values(same.inputs!)) assert.equal(change?.tickers.count, 0);
    assert.match(
      same.reason!.message,
      /tiny\.json .*every value is the same: it is written.*; .*every value.*another window/,
    );
  });

  test("names the spelling where another program wrote every value again, and not where a value changed too", async () => {
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

  test("names the version that differs, and how much does", async () => {
    const outputUrl = await changed(
      place,
      edited((document) => {
        document.provenance.versions.catboost = "1.0.0";
        document.mu.ALFA! += 1e-9;
      }),
    );
    const { verdict, reason, versions, differences } = await replay({ outputUrl });
    assert.equal(verdict, "differs");
    assert.equal(reason?.code, "versions");
    assert.deepEqual(
      versions.map(({ name, recorded }) => [name, recorded]),
      [["catboost", "1.0.0"]],
    );
    assert.equal(differences?.first.path, "mu.ALFA");
    assert.equal(differences?.numbers, 1);
    assert.equal(differences?.others, 1);
  });

  test("names the kernels that differ where the numbers do, and is identical where they agree", async () => {
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

  test("pins the kernels where the output says that its job did", async () => {
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

  test("tells a ticker that one of the two runs lost with a process of its engine", async () => {
    const outputUrl = await changed(
      place,
      edited((document) => {
        document.failures.push({ ticker: "ALFA", code: "engine_crashed", message: "the worker died" });
      }),
    );
    const { verdict, reason } = await replay({ outputUrl });
    assert.deepEqual([verdict, reason?.code], ["differs", "engine_crashed"]);
    assert.match(reason!.message, /died at ALFA/);

    const [before, after] = [await JsonFile.open(place.output, "a"), await JsonFile.open(outputUrl, "b")];
    const compare = async (from: JsonFile, to: string) => compareOutputs(await readFacts(from), from, to);
    await assert.rejects(compare(before, outputUrl), { code: "engine_crashed" });
    assert.equal((await compare(after, outputUrl)).verdict, "identical", "both lost it");
    await Promise.all([before.close(), after.close()]);
  });

  test("ends with an error where its run loses every ticker with processes of the engine", async () => {
    const engine = engineThatCrashes(1, ["ALFA", "BETA", "GAMA"], openQuickEngine);
    await assert.rejects(replay({ outputUrl: place.output }, engine), {
      code: "engine_crashed",
      message:
        /^(ALFA|BETA|GAMA): the worker died 2 times: .*; the replay lost every ticker, .* replay again$/,
    });
  });

  test("calls a change of the output itself by no other name than a defect", async () => {
    for (const change of [
      edited((document) => {
        document.mu.GAMA = -document.mu.GAMA!;
      }),
      edited((document) => {
        document.warnings.pop();
      }),
      edited((document) => {
        delete document.cross_validation;
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

  test("of an output that kept no config asks for it, and compares what is recorded", async () => {
    const outputUrl = await changed(
      place,
      edited((document) => {
        for (const name of LATER) delete document.provenance[name];
        delete document.machine;
        delete document.metrics.intervals!.method;
        delete document.metrics.intervals!.constants;
        delete (document.model.intervals as { method?: string }).method;
      }),
    );
    const without = await replay({ outputUrl }, noEngine);
    assert.equal(without.verdict, "cannot_replay");
    assert.equal(without.reason?.code, "config_missing");
    const other = await replay({ outputUrl, config: `${CONFIG} ` }, noEngine);
    assert.equal(other.reason?.code, "config_differs");
    const { verdict, lacks } = await replay({ outputUrl, config: CONFIG });
    assert.equal(verdict, "identical");
    assert.deepEqual(lacks, [
      "metrics.intervals.method",
      "metrics.intervals.constants",
      "model.intervals.method",
      "provenance.config",
      "provenance.lock_sha256",
      "provenance.threads",
      "provenance.kernel_level",
    ]);
  });

  test("makes the intervals of a version before there was a method as that version did", async () => {
    const config = CONFIG.replace(', "method": "split"', "");
    const outputUrl = await changed(
      place,
      edited((document) => {
        delete document.provenance.config;
        delete document.metrics.intervals!.method;
        delete (document.model.intervals as { method?: string }).method;
        document.provenance.config_sha256 = createHash("sha256").update(config).digest("hex");
      }),
    );
    assert.equal((await replay({ outputUrl, config })).verdict, "identical");
  });

  test("leaves a config that is none to the job, which refuses it, also where its intervals had no method", async () => {
    for (const config of ["null", "", "[1", "[]", '{"ML params": null}', '{"ML params": {"intervals": 1}}']) {
      const outputUrl = await changed(
        place,
        edited((document) => {
          delete document.provenance.config;
          delete (document.model.intervals as { method?: string }).method;
          document.provenance.config_sha256 = createHash("sha256").update(config).digest("hex");
        }),
      );
      const { reason, problem } = await replay({ outputUrl, config }, noEngine);
      assert.deepEqual([reason?.code, problem?.code], ["job_refused", "invalid_request"], config);
    }
  });

  test("says where it has looked for inputs that are gone", async () => {
    const outputUrl = join(await newFolder(), basename(place.output));
    writeFileSync(outputUrl, place.text);
    const gone = await replay({ outputUrl }, noEngine);
    assert.equal(gone.verdict, "cannot_replay");
    assert.equal(gone.reason?.code, "inputs_gone");
    assert.deepEqual(gone.inputs?.feature, {
      url: FEATURES,
      sha256: gone.inputs?.feature.sha256,
      found: null,
      tried: [{ url: FEATURES, problem: "blob_not_found" }],
    });
    const remote = edited((document) => {
      document.provenance.feature_url = `https://127.0.0.1:9/blobs/data/${FEATURES}?sig=hunter2`;
    });
    writeFileSync(outputUrl, remote(place.text));
    const tried = (await replay({ outputUrl }, noEngine)).inputs?.feature.tried;
    assert.deepEqual(
      tried?.map(({ problem }) => problem),
      ["url_not_allowed"],
    );
  });

  for (const [given, name] of [
    ["featureUrl", FEATURES],
    ["dataExtractorUrl", PRICES],
  ] as const) {
    test(`cannot be done where ${name} goes between the comparison of its digest and the job`, async () => {
      for (const isNamed of [true, false]) {
        const outputUrl = await changed(place, (text) => `${text} `);
        const path = join(outputUrl, "..", name);
        const goes: OpenEngine = (need) => {
          rmSync(path);
          return openQuickEngine(need);
        };
        const { verdict, reason, inputs, problem } = await replay(
          { outputUrl, ...(isNamed ? { [given]: path } : {}) },
          goes,
        );
        assert.deepEqual([verdict, reason?.code], ["cannot_replay", "inputs_gone"]);
        assert.match(reason!.message, /: blob_not_found\); it went while the replay ran$/);
        assert.deepEqual([problem?.code, REPLAY_EXITS[verdict as "cannot_replay"]], ["blob_not_found", 7]);
        assert.equal(inputs?.[given === "featureUrl" ? "feature" : "data_extractor"].found, null);
      }
    });
  }

  test("ends with the error of a blob that its storage gave, and then did not give to the job", async () => {
    const outputUrl = await changed(place, (text) => `${text} `);
    const path = join(outputUrl, "..", FEATURES);
    const moved = `${path}.away`;
    const goes: OpenEngine = (need) => {
      renameSync(path, moved);
      const engine = openQuickEngine(need);
      const close = async () => {
        renameSync(moved, path);
        await engine.close();
      };
      return { ...engine, close };
    };
    await assert.rejects(replay({ outputUrl }, goes), { code: "blob_not_found" });
  });

  test("follows no path that an output records", async () => {
    const outside = join(await newFolder(), "feature_engine_1.json");
    copyFileSync(join(TINY, FEATURES), outside);
    for (const url of [
      outside,
      `../${basename(join(outside, ".."))}/feature_engine_1.json`,
      ".",
      "..",
      "a\0b",
      "file:///etc/hostname",
    ]) {
      const outputUrl = await changed(
        place,
        edited((document) => {
          document.provenance.feature_url = url;
        }),
      );
      const { reason, inputs } = await replay({ outputUrl }, noEngine);
      assert.equal(reason?.code, "inputs_gone", url);
      assert.ok(
        inputs!.feature.tried.every(({ url: shown }) => !shown.includes("/etc")),
        url,
      );
    }
  });

  test("runs no config that this version refuses, and shows its problem", async () => {
    for (const [section, code] of [
      ['{"model": "prophet"}', "unknown_model"],
      ['{"model": "catboost"}, "NN params": {"x": 1', "invalid_request"],
      ["", "invalid_request"],
      ["[".repeat(10_000), "invalid_request"],
      [`{"model": "${"x".repeat(40_000)}"}`, "too_large"],
    ] as const) {
      const outputUrl = await changed(
        place,
        edited((document) => {
          document.provenance.config = section;
        }),
      );
      const { verdict, reason, problem } = await replay({ outputUrl }, noEngine);
      assert.equal(verdict, "cannot_replay");
      assert.equal(reason?.code, "job_refused");
      assert.equal(problem?.code, code, section.slice(0, 80));
    }
  });

  test("shows values of any shape where the machine should stand, in a verdict that has a bound", async () => {
    const odd = { toString: 1, valueOf: null };
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`fact${i}`, "x".repeat(300)]));
    const nested = JSON.parse(`${'{"a":'.repeat(40)}{"toString":1}${"}".repeat(40)}`);
    for (const [value, isIdentical] of [
      [[odd, [odd]], true],
      [nested, true],
      [wide, true],
      ["a\0\u001b[31m\ud800", true],
      [{ threads: [odd] }, false],
    ] as const) {
      const outputUrl = await changed(
        place,
        edited((document) => {
          if (isIdentical) document.machine = value as never;
          else Object.assign(document.provenance, value);
        }),
      );
      const found = await replay({ outputUrl });
      assert.equal(found.verdict, isIdentical ? "identical" : "differs");
      assert.ok(found.machine.length > 0);
      assert.ok(JSON.stringify(found).length < 40_000);
    }
  });

  test("names no path where a job refuses a blob", async () => {
    const outputUrl = await changed(
      place,
      edited((document) => {
        document.provenance.feature_sha256 = createHash("sha256").update("{").digest("hex");
      }),
    );
    writeFileSync(join(outputUrl, "..", FEATURES), "{");
    const { reason, problem } = await replay({ outputUrl });
    assert.deepEqual([reason?.code, problem?.code], ["job_refused", "unreadable_blob"]);
    assert.match(problem!.detail, /^feature_engine_tiny\.json: /);
  });

  test("reads no name and no device that is longer than any job's", async () => {
    for (const name of ["feature_url", "data_extractor_url", "device"] as const) {
      const long = edited((document) => {
        document.provenance[name] = "x".repeat(100_000);
      });
      const { reason } = await replay({ outputUrl: await changed(place, long) }, noEngine);
      assert.equal(reason?.code, "another_schema");
    }
  });

  test("cannot be of a document of another schema, or without provenance", async () => {
    for (const change of [
      (text: string) => text.replace("mucast.forecast/1", "mucast.forecast/2"),
      (text: string) => text.replace(/"schema":"[^"]*",/, ""),
      (text: string) => text.replace('"operation":"run_ml_job"', '"operation":["run_ml_job"]'),
      (text: string) => text.replace('"provenance":', '"origin":'),
      (text: string) => text.replace(/"feature_sha256":"[^"]*"/, '"feature_sha256":"x"'),
      () => '{"schema":{"deep":[1]},"id":7,"created_at":null}',
      () => "{}",
    ]) {
      const outputUrl = await changed(place, change);
      const { verdict, reason } = await replay({ outputUrl }, noEngine);
      assert.equal(verdict, "cannot_replay");
      assert.equal(reason?.code, "another_schema");
    }
  });

  test("ends with an error where the output is cut off, or is not there", async () => {
    const half = await changed(place, (text) => text.slice(0, text.length / 2));
    await assert.rejects(replay({ outputUrl: half }, noEngine), { code: "unreadable_blob" });
    await assert.rejects(replay({ outputUrl: `${half}.gone` }, noEngine), { code: "blob_not_found" });
    const url = "https://blobs.example.com/c/data/ml_engine_1.json";
    await assert.rejects(replay({ outputUrl: url }, noEngine), { code: "url_not_allowed" });
  });
});
