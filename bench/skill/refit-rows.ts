import type { Operation } from "../../src/contract/config/job-operations.ts";
import type { OwnModel, SkillRow } from "./skill-rows.ts";

/** When models are fitted, and what they learn from. */
interface Schedule {
  /** The number of dates that one fit forecasts; absent for a single fit at the cut. */
  readonly every?: number;
  /** The number of last label dates that a fit learns from; absent for all. */
  readonly window?: number;
}

const EVERY = [21, 63, 126, 252];
const WINDOWS = [1250, 750];

const EXPANDING: readonly Schedule[] = [{}, ...EVERY.map((every) => ({ every }))];

/** Every frequency with every window, the fit at the cut first. */
const ALL_SCHEDULES: readonly Schedule[] = [
  ...EXPANDING,
  ...WINDOWS.flatMap((window) => EXPANDING.map((schedule) => ({ ...schedule, window }))),
];

/**
 * A row of ours with refits, of any config of either operation, each compared with its single fit at the cut.
 * @param base is the first of the rows, unchanged.
 */
export function refitRows(base: SkillRow & OwnModel): SkillRow[] {
  return ALL_SCHEDULES.map((schedule) => {
    if (isAtCut(schedule)) return base;
    return {
      name: `${base.name}${suffix(schedule)}`,
      what: `${base.what}, ${inWords(schedule)}`,
      by: "mucast",
      operation: base.operation,
      config: withSchedule(base, schedule),
      than: base.name,
    };
  });
}

function isAtCut({ every, window }: Schedule): boolean {
  return every === undefined && window === undefined;
}

/** The suffix of a row's name: `-every-63-window-750`. */
function suffix({ every, window }: Schedule): string {
  return `${every === undefined ? "" : `-every-${every}`}${window === undefined ? "" : `-window-${window}`}`;
}

function inWords({ every, window }: Schedule): string {
  const fits = every === undefined ? "one fit at the cut" : `refitted every ${every} dates`;
  return window === undefined ? fits : `${fits}, on the last ${window} dates`;
}

/** The place of a job's settings in its config. */
const SETTINGS: Record<Operation, readonly string[]> = {
  run_ml_job: ["ML params"],
  run_dl_job: ["NN params", "Dot prediction"],
};

function withSchedule({ operation, config }: OwnModel, { every, window }: Schedule): object {
  const settings = {
    ...(every === undefined ? {} : { refit_every: every }),
    ...(window === undefined ? {} : { window }),
  };
  return withSettings(config, SETTINGS[operation], settings);
}

function withSettings(config: object, path: readonly string[], settings: object): object {
  const [key, ...rest] = path;
  if (key === undefined) return { ...config, ...settings };
  const inner = (config as Record<string, object>)[key]!;
  return { ...config, [key]: withSettings(inner, rest, settings) };
}
