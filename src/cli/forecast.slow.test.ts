import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { mucast } from "../../test/end-to-end/commands/command.ts";
import { newFolder, removeFolders } from "../../test/end-to-end/jobs/job-runs.ts";
import { seededRandom } from "../../test/twins/random.ts";
import type { OutputBlob } from "../contract/output/output-blob.ts";

after(removeFolders);

/** Prices of six tickers on working days, one of them a formula to a spreadsheet. */
function pricesCsv(): string {
  const random = seededRandom(5);
  const names = ["AAA", "BBB", "CCC", "DDD", "EEE", "=1+1"];
  const prices = names.map(() => 100);
  const lines = [`date,${names.join(",")}`];
  for (let day = 0; lines.length <= 500; day++) {
    const date = new Date(Date.UTC(2020, 0, 1 + day));
    if (date.getUTCDay() % 6 === 0) continue;
    for (const i of prices.keys()) prices[i]! *= Math.exp(random.normal() / 100);
    lines.push(`${date.toISOString().slice(0, 10)},${prices.map((price) => price.toFixed(4)).join(",")}`);
  }
  return `${lines.join("\n")}\n`;
}

test("one command goes from prices to mu.csv, a table, and what to do next, at the requested close", async () => {
  const folder = await newFolder();
  const prices = join(folder, "prices.csv");
  writeFileSync(prices, pricesCsv());
  const out = join(folder, "out");
  const { code, stdout, stderr } = await mucast([
    ...["forecast", prices, "--out", out, "--delay", "1", "--learning-end", "2021-06-30", "--report"],
  ]);
  assert.equal(code, 0, stderr);
  const files = readdirSync(join(out, "data"));
  const name = files.find((file) => file.startsWith("ml_engine_") && file.endsWith(".json"))!;
  assert.ok(files.includes(name.replace(".json", ".html")), "--report");
  const output: OutputBlob = JSON.parse(readFileSync(join(out, "data", name), "utf8"));
  assert.equal(output.window.delay, 1);
  const [header, ...rows] = readFileSync(join(out, "data", "mu.csv"), "utf8")
    .trimEnd()
    .split("\n");
  assert.equal(header, "ticker,date,mu,lower,upper");
  const written = rows.map((row) => row.split(","));
  assert.deepEqual(
    new Map(written.map(([ticker, date, mu]) => [ticker!.replace("'", ""), [date, Number(mu)]])),
    new Map(Object.entries(output.mu).map(([ticker, mu]) => [ticker, [output.mu_dates![ticker], mu]])),
  );
  assert.ok(written.some(([ticker]) => ticker === "'=1+1"));
  for (const part of [
    /^ticker +mu +lower +upper$/m,
    /^verdict /m,
    /a close later/,
    /^Next: /m,
    /mu\.csv$/m,
  ]) {
    assert.match(stdout, part);
  }
});

test("of a config with both sections, regressors are trained", async () => {
  const folder = await newFolder();
  const prices = join(folder, "prices.csv");
  writeFileSync(prices, pricesCsv());
  const config = JSON.stringify({ "ML params": { model: "ridge" }, "NN params": {} });
  const { code, stderr } = await mucast(["forecast", prices, "--out", folder, "--config", config]);
  assert.equal(code, 0, stderr);
});

test("an error names the resolved path", async () => {
  const missing = await mucast(["forecast", "nowhere.csv"]);
  assert.equal(missing.code, 3);
  assert.match(missing.stderr, /\/nowhere\.csv cannot be opened/);
});
