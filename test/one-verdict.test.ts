import assert from "node:assert/strict";
import { test } from "node:test";
import { outputTable } from "../src/cli/terminal/output-table.ts";
import type { ForecastView } from "../src/client/index.ts";
import { readOutput } from "../src/client/read-output.ts";
import { qualityFigures, verdictWords } from "../src/console/run/forecast.ts";
import { verdictFigures } from "../src/contract/output/later-close.ts";
import type { FindingState, Verdict } from "../src/contract/output/verdict.ts";
import { VERDICT_STATES } from "../src/contract/output/verdict.ts";
import { runSummary } from "../src/jobs/shared/job-output.ts";
import { dlText, mlText, outputDocument } from "../src/outputs/outputs.testing.ts";
import { page } from "../src/report/page.ts";
import { reported } from "../src/report/reported.testing.ts";
import { readForecast } from "../src/service/forecast/read-forecast.ts";
import { toolResult } from "../src/service/mcp/tool-result.ts";
import { runMetrics } from "../src/tracking/tracked-output.ts";
import { figure, NO_FIGURE, typesetFigures } from "../src/view/figures.ts";

const INTERVALS = { intervals: { alpha: 0.1 } };
const LONG = { fitRows: 400, scoreRows: 300, folds: 12 };

/** Outputs with each state, of both jobs, with the headline on held-out and on score rows. */
const OUTPUTS: Readonly<Record<string, string>> = {
  "skill on score rows": mlText({ ...LONG, skill: 0.3, config: INTERVALS }),
  "too large": mlText({ ...LONG, scoreRows: 900, skill: 0.009 }),
  "none out of fold": mlText({ folds: 5, config: INTERVALS }),
  "worse than chance": mlText({ ...LONG, skill: -0.2 }),
  "too few dates": mlText({ folds: 1, scoreRows: 5 }),
  "without a cut": mlText({ folds: 6, isOpen: true, skill: 0.2 }),
  "three tickers": mlText({ ...LONG, tickers: ["A", "B", "C"], skill: 0.2 }),
  "networks without intervals": dlText({ fitRows: 300, skill: 0.2 }),
  "networks, calibration": dlText({ fitRows: 300, config: INTERVALS }),
  "networks, score": dlText({ ...LONG, skill: 0.2, config: INTERVALS }),
};

/** How `mucast show` writes states. */
const SKILL_WORDS: Readonly<Record<FindingState, string>> = {
  evidence: "evidence",
  none: "no evidence",
  worse: "worse",
  too_few: "too few dates",
};
const INTERVAL_WORDS: Readonly<Record<FindingState, string>> = {
  evidence: "hold overall",
  none: "too wide",
  worse: "too narrow",
  too_few: "too few dates",
};

const ROW_NAMES: Readonly<Record<Verdict["rows"], string>> = {
  score: "Score rows",
  out_of_fold: "Out-of-fold rows",
  calibration: "Calibration rows",
  validation: "Validation rows",
};

const unescaped = (html: string) =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&#39;", "'")
    .replaceAll("&quot;", '"')
    .replaceAll("&amp;", "&");

