import { cut } from "../../contract/errors/faults.ts";
import { parseDay } from "../../contract/market/dates.ts";
import { MAX_CANDIDATES_SHOWN, type OutputChoice, rankedCandidates } from "../../contract/output/choice.ts";
import { MIN_DATES } from "../../contract/output/test-quantile.ts";
import { bandAround0 } from "../../view/chart.ts";
import { bandFigure, countedRows, figure, NO_FIGURE, wholePercent } from "../../view/figures.ts";
import { html } from "../../view/html.ts";
import { type ColumnSpec, table } from "../../view/table.ts";
import { absent, linesOverDates, panelSection, type ReportPanel, type Section } from "../section.ts";
import { gainBand } from "../statistics/gain-band.ts";
import { noSkillFunnel } from "../statistics/over-dates.ts";
import { cumulative } from "../statistics/running-sums.ts";

const panels = panelSection({
  id: "candidates",
  title: "Candidates",
  lead: () =>
    "Figures are for the held-out rows: for regressors the published out-of-fold rows, for networks the calibration rows. A gain is the mean squared error of candidate 0, which is the config itself, minus the mean squared error of the forecast, as a share of the mean squared return of the rows from which the first fold learned; if returns have become larger since, gains are larger than differences in R². If the job chooses by IC, a gain is the mean IC minus the mean IC of candidate 0.",
  panels: ({ whole: { document } }) => {
    const { choice, operation } = document;
    if (choice === undefined) return [];
    if (choice.honest.r2 === null)
      return absent(
        "Candidates",
        "No held-out row judges the candidates: the history is too short, or all returns are 0.",
      );
    return [candidatesPanel(choice, operation === "run_dl_job"), ...gainPanels(choice)];
  },
});

/** How the job chose among candidates; only in a report with an output of such a job. */
export const candidatesSection: Section = {
  ...panels,
  render: (report) =>
    report.outputs.some(({ whole }) => whole.document.choice !== undefined) && panels.render(report),
};

/** Jobs accept at most 100 candidates with shorter labels; another program may write more. */
const MAX_ROWS = 100;
const MAX_LABEL_LENGTH = 100;

/** The figure that candidates are compared by, and the unit of gains. */
const measureOf = ({ measure }: OutputChoice) => (measure === "ic" ? "ic" : "r2");

/** The largest gain first; those without a gain last. */
function candidatesPanel(choice: OutputChoice, areNetworks: boolean): ReportPanel {
  const { candidates, best, honest, optimism } = choice;
  const unit = measureOf(choice);
  const name = unit === "ic" ? "a mean IC of" : "an R² of";
  const rows = areNetworks ? "calibration rows" : "own folds";
  const of = (figures: { readonly r2: number | null; readonly ic?: number | null | undefined } | undefined) =>
    figure(figures?.[unit], unit);
  const hindsight =
    optimism !== null && optimism > 0
      ? ` Picking the best afterwards would claim ${figure(optimism, unit)} too much.`
      : "";
  type Candidate = OutputChoice["candidates"][number] & { readonly number: number };
  const columns: readonly ColumnSpec<Candidate>[] = [
    ["Candidate", "text", ({ label }) => cut(label, MAX_LABEL_LENGTH)],
    ["Number", "text", ({ number }) => String(number)],
    ["R², held out", "r2", ({ r2 }) => r2],
    ["IC, held out", "ic", ({ ic }) => ic],
    ["Gain over candidate 0", unit, ({ gain }) => gain],
    [`its ${wholePercent(90)} band`, "band", unit, (candidate) => gainBand(choice, candidate)],
    ["Tickers", "count", ({ tickers }) => tickers],
    ["Member", "text", ({ member }) => (member ? "yes" : NO_FIGURE)],
  ];
  const ranked = rankedCandidates(candidates);
  const more = ranked.slice(MAX_CANDIDATES_SHOWN, MAX_ROWS);
  return {
    title: "Candidates",
    isWide: true,
    sentence: `The best candidate\u2019s ${rows} show ${name} ${of(candidates[best])}, the forecasts chosen in advance ${of(honest)}; candidate 0 alone has ${of(candidates[0])}.${hindsight}`,
    body: html`${table({ name: "candidates", columns, rows: ranked.slice(0, MAX_CANDIDATES_SHOWN) })}
      ${
        more.length > 0 &&
        html`<details>
          <summary>${countedRows(more.length, "further candidate")} with smaller gains</summary>
          ${table({ name: "further candidates", columns, rows: more })}
        </details>`
      }`,
  };
}

/** Running sums of gains over candidate 0, divided by the number of dates, so that the last is the mean gain. */
function gainPanels(choice: OutputChoice): ReportPanel[] {
  const { losses, best } = choice;
  const { gains = [], dates, excess } = losses;
  const kept = gains.flatMap((gain, d) => {
    const day = gain === null ? undefined : parseDay(dates[d] ?? "");
    const [first, other] = [excess[0]?.[d] ?? null, excess[best]?.[d] ?? null];
    if (day === undefined) return [];
    return [{ day, gain: gain!, best: first === null || other === null ? undefined : first - other }];
  });
  if (kept.length === 0) return [];
  const days = Int32Array.from(kept, ({ day }) => day);
  const share = (values: Float64Array) => values.map((value) => value / kept.length);
  const gained = Float64Array.from(kept, ({ gain }) => gain);
  const chosen = share(cumulative(gained));
  // Networks do not record the losses of their candidates on these dates.
  const hasBest = kept.some((date) => date.best !== undefined);
  const hindsight = share(cumulative(Float64Array.from(kept, (date) => date.best ?? 0)));
  const funnel = share(noSkillFunnel(gained));
  const unit = measureOf(choice);
  return [
    {
      isWide: true,
      sentence: gainSentence(choice, kept.length),
      ...linesOverDates({
        title: "Gain over candidate 0, cumulative",
        unit,
        days,
        lines: [
          ["chosen in advance", "forecasts chosen in advance", chosen],
          ...(hasBest
            ? [["best in hindsight", "the candidate that was best in the end", hindsight] as const]
            : []),
        ],
        marks: [
          !funnel.some(Number.isNaN) && bandAround0(days, funnel, `${wholePercent(95)} band without a gain`),
        ],
        columns: [
          ["Chosen in advance", unit, chosen],
          ...(hasBest ? [["Best in the end", unit, hindsight] as const] : []),
        ],
      }),
    },
  ];
}

function gainSentence(choice: OutputChoice, dates: number): string {
  const { gain } = choice.honest;
  const unit = measureOf(choice);
  const over = `over ${countedRows(dates, "date")}`;
  if (dates < MIN_DATES || gain === null) return `Choosing has results ${over}, which are too few to judge.`;
  const band = gainBand(choice, choice.honest);
  if (band === null) return `The chosen forecasts never differed from those of candidate 0, ${over}.`;
  const judged = band.low > 0 ? "more" : "no more";
  return `Choosing in advance gained ${figure(gain, unit)}${unit === "ic" ? " of IC" : ""} over candidate 0 (${wholePercent(90)} band ${bandFigure(band, unit)}), ${over}, ${judged} than by chance.`;
}
