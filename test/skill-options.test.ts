/** `npm run bench -- skill` runs the rows that its arguments name, and refuses bad arguments in one line. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { BenchError } from "../bench/bench.ts";
import { skillOptions } from "../bench/skill/skill-options.ts";
import { DEFAULT_ROWS, rowsNamed, SKILL_ROWS } from "../bench/skill/skill-rows.ts";

const PRICES = "test/cases/sp500-20/prices.csv.gz";
const GOOD = ["--prices", PRICES, "--cut", "2018-12-31"];

test("rows have unique names, and networks run only by name", () => {
  assert.equal(new Set(SKILL_ROWS.map(({ name }) => name)).size, SKILL_ROWS.length);
  assert.ok(!DEFAULT_ROWS.some((row) => row.name === "portfolio-lstm"));
  for (const { name, than } of SKILL_ROWS)
    assert.deepEqual(rowsNamed([name, than ?? name]).length, than ? 2 : 1);
  assert.throws(() => rowsNamed(["nothing"]), /no row is called "nothing"; there are pooled-lightgbm,/);
});

test("reads given arguments", () => {
  const options = skillOptions([
    ...GOOD,
    "--until",
    "2019-06-28",
    "--rows",
    "ridge,pooled-ridge",
    "--delay",
    "1",
    "--cores",
    "1",
  ]);
  assert.deepEqual(
    [
      options.prices,
      options.cut,
      options.until,
      options.delay,
      options.rows.map(({ name }) => name),
      options.cores,
      options.out,
    ],
    [PRICES, "2018-12-31", "2019-06-28", 1, ["ridge", "pooled-ridge"], 1, undefined],
  );
  assert.equal(skillOptions(GOOD).rows, DEFAULT_ROWS);
});

test("refuses invalid arguments in one line that names them", () => {
  const refused: [args: string[], message: RegExp][] = [
    [[], /^usage: /],
    [["--cut", "2018-12-31"], /^usage: /],
    [[...GOOD, "--until", "soon"], /^--until: "soon" is not a date; write YYYY-MM-DD$/],
    [[...GOOD, "--rows", "ridge,nothing"], /^--rows: no row is called "nothing"; /],
    [[...GOOD, "--delay", "6"], /^--delay: takes an integer from 0 to 5, not "6"$/],
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