for (const [name, text] of Object.entries(OUTPUTS)) {
  test(`every interface says the same about an output: ${name}`, async () => {
    const output = readOutput(JSON.parse(text));
    const verdict = output.verdict!;

    const view = await readForecast("o.json", chunked(text), { largest: 3 });
    assert.deepEqual(view.verdict, verdict);
    const [content] = toolResult(view).content as { text: string }[];
    assert.ok(content!.text.includes(verdict.sentence));
    if (verdict.later !== undefined) assert.ok(content!.text.includes(verdict.later));

    const raw = page(reported(text));
    const html = unescaped(raw);
    for (const sentence of [
      verdict.title,
      ...verdict.sentence.split(/(?<=\.) (?=[A-Z])/),
      verdict.later ?? "",
    ]) {
      assert.ok(html.includes(typesetFigures(sentence)), sentence);
    }

    const shown = outputTable([{ name: "o", output, verdict, hitRateError: null }]);
    assert.match(shown, new RegExp(`^verdict +${verdict.title}$`, "m"));
    const { order, sizes, intervals } = verdict.judged[0]!;
    for (const [line, words] of [
      ["order", SKILL_WORDS[order.state]],
      ["sizes", SKILL_WORDS[sizes.state]],
      ["intervals", intervals === null ? "-" : INTERVAL_WORDS[intervals.state]],
    ]) {
      assert.match(shown, new RegExp(`^  ${line} +${words}(,.*)?$`, "m"));
    }

    assert.equal(verdictWords(verdict).join(" "), verdict.sentence);

    const { ic, r2 } = verdictFigures(verdict.judged[0]!);
    const [icText, r2Text] = [ic?.toFixed(3) ?? "-", r2 === null ? "-" : `${(100 * r2).toFixed(2)} %`];
    const run = {
      model: "",
      fit: "pooled",
      asOf: 0,
      tickers: [],
      failures: [],
      tables: { verdict },
    } as const;
    const listed = runSummary(run).verdict;
    assert.deepEqual([listed?.ic, listed?.r2], [ic, r2], "the list of runs");
    for (const [name, value, unit] of [
      ["IC", ic, "ic"],
      ["R²", r2, "r2"],
    ] as const) {
      const row = new RegExp(
        `<th scope="row"><bdi>${name}(?:, \\w+ rows)?</bdi></th><td><b[^>]*>([^<]*)<`,
        "g",
      );
      const shownFigures = [...raw.matchAll(row)].map(([, figureText]) => figureText);
      const isShown = value === null || shownFigures.includes(figure(value, unit));
      assert.ok(isShown, `the report: ${name} ${shownFigures.join()}`);
    }
    const { columns, rows } = qualityFigures(view as ForecastView);
    const column = columns.indexOf(ROW_NAMES[verdict.rows]);
    const onPage = (figureName: string) => rows.find((row) => row.name === figureName)?.values[column];
    assert.equal(onPage("IC") ?? NO_FIGURE, figure(ic, "ic"), "the page of the console");
    assert.equal(onPage("R²") ?? NO_FIGURE, figure(r2, "r2"), "the page of the console");
    assert.match(shown, new RegExp(`^    IC +${icText}$`, "m"));
    assert.match(shown, new RegExp(`^    R² +${r2Text}$`, "m"));
    if (ic !== null && order.state !== "too_few") assert.ok(verdict.sentence.includes(`mean IC ${icText}`));
    if (r2 !== null && sizes.state !== "too_few")
      assert.ok(verdict.sentence.includes(`R² ${r2Text.replace(" ", "")} against zero`));
    const recorded = new Map(
      runMetrics(outputDocument("o", "", output)).map((metric) => [metric.name, metric]),
    );
    assert.deepEqual(
      ["verdict/ic", "verdict/r2"].map((key) => recorded.get(key)?.points[0]?.value ?? null),
      [ic, r2],
      "MLflow",
    );

    const warning = output.warnings.find(({ code }) => code === "no_skill" || code === "oversized");
    const expected =
      verdict.state === "skill" ? undefined : verdict.state === "oversized" ? "oversized" : "no_skill";
    assert.equal(warning?.code, expected);
    if (warning !== undefined) assert.ok(warning.message.startsWith(verdict.sentence));
  });
}

test("the outputs above have every state, and headlines on held-out and on score rows", () => {
  const verdicts = Object.values(OUTPUTS).map((text): Verdict => JSON.parse(text).verdict);
  assert.deepEqual(new Set(verdicts.map(({ state }) => state)), new Set(VERDICT_STATES));
  assert.deepEqual(
    new Set(verdicts.map(({ rows }) => rows)),
    new Set(["score", "out_of_fold", "calibration", "validation"]),
  );
});

test("a verdict from another program reaches a terminal without control characters", () => {
  const output = readOutput(JSON.parse(OUTPUTS["skill on score rows"]!));
  const { judged, ...verdict } = output.verdict!;
  const [headline] = judged;
  const hostile = "\u001b[2J" as FindingState;
  const shown = outputTable([
    {
      name: "o",
      output,
      verdict: {
        ...verdict,
        title: "\u001b]0;skill\u0007",
        judged: [{ ...headline!, order: { ...headline!.order, state: hostile } }],
      },
      hitRateError: null,
    },
  ]);
  assert.doesNotMatch(shown, /[^\P{C}\n]/u);
  assert.match(shown, /^verdict +\\u001b\]0;skill\\u0007$/m);
  assert.match(shown, /^ {2}order +\\u001b\[2J$/m);
});

test("networks without intervals are judged by their validation rows, with the remark that these chose the epochs", () => {
  const verdictOf = (name: string): Verdict => JSON.parse(OUTPUTS[name]!).verdict;
  const chosen = /Each network's epoch was chosen on these rows, so results on them are too good\./;
  assert.match(verdictOf("networks without intervals").sentence, chosen);
  assert.doesNotMatch(verdictOf("networks, calibration").sentence, chosen);
  assert.doesNotMatch(verdictOf("networks, score").sentence, chosen);
});

async function* chunked(text: string): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000);
}
