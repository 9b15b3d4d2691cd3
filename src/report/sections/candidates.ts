import type { ChoiceMeasure } from "../../contract/config/choice-config.ts";
import type { Operation } from "../../contract/config/job-operations.ts";
import { cut } from "../../contract/errors/faults.ts";
import { formatDay, parseDay } from "../../contract/market/dates.ts";
import { MAX_CANDIDATES_SHOWN, type OutputChoice, rankedCandidates } from "../../contract/output/choice.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, type Unit, wholePercent } from "../../view/figures.ts";
import { lineChart } from "../charts/line-chart.ts";
import { escapeText } from "../charts/plot.ts";
import type { OutputEvidence } from "../evidence/output-evidence.ts";
import { keyLine, numbersTable, type Panel, plainTable } from "../panels/panel.ts";
import { chartSection, type Part, panelsOf } from "../panels/section.ts";
import { gainBand } from "../statistics/gain-band.ts";
import { type Band, noSkillFunnel } from "../statistics/over-dates.ts";
import { cumulative } from "../statistics/running-sums.ts";

const charts = chartSection({
  id: "candidates",
  title: "Candidates",
  lead: "Figures are for the held-out rows: for regressors the published out-of-fold rows, for networks the calibration rows. A gain is the mean squared error of candidate 0, which is the config itself, minus the mean squared error of the forecast, as a share of the mean squared return of the rows from which the first fold learned; if returns have become larger since, gains are larger than differences in R². If the job chooses by IC, a gain is the mean IC minus the mean IC of candidate 0.",
  panels: ({ whole }) =>
    whole.document.choice === undefined ? [] : panelsOf("Candidates", candidatesOf(whole), candidatePanels),
});

/** How the job chose among candidates; only in a report with an output of such a job. */
export const candidatesSection = {
  ...charts,
  html: (report: Parameters<typeof charts.html>[0]) =>
    report.outputs.some(({ whole }) => whole.document.choice !== undefined) ? charts.html(report) : undefined,
};

/** The candidates of a choice, and what choosing among them was worth. */
interface Candidates {
  /** The largest gain first; those without a gain last. */
  readonly rows: readonly CandidateRow[];
  /** What candidates were compared by. */
  readonly measure: ChoiceMeasure;
  readonly finding: string;
  /** Absent if the output does not record the series, or has no held-out rows. */
  readonly gain?: GainOverDates;
}

interface CandidateRow {
  readonly number: number;
  /** Untrusted. */
  readonly label: string;
  readonly r2: number | null;
  /** The mean IC over dates. */
  readonly ic: number | null;
  readonly gain: number | null;
  /** 90 %: beyond 0 if the gain is beyond chance. */
  readonly band: Band | null;
  /** Tickers that it could fit. */
  readonly tickers: number;
  readonly isMember: boolean;
}

/** Running sums of gains over candidate 0, divided by the number of dates, so that the last is the mean gain. Shape (n) each. */
interface GainOverDates {
  /** Label dates of held-out rows. */
  readonly days: Int32Array;
  /** Of the published forecasts. */
  readonly chosen: Float64Array;
  /** Of the candidate that was best in the end; absent for networks, whose own losses are not recorded on these dates. */
  readonly best?: Float64Array;
  /** Half the width of the band around 0 that contains 95 % of such sums without a gain. */
  readonly band: Float64Array;
  readonly finding: string;
}

/** The candidates of a choice, and what choosing among them was worth. */
export function candidatesOf({ document }: OutputEvidence): Part<Candidates> {
  const { choice } = document;
  if (choice === undefined) return { absent: "The job did not choose among candidates." };
  if (choice.honest.r2 === null) {
    return {
      absent: "No held-out row judges the candidates: the history is too short, or all returns are 0.",
    };
  }
  const gain = gainOverDates(choice);
  return {
    data: {
      rows: rowsOf(choice),
      measure: measureOf(choice),
      finding: worthFinding(choice, HELD_OUT[document.operation]),
      ...(gain === undefined ? {} : { gain }),
    },
  };
}

function rowsOf(choice: OutputChoice): CandidateRow[] {
  return rankedCandidates(choice.candidates).map(
    ({ number, label, r2, ic = null, gain, gain_t, tickers, member }) => ({
      ...{ number, r2, ic, gain, tickers },
      band: gainBand(choice, { gain, gain_t }),
      label: cut(label, MAX_LABEL_LENGTH),
      isMember: member,
    }),
  );
}

/** Labels of jobs are shorter; another program may write longer ones. */
const MAX_LABEL_LENGTH = 100;

function measureOf({ measure }: OutputChoice): ChoiceMeasure {
  return measure === "ic" ? "ic" : "squared_error";
}

/** The figure of a forecast that a measure compares, its unit, and its name. */
type MeasuredFigure = readonly [key: "r2" | "ic", unit: Unit, name: string];
const R2_FIGURE: MeasuredFigure = ["r2", "r2", "an R² of"];
const IC_FIGURE: MeasuredFigure = ["ic", "ic", "a mean IC of"];

/** The unit of gains. */
const GAIN_UNITS: Readonly<Record<ChoiceMeasure, Unit>> = { squared_error: "r2", ic: "ic" };

/** The rows that judge candidates, in words. */
const HELD_OUT: Readonly<Record<Operation, string>> = {
  run_ml_job: "own folds show",
  run_dl_job: "calibration rows show",
};

