import type { Fault } from "../errors/errors.ts";
import { invalidRequest, joinPath, show } from "../errors/faults.ts";

interface RemovedSetting {
  /** Its keys, from the top of the config. */
  readonly path: readonly [string, ...string[]];
  /** The value that asked for what happens without the setting: it is still accepted. */
  readonly harmless: unknown;
  readonly instead: string;
}

export const REMOVED_SETTINGS: readonly RemovedSetting[] = [
  {
    path: ["ML params", "choice", "racing"],
    harmless: false,
    instead: "leave it out: every candidate is fitted on all folds",
  },
  {
    path: ["ML params", "choice", "over"],
    harmless: "all",
    instead: "leave it out: the members are common to all tickers",
  },
  {
    path: ["NN params", "Dot prediction", "refit_start"],
    harmless: "cold",
    instead: "leave it out: each network starts from random weights",
  },
];

/**
 * Deletes the settings of earlier versions that are harmless from a parsed config.
 * @throws MucastError invalid_request for the others.
 */
export function deleteRemoved(config: unknown): void {
  const faults: Fault[] = [];
  for (const { path, harmless, instead } of REMOVED_SETTINGS) {
    const section = path.slice(0, -1).reduce(memberOf, config);
    const key = path.at(-1)!;
    const value = memberOf(section, key);
    if (value === undefined) continue;
    if (value === harmless) delete (section as Record<string, unknown>)[key];
    else {
      const message = `${show(value)} was removed in 0.3.0 (see CHANGELOG.md); ${instead}`;
      faults.push({ path: joinPath("config", path), message });
    }
  }
  if (faults.length > 0) throw invalidRequest(faults);
}

function memberOf(value: unknown, key: string): unknown {
  const isSection = typeof value === "object" && value !== null && Object.hasOwn(value, key);
  return isSection ? (value as Record<string, unknown>)[key] : undefined;
}
