/** `npm run bench -- skill` runs the rows that its arguments name, and refuses bad arguments in one line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BenchError } from "../bench/bench-error.ts";
import { skillOptions } from "../bench/skill/skill-options.ts";
import { DEFAULT_ROWS, rowsNamed, SKILL_ROWS, type SkillRow } from "../bench/skill/skill-rows.ts";
import { parseMlSettings } from "../src/contract/config/ml-settings.ts";

const PRICES = "examples/sp500-prices/prices.csv.gz";
const GOOD = ["--prices", PRICES, "--cut", "2018-12-31"];

function rowNamed(name: string): SkillRow {
  return rowsNamed([name])[0]!;
}

test("rows have unique names, and networks and refits run only by name", () => {
  assert.equal(new Set(SKILL_ROWS.map(({ name }) => name)).size, SKILL_ROWS.length);
  for (const name of ["portfolio-lstm", "pooled-ridge-every-63"]) {
    assert.ok(!DEFAULT_ROWS.some((row) => row.name === name));
    assert.equal(rowNamed(name).name, name);
  }
  assert.throws(
    () => rowsNamed(["nothing"]),
    /no row is called "nothing"; there are pooled-lightgbm,.*refits/,
  );
});

test("a group names its rows, each once, and every row that a row names is a row", () => {
  const all = rowsNamed(["refits"]);
  assert.deepEqual(rowsNamed(["pooled-ridge", "refits"]), rowsNamed(["refits"]));
  for (const { than } of all) if (than) rowNamed(than);
});

test("our rows with refits are the config with the two settings in their names", () => {
  for (const row of rowsNamed(["refits"])) {
    if (row.by === "peer" || row.operation !== "run_ml_job") continue;
    const { refitEvery, window } = parseMlSettings(JSON.stringify(row.config)).settings;
    const [, every] = /-every-(\d+)/.exec(row.name) ?? [];
    const [, dates] = /-window-(\d+)/.exec(row.name) ?? [];
    assert.deepEqual([refitEvery, window], [every && Number(every), dates && Number(dates)], row.name);
  }
  const { config } = rowNamed("pooled-ridge-every-63-window-750") as { config: object };
  assert.deepEqual(config, {
    "ML params": {
      ...(rowNamed("pooled-ridge") as { config: { "ML params": object } }).config["ML params"],
      refit_every: 63,
      window: 750,
    },
  });
});

test("reads given arguments", () => {
  const options = skillOptions([
    ...GOOD,
    "--until",
    "2019-06-28",
    "--rows",
    "ridge,pooled-ridge",
    "--cores",
    "1",
  ]);
  assert.deepEqual(
    [
      options.prices,
      options.cut,
      options.until,
      options.rows.map(({ name }) => name),
      options.cores,
      options.out,
    ],
    [PRICES, "2018-12-31", "2019-06-28", ["ridge", "pooled-ridge"], 1, undefined],
  );
  assert.equal(skillOptions(GOOD).rows, DEFAULT_ROWS);
});

test("refuses invalid arguments in one line that names them", () => {
  const refused: [args: string[], message: RegExp][] = [
    [[], /^usage: /],
    [["--cut", "2018-12-31"], /^usage: /],
    [[...GOOD, "--until", "soon"], /^--until: "soon" is not a date; write YYYY-MM-DD$/],
    [[...GOOD, "--rows", "ridge,nothing"], /^--rows: no row is called "nothing"; /],
    [[...GOOD, "--cores", "0"], /^--cores: takes a positive integer, not "0"$/],
    [[...GOOD, "--out", "no/such/folder/skill.json"], /^--out: there is no folder "no\/such\/folder"$/],
    [[...GOOD, "--core", "2"], /Unknown option '--core'.*usage: /],
  ];
  for (const [args, message] of refused) {
    assert.throws(
      () => skillOptions(args),
      (error) => error instanceof BenchError && message.test(error.message) && !error.message.includes("\n"),
      `${args.join(" ")}`,
    );
  }
});