/** What the best candidate claims on its own rows, and what choosing in advance gave. */
function worthFinding(choice: OutputChoice, say: string): string {
  const { candidates, best, honest, optimism } = choice;
  const [key, unit, name] = measureOf(choice) === "ic" ? IC_FIGURE : R2_FIGURE;
  const told = `The best candidate\u2019s ${say} ${name} ${figure(candidates[best]?.[key], unit)}, the forecasts chosen in advance ${figure(honest[key], unit)}`;
  const first = `candidate 0 alone has ${figure(candidates[0]?.[key], unit)}`;
  const hindsight =
    optimism !== null && optimism > 0
      ? ` Picking the best afterwards would claim ${figure(optimism, unit)} too much.`
      : "";
  return `${told}; ${first}.${hindsight}`;
}

function gainOverDates(choice: OutputChoice): GainOverDates | undefined {
  const { losses, best } = choice;
  const { gains = [], dates, excess } = losses;
  const kept = gains.flatMap((gain, d) => {
    const day = gain === null ? undefined : parseDay(dates[d] ?? "");
    return day === undefined ? [] : [{ day, gain: gain!, best: gainAt(excess, best, d) }];
  });
  if (kept.length === 0) return undefined;
  const share = (values: Float64Array) => values.map((value) => value / kept.length);
  const chosen = Float64Array.from(kept, ({ gain }) => gain);
  const hasBest = kept.some((one) => one.best !== undefined);
  return {
    days: Int32Array.from(kept, ({ day }) => day),
    chosen: share(cumulative(chosen)),
    ...(hasBest ? { best: share(cumulative(Float64Array.from(kept, (one) => one.best ?? 0))) } : {}),
    band: share(noSkillFunnel(chosen)),
    finding: gainFinding(choice, kept.length),
  };
}

/** Candidate 0's loss on a date less that of another candidate; undefined if one of them has none. */
function gainAt(excess: OutputChoice["losses"]["excess"], candidate: number, d: number): number | undefined {
  const [first, other] = [excess[0]?.[d] ?? null, excess[candidate]?.[d] ?? null];
  return first === null || other === null ? undefined : first - other;
}

function gainFinding(choice: OutputChoice, dates: number): string {
  const { gain } = choice.honest;
  const unit = GAIN_UNITS[measureOf(choice)];
  const over = `over ${countedRows(dates, "date")}`;
  if (dates < MIN_DATES || gain === null) return `Choosing has results ${over}, which are too few to judge.`;
  const band = gainBand(choice, choice.honest);
  if (band === null) return `The chosen forecasts never differed from those of candidate 0, ${over}.`;
  const judged = band.low > 0 ? "more" : "no more";
  return `Choosing in advance gained ${figure(gain, unit)}${unit === "ic" ? " of IC" : ""} over candidate 0 (${wholePercent(90)} band ${bandFigure(band, unit)}), ${over}, ${judged} than by chance.`;
}

/** Jobs accept at most 100 candidates; another program may write more. */
const MAX_ROWS = 100;

function candidatePanels({ rows, measure, finding, gain }: Candidates): Panel[] {
  const unit = GAIN_UNITS[measure];
  return [
    { title: "Candidates", finding, chart: candidateTable(rows, unit), isWide: true },
    ...(gain === undefined ? [] : [gainPanel(gain, unit)]),
  ];
}

function candidateTable(rows: readonly CandidateRow[], gainUnit: Unit): string {
  const tableOf = (caption: string, some: readonly CandidateRow[]) =>
    plainTable({
      caption,
      columns: [
        "Candidate",
        "Number",
        "R², held out",
        "IC, held out",
        "Gain over candidate 0",
        `its ${wholePercent(90)} band`,
        "Tickers",
        "Member",
      ],
      rows: some.map(({ number, label, r2, ic, gain, band, tickers, isMember }) => [
        label,
        String(number),
        figure(r2, "r2"),
        figure(ic, "ic"),
        figure(gain, gainUnit),
        band === null ? NO_FIGURE : bandFigure(band, gainUnit),
        figure(tickers, "count"),
        isMember ? "yes" : NO_FIGURE,
      ]),
    });
  const shown = tableOf("candidates", rows.slice(0, MAX_CANDIDATES_SHOWN));
  const more = rows.slice(MAX_CANDIDATES_SHOWN, MAX_ROWS);
  if (more.length === 0) return shown;
  const summary = escapeText(`${countedRows(more.length, "further candidate")} with smaller gains`);
  return `${shown}<details><summary>${summary}</summary>${tableOf("further candidates", more)}</details>`;
}

function gainPanel({ days, chosen, best, band, finding }: GainOverDates, unit: Unit): Panel {
  const hasBand = !band.some(Number.isNaN);
  return {
    title: "Gain over candidate 0, cumulative",
    finding,
    isWide: true,
    chart: lineChart({
      finding,
      x: days,
      xKind: "day",
      unit,
      lines: [
        { name: "chosen in advance", values: chosen },
        ...(best === undefined ? [] : [{ name: "best in hindsight", values: best }]),
      ],
      band: hasBand ? { low: band.map((half) => -half), high: band } : undefined,
    }),
    key: keyLine([
      ["line", "forecasts chosen in advance"],
      ...(best === undefined ? [] : [["line second", "the candidate that was best in the end"] as const]),
      ...(hasBand ? [["band", "95\u202f% band without a gain"] as const] : []),
    ]),
    numbers: numbersTable({
      caption: "cumulative gain over candidate 0",
      columns: ["Date", "Chosen in advance", ...(best === undefined ? [] : ["Best in the end"])],
      rows: Array.from(days, (day, i) => [
        formatDay(day),
        figure(chosen[i], unit),
        ...(best === undefined ? [] : [figure(best[i], unit)]),
      ]),
    }),
  };
}
