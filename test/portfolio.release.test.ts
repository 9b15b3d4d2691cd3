/** The way from an output to a portfolio as in docs/output.md: real prices, a real job, pandas and a real optimizer. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { lockedPython } from "../scripts/locked-python.ts";
import type { OutputBlob } from "../src/contract/output/output-blob.ts";
import { COLUMNS } from "../src/export/export-forecasts.ts";
import { codeBlocks } from "./docs/code-blocks.testing.ts";
import { jsonLines, mucast } from "./end-to-end/commands/command.ts";

const run = promisify(execFile);
const PRICES = "test/cases/sp500-20/prices.csv.gz";
const EXAMPLE = "examples/portfolio";
const python = lockedPython("portfolio", `${EXAMPLE}/requirements.txt`);
const folder = mkdtempSync(join(tmpdir(), "mucast-portfolio-"));
after(() => rmSync(folder, { recursive: true }));

let path: string;
let output: OutputBlob;

/** Runs a command on its own terminal, with stdout and stderr together. */
const TERMINAL = [python, "-c", "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"];

before(async () => {
  const window = ["--start", "2016-01-01", "--learning-end", "2020-12-31"];
  const made = await mucast(["prepare", "--prices", PRICES, "--out", folder, ...window]);
  assert.equal(made.code, 0, made.stderr);
  const { feature_url, data_extractor_url } = JSON.parse(made.stdout) as Record<string, string>;
  const config = JSON.stringify({ "ML params": { model: "ridge", intervals: {} } });
  const inputs = ["--feature-url", feature_url!, "--data-extractor-url", data_extractor_url!];
  const job = await mucast(["run_ml_job", ...inputs, "--config", config], { through: TERMINAL });
  assert.equal(job.code, 0, job.stdout);
  const [record] = /\{.*"output_url".*\}/.exec(job.stdout)!;
  path = fileURLToPath(JSON.parse(record).output_url);
  output = JSON.parse(readFileSync(path, "utf8"));
  assert.match(job.stdout, /\n +ridge\r?\n-+ +-+\r?\ntickers with a forecast +20 as of 2022-12-28\r?\n/);
});

test("pandas reads both tables of an export with the output's values, and the page's own code builds the same frame", async () => {
  const tables = [join(folder, "forecasts.csv"), join(folder, "forecasts.parquet")];
  for (const out of tables) assert.equal((await mucast(["export", "--output", path, "--out", out])).code, 0);
  const block = codeBlocks().find(
    ({ page, language }) => page === "docs/output.md" && language === "python",
  )!;
  assert.ok(block.text.trimEnd().split("\n").length <= 10);
  const compare = `
${block.text.replace("ml_engine_42.json", path)}
csv = pd.read_csv(${JSON.stringify(tables[0])}, dtype={"ticker": str}, keep_default_na=False, na_values=[""], parse_dates=["date"])
parquet = pd.read_parquet(${JSON.stringify(tables[1])})
assert list(csv) == list(parquet) == ${JSON.stringify(COLUMNS.map(({ name }) => name))}, list(csv)
parquet["date"] = pd.to_datetime(parquet["date"])
frame = frame.astype({"lower": float, "upper": float}).sort_values(["ticker", "date"], ignore_index=True)
for table in (csv, parquet):
    pd.testing.assert_frame_equal(table[list(frame)], frame, check_exact=True, check_dtype=False)
    folds = table.dropna(subset="fold").groupby(["ticker", "fold"]).date.agg(["min", "max", "size"])
    for ticker, tested in output["cross_validation"].items():
        expected = [[fold["test_start"], fold["test_end"], fold["n"]] for fold in tested["folds"]]
        found = [[str(a.date()), str(b.date()), n] for a, b, n in folds.loc[ticker].itertuples(index=False)]
        assert found == expected, (ticker, found)
print(len(frame))
`;
  const { stdout } = await run(python, ["-c", compare]);
  const rows = [...Object.values(output.forecasts), ...Object.values(output.cross_validation!)];
  assert.equal(
    Number(stdout),
    rows.reduce((sum, { dates }) => sum + dates.length, 0),
  );
});

test("the TypeScript of the page prints mu and its verdict", async () => {
  const example = `${EXAMPLE}/read-output.ts`;
  const source = readFileSync(example, "utf8");
  assert.ok(readFileSync("docs/output.md", "utf8").includes(source.slice(source.indexOf("import"))));
  const { stdout } = await run(process.execPath, ["--conditions=mucast-source", example, path]);
  const { by_ticker } = output.metrics.shrinkage!;
  assert.deepEqual(
    jsonLines(stdout).map(({ ticker, mu, shrunk }) => [ticker, mu, shrunk]),
    Object.entries(output.mu).map(([ticker, mu]) => [ticker, mu, 0 + by_ticker[ticker]!.s * mu]),
  );
});

test("the optimizer concentrates raw mu in few tickers, and minimises variance without mu", async () => {
  const { stdout } = await run(python, [`${EXAMPLE}/weights.py`, "--output", path, "--prices", PRICES]);
  const table = stdout.slice(stdout.indexOf("\nweights\n")).split("\n").slice(3, 23);
  const rows = table.map((line) => line.match(/[\d.-]+(?= %)/g)!.map(Number));
  for (const k of [0, 1, 2]) {
    const weights = rows.map((row) => row[k]!);
    assert.ok(Math.abs(weights.reduce((sum, weight) => sum + weight, 0) - 100) < 1.1, stdout);
    assert.ok(
      weights.every((weight) => weight >= 0 && weight <= 25),
      stdout,
    );
  }
  const [mu, volatility] = ["mu of the portfolio", "volatility"].map((name) =>
    stdout
      .match(new RegExp(`^${name}.*$`, "m"))![0]
      .match(/[\d.-]+(?= %)/g)!
      .map(Number),
  );
  assert.ok(mu![0]! > 0 && mu![2] === 0, stdout);
  assert.ok(volatility![0]! >= volatility![2]! && volatility![1]! >= volatility![2]!, stdout);
});

test("the page has a line for each column", () => {
  const [, page] = readFileSync("docs/output.md", "utf8").split("## From mu to a portfolio") as [
    string,
    string,
  ];
  const told = [...page.matchAll(/^\| ((?:`\w+`(?:, )?)+) \|/gm)].flatMap(
    ([, names]) => names!.match(/\w+/g)!,
  );
  assert.deepEqual(
    told,
    COLUMNS.map(({ name }) => name),
  );
});
