import { columnChart, histogramChart } from "../../charts/column-chart.ts";
import { bandFigure, figure, NO_FIGURE, wholePercent } from "../../data/figures.ts";
import type { DailyCorrelation, PeriodSkill, SkillOverTime } from "../../data/section-data.ts";
import { linePanel } from "../line-panel.ts";
import { numbersTable } from "../numbers-table.ts";
import { keyLine, type Panel } from "../panel.ts";
import { longYears } from "./long-years.ts";

const NO_SKILL = `${wholePercent(95)} no-skill band`;

/** IC and RankIC over the dates. */
export function skillPanels(skill: SkillOverTime): Panel[] {
  const both = [
    ["IC", skill.ic],
    ["RankIC", skill.rankIc],
  ] as const;
  return [
    ...both.map(([name, daily]) => cumulativePanel(name, daily, skill)),
    ...(skill.byAge === undefined ? [] : [agePanel(skill.byAge)]),
    ...both.map(([name, daily]) => rollingPanel(name, daily, skill)),
    yearsPanel(skill),
    monthsPanel(skill),
    ...both.map(([name, daily]) => histogramPanel(name, daily)),
  ];
}

function cumulativePanel(name: string, daily: DailyCorrelation, { days, refits }: SkillOverTime): Panel {
  const { finding, cumulative, funnel, values } = daily;
  return linePanel({
    title: `${name}, cumulative`,
    finding,
    days,
    values: cumulative,
    unit: "number",
    name: `cumulative ${name}`,
    meaning: `sum of the daily ${name}`,
    band: { half: funnel, meaning: NO_SKILL },
    ticks: refits.length === 0 ? undefined : { days: refits, meaning: "models fitted again" },
    columns: [
      [`Daily ${name}`, values],
      ["Sum", cumulative],
      ["No-skill band, ±", funnel],
    ],
  });
}

function agePanel({ bins, finding }: NonNullable<SkillOverTime["byAge"]>): Panel {
  const labels = bins.map(({ from, to }) => (from === to ? String(from) : `${from}\u2013${to}`));
  return {
    title: "RankIC by age of the model",
    finding,
    chart: columnChart({
      finding,
      labels,
      unit: "number",
      series: [bins.map(({ mean }) => mean)],
      bands: bins.map(({ band }) => band),
    }),
    key: keyLine([
      ["bar", "mean RankIC by dates since the models were fitted"],
      ["whisker", `its ${wholePercent(95)} band`],
    ]),
    numbers: numbersTable({
      caption: "RankIC by age of the model",
      columns: ["Dates since the fit", "Dates", "RankIC", `${wholePercent(95)} band`],
      rows: bins.map(({ dates, mean, band }, i) => [
        labels[i]!,
        figure(dates, "count"),
        figure(mean, "number"),
        band === null ? NO_FIGURE : bandFigure(band, "number"),
      ]),
    }),
  };
}

function rollingPanel(name: string, daily: DailyCorrelation, { days, rollingDates }: SkillOverTime): Panel {
  const { rolling, rollingFinding: finding, rollingFunnel } = daily;
  return linePanel({
    title: `${name}, mean over ${rollingDates} dates`,
    finding,
    days,
    values: rolling,
    unit: "number",
    name: `mean ${name}`,
    meaning: `mean ${name} over the last ${rollingDates} dates`,
    band: {
      half: rolling.map((value) => (Number.isNaN(value) ? Number.NaN : rollingFunnel)),
      meaning: NO_SKILL,
    },
    level: { value: 0 },
    columns: [[`Mean ${name}`, rolling]],
  });
}

function yearsPanel({ years, yearsFinding }: SkillOverTime): Panel {
  const { long, note } = longYears(
    years.map((year) => ({ ...year, n: year.dates })),
    "date",
  );
  return {
    title: "Skill by year",
    finding: `${yearsFinding}${note}`,
    chart: columnChart({
      finding: yearsFinding,
      labels: long.map(({ year }) => String(year)),
      unit: "number",
      series: [long.map(({ ic }) => ic), long.map(({ rankIc }) => rankIc)],
    }),
    key: keyLine([
      ["bar", "mean IC"],
      ["bar second", "mean RankIC"],
    ]),
    numbers: numbersTable({
      caption: "skill by year",
      columns: ["Year", "Dates", "IC", "RankIC"],
      rows: years.map(({ year, dates, ic, rankIc }) => [
        String(year),
        figure(dates, "count"),
        figure(ic, "number"),
        figure(rankIc, "number"),
      ]),
    }),
  };
}

/** The mean over fewer dates means too little for a shade. */
const SHADED_DATES = 10;

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A table that is its own chart: each cell has its number and a shade that shows its size. */
function monthsPanel({ months, years, monthsFinding }: SkillOverTime): Panel {
  const largest = months.reduce(
    (most, { rankIc, dates }) => (dates < SHADED_DATES ? most : Math.max(most, Math.abs(rankIc))),
    0,
  );
  const cells = new Map(months.map((skill) => [12 * skill.year + skill.month - 1, skill]));
  const rows = years.map(({ year }) => {
    const row = MONTHS.map((_, month) => heatCell(cells.get(12 * year + month), largest));
    return `<tr><th scope="row">${year}</th>${row.join("")}</tr>`;
  });
  const head = MONTHS.map((month) => `<th scope="col">${month[0]}<span>${month.slice(1)}</span></th>`);
  return {
    title: "RankIC by month",
    finding: monthsFinding,
    chart: `<table class="heat"><thead><tr><th scope="col"><span class="unseen">Year</span></th>${head.join("")}</tr></thead><tbody>${rows.join("\n")}</tbody></table>`,
  };
}

/** In hundredths, because cells are narrow. */
function heatCell(skill: PeriodSkill | undefined, largest: number): string {
  if (skill === undefined) return "<td></td>";
  const { rankIc: value, dates } = skill;
  const strength =
    largest === 0 || dates < SHADED_DATES ? 0 : Math.min(3, Math.ceil((3 * Math.abs(value)) / largest));
  const text = Math.abs(value).toFixed(2).replace(/^0/, "");
  return `<td class="${value < 0 ? "below" : "above"}${strength}">${value < 0 ? "\u2212" : "+"}${text}</td>`;
}

function histogramPanel(name: string, { histogram, histogramFinding, values }: DailyCorrelation): Panel {
  const { edges, counts } = histogram;
  return {
    title: `Distribution of daily ${name}`,
    finding: histogramFinding,
    chart: histogramChart(histogramFinding, histogram, "number", 0),
    numbers: numbersTable({
      caption: `${name} of ${values.length} dates`,
      columns: ["From", "To", "Dates"],
      rows: Array.from(counts, (count, i) => [
        figure(edges[i], "number"),
        figure(edges[i + 1], "number"),
        figure(count, "count"),
      ]),
    }),
  };
}
