import { scaleLinear } from "d3-scale";
import { type Day, formatDay, parseDay } from "../../contract/market/dates.ts";
import type { OutputChoice } from "../../contract/output/choice.ts";
import { box, gridX } from "../charts/path.ts";
import { mark, plotSvg, rowName, timeLabels } from "../charts/plot.ts";
import { countedRows, figure } from "../figures.ts";
import { keyLine, numbersTable, type Panel } from "../panels/panel.ts";

/** Which candidates forecast when. */
export interface MembersByDate {
  /** The candidates that forecast at some time, by number; at most MAX_STRIPS, those that forecast for most days. */
  readonly strips: readonly Strip[];
  readonly changes: readonly MemberChange[];
  /** From the first held-out row to the last label date of one. */
  readonly heldOut: Span;
  /** From there to the last score row, at most half as long; undefined if none is later. */
  readonly score: Span | undefined;
  readonly finding: string;
}

interface MemberChange {
  readonly day: Day;
  readonly members: readonly number[];
}

interface Span {
  readonly from: Day;
  readonly to: Day;
}

interface Strip {
  readonly number: number;
  /** Untrusted. */
  readonly label: string;
  /** When it forecast held-out rows, in time order; neighbours are joined. */
  readonly spans: readonly Span[];
  /** Whether it forecasts the score rows. */
  readonly isMember: boolean;
}

const MAX_STRIPS = 20;

/**
 * Which candidates forecast when; undefined without held-out rows.
 * @param from the date of the first held-out row. @param asOf the last date of the score rows.
 */
export function membersByDate(
  choice: OutputChoice,
  from: Day,
  asOf: Day | undefined,
): MembersByDate | undefined {
  const changes = changesFrom(choice, from);
  const last = parseDay(choice.losses.dates.at(-1) ?? "");
  const [first] = changes;
  if (first === undefined || last === undefined || last <= first.day) return undefined;
  const heldOut = { from: first.day, to: last };
  const shown = last + Math.ceil((last - first.day) / 2);
  const all = stripsOf(choice, changes, last);
  const kept = new Set([...all].sort((a, b) => daysOf(b) - daysOf(a)).slice(0, MAX_STRIPS));
  return {
    strips: all.filter((strip) => kept.has(strip)),
    changes,
    heldOut,
    score: asOf !== undefined && asOf > last ? { from: last, to: Math.min(asOf, shown) } : undefined,
    finding: findingOf(choice, changes, all.length),
  };
}

/** The members from a date on; earlier ones only served the choice. */
function changesFrom({ changes }: OutputChoice, from: Day): MemberChange[] {
  const all = changes.flatMap(({ date, members }): MemberChange[] => {
    const day = parseDay(date);
    return day === undefined ? [] : [{ day, members }];
  });
  const before = all.findLast(({ day }) => day <= from);
  return [
    ...(before === undefined ? [] : [{ day: from, members: before.members }]),
    ...all.filter(({ day }) => day > from),
  ];
}

function stripsOf(
  { candidates, members }: OutputChoice,
  changes: readonly MemberChange[],
  last: Day,
): readonly Strip[] {
  const spans = candidates.map((): Span[] => []);
  for (const [i, { day, members: own }] of changes.entries()) {
    const to = changes[i + 1]?.day ?? last;
    for (const c of own) {
      const before = spans[c]?.at(-1);
      if (before?.to === day) spans[c]![spans[c]!.length - 1] = { from: before.from, to };
      else spans[c]?.push({ from: day, to });
    }
  }
  return candidates.flatMap(({ label }, number) => {
    const isMember = members.includes(number);
    return spans[number]!.length > 0 || isMember ? [{ number, label, spans: spans[number]!, isMember }] : [];
  });
}

function daysOf({ spans }: Strip): number {
  return spans.reduce((sum, { from, to }) => sum + to - from, 0);
}

function findingOf(
  { candidates, members }: OutputChoice,
  changes: readonly MemberChange[],
  used: number,
): string {
  const which = `${figure(used, "count")} of ${countedRows(candidates.length, "candidate")} forecast at some time`;
  const later = changes.length - 1;
  const changed =
    later === 0
      ? "the members never changed"
      : `the members changed ${countedRows(later, "time")}, last on ${formatDay(changes.at(-1)!.day)}`;
  const now =
    members.length === 1
      ? `candidate ${members[0]} alone forecasts`
      : `${figure(members.length, "count")} candidates forecast`;
  return `${which}; ${changed}. At the end, ${now}.`;
}

const STRIP_HEIGHT = 20;
const MAX_NAME_LENGTH = 14;

/** A row for each candidate with the dates on which it forecast. */
export function membersPanel(data: MembersByDate): Panel {
  const { changes, score, finding } = data;
  return {
    title: "Members over time",
    finding,
    chart: stripChart(data),
    key: keyLine([
      ["bar", "member for held-out rows"],
      ...(score === undefined
        ? []
        : [["bar second", `member for score rows, from ${formatDay(score.from)} on`] as const]),
    ]),
    numbers: numbersTable({
      caption: "members by date",
      columns: ["From", "Number of members", "Members"],
      rows: changes.map(({ day, members }) => [
        formatDay(day),
        figure(members.length, "count"),
        listed(members),
      ]),
    }),
    isWide: true,
  };
}

/** Numbers of members, the first of many. */
function listed(members: readonly number[]): string {
  const shown = members.slice(0, MAX_STRIPS).join(", ");
  const more = members.length - MAX_STRIPS;
  return more > 0 ? `${shown} and ${figure(more, "count")} more` : shown;
}

function stripChart({ strips, heldOut, score, finding }: MembersByDate): string {
  const last = (score ?? heldOut).to;
  const share = scaleLinear().domain([heldOut.from, last]);
  const column = (day: Day) => gridX(share(day));
  const row = (i: number, from: number, to: number) =>
    box(from, gridX((i + 0.2) / strips.length), to, gridX((i + 0.8) / strips.length));
  const marks = [
    mark(
      "bar",
      strips
        .flatMap(({ spans }, i) =>
          joined(spans.map(({ from, to }) => [column(from), column(to)])).map(([from, to]) =>
            row(i, from, to),
          ),
        )
        .join(""),
    ),
    score === undefined
      ? ""
      : mark(
          "bar second",
          strips
            .map(({ isMember }, i) => (isMember ? row(i, column(score.from), column(score.to)) : ""))
            .join(""),
        ),
  ];
  const labels = strips.map(({ number, label }, i) =>
    rowName(`${number} ${label}`, (i + 0.5) / strips.length, MAX_NAME_LENGTH),
  );
  return plotSvg({
    finding,
    marks,
    xLabels: timeLabels(heldOut.from, last),
    yLabels: [],
    labels: labels.join(""),
    height: Math.max(60, strips.length * STRIP_HEIGHT),
    kind: "chart rows",
  });
}

type Columns = readonly [from: number, to: number];

/** Spans without the gaps that are too narrow to see, so that a strip has at most some hundred. @param spans in columns of the grid. */
function joined(spans: readonly Columns[]): readonly Columns[] {
  const found: Columns[] = [];
  for (const [from, to] of spans) {
    const before = found.at(-1);
    if (before !== undefined && from - before[1] < 2) found[found.length - 1] = [before[0], to];
    else found.push([from, to]);
  }
  return found;
}
