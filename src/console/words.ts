import { shortVisibleText, visibleText } from "../contract/visible-text.ts";
import { figure } from "../view/figures.ts";
import { element, svgElement } from "./dom.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A duration in its two largest units, such as `3 min 5 s`; below ten seconds with one decimal. */
export function duration(milliseconds: number): string {
  const span = Math.max(0, milliseconds);
  if (span < 10 * SECOND) return `${(span / SECOND).toFixed(1)} s`;
  const whole = Math.round(span / SECOND) * SECOND;
  if (whole < MINUTE) return `${whole / SECOND} s`;
  const [large, small, words] =
    whole < HOUR
      ? [MINUTE, SECOND, ["min", "s"]]
      : whole < DAY
        ? [HOUR, MINUTE, ["h", "min"]]
        : [DAY, HOUR, ["d", "h"]];
  const rest = Math.floor((whole % large) / small);
  return `${Math.floor(whole / large)} ${words[0]}${rest === 0 ? "" : ` ${rest} ${words[1]}`}`;
}

/** Bytes in a decimal unit, with at most three digits before the unit. */
export function bytes(count: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const power = count < 1_000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1_000 ** power;
  return `${power === 0 ? value : value.toPrecision(3)} ${units[power]}`;
}

const MOMENT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** A time in the reader's time zone; the title has it in UTC. */
export function moment(iso: string): HTMLElement {
  return element("time", { datetime: iso, title: `${iso} (UTC)` }, MOMENT.format(new Date(iso)));
}

/** The time of day in the reader's time zone. */
export function clock(date: Date): string {
  return CLOCK.format(date);
}

/** `1 operation`, `1,006 operations`. */
export function counted(count: number, noun: string): string {
  return `${figure(count, "count")} ${noun}${count === 1 ? "" : "s"}`;
}

const STATUS_WORDS: Readonly<Record<string, readonly [mark: MarkName, word: string]>> = {
  NotStarted: ["open", "Queued"],
  Running: ["half", "Running"],
  Succeeded: ["tick", "Succeeded"],
  Failed: ["cross", "Failed"],
  Canceled: ["dash", "Canceled"],
};

/** Every status, with its label. */
export const STATUSES = Object.entries(STATUS_WORDS).map(([name, [, word]]) => [name, word] as const);

/** A status as a mark and a word; its colour adds no information. */
export function statusBadge(status: string): HTMLElement {
  const [name, word] = Object.hasOwn(STATUS_WORDS, status)
    ? STATUS_WORDS[status]!
    : ["open" as const, status];
  return element("span", { class: `status ${status}` }, mark(name), ` ${word}`);
}

/** Every kind of operation, with its label. */
export const KINDS: Readonly<Record<string, string>> = {
  run_ml_job: "ML job",
  run_dl_job: "Network job",
  audit: "Audit",
  replay: "Replay",
};

/** The label of a kind; a later service may have other kinds. */
export function kindOf(operation: string): string {
  return Object.hasOwn(KINDS, operation) ? KINDS[operation]! : operation;
}

/** Its kind and the start of its id. */
export function operationName({
  operation,
  id,
}: {
  readonly operation: string;
  readonly id: string;
}): string {
  return `${kindOf(operation)} ${id.slice(0, 8)}`;
}

const STAGE_WORDS: Readonly<Record<string, string>> = {
  read: "Read inputs",
  fit: "Fit",
  evaluate: "Evaluate",
  write: "Write output",
  truncation: "Check truncation",
  restatement: "Check restatement",
  foresight: "Check foresight",
  skill: "Check skill",
};

/** The label of a stage; a later service may have other stages. */
export function stageWords(stage: string): string {
  return Object.hasOwn(STAGE_WORDS, stage) ? STAGE_WORDS[stage]! : shortVisibleText(stage, 40);
}

export type Fact = readonly [term: string, ...what: (Node | string)[]];

export function facts(...pairs: readonly (Fact | false)[]): HTMLElement {
  const items = pairs
    .filter((pair) => pair !== false)
    .map(([term, ...what]) => element("div", {}, element("dt", {}, term), element("dd", {}, ...what)));
  return element("dl", { class: "facts" }, ...items);
}

export function code(text: string): HTMLElement {
  return element("code", {}, textElement(text, 200));
}

/** Drawn, because not every font has them. */
const MARKS = {
  open: "M8 2.5a5.5 5.5 0 1 0 .01 0z",
  half: "M8 2.5a5.5 5.5 0 1 0 .01 0zM8 5.2v2.8l2.2 1.6",
  tick: "M2.5 8.5l3.5 3.5 7-8",
  cross: "M3.5 3.5l9 9M12.5 3.5l-9 9",
  dash: "M3 8h10",
} as const;

type MarkName = keyof typeof MARKS;

/** A small mark beside a word that says the same; screen readers skip it. */
export function mark(name: MarkName): SVGElement {
  const attributes = { class: "mark", viewBox: "0 0 16 16", width: 13, height: 13, "aria-hidden": "true" };
  return svgElement("svg", attributes, svgElement("path", { d: MARKS[name] }));
}

/**
 * Untrusted text, such as the name of a ticker or a blob. Invisible characters appear as their code points, and right-to-left text
 * does not move its neighbours.
 * @param most characters; the title then has the whole text, up to 1000 characters.
 */
export function textElement(text: string, most?: number): HTMLElement {
  const whole = visibleText(text);
  const short = most === undefined ? whole : shortVisibleText(text, most);
  return element("bdi", short === whole ? {} : { title: shortVisibleText(text, 1_000) }, short);
}

/** The same for a sentence of the service, in which names in backquotes are code. */
export function prose(text: string, most: number): HTMLElement[] {
  const parts = shortVisibleText(text, most).split("`");
  return parts.map((part, i) => element(i % 2 === 1 ? "code" : "bdi", {}, part));
}
