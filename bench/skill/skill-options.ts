import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { parseDay } from "../../src/contract/market/dates.ts";
import { BenchError } from "../bench.ts";
import { DEFAULT_ROWS, rowsNamed, type SkillRow } from "./skill-rows.ts";

const USAGE =
  "usage: npm run bench -- skill --prices FILE --cut DATE [--until DATE] [--delay N] [--rows NAME,NAME] [--cores N] [--out FILE]";

export interface SkillOptions {
  readonly prices: string;
  /** `YYYY-MM-DD`, the last date whose labels may be learned. */
  readonly cut: string;
  /** `YYYY-MM-DD`, the last date that is judged. */
  readonly until: string | undefined;
  /** The labels that every row learns, 0 to 5 closes after its own. */
  readonly delay: number;
  readonly rows: readonly SkillRow[];
  readonly cores: number;
  readonly out: string | undefined;
}

/** @throws BenchError of one line for missing, unknown or invalid arguments. */
export function skillOptions(args: readonly string[]): SkillOptions {
  const { prices, cut, until, delay, rows, cores, out } = parsed(args);
  if (prices === undefined || cut === undefined) throw new BenchError(USAGE);
  if (!existsSync(prices)) throw new BenchError(`--prices: there is no file ${JSON.stringify(prices)}`);
  checkDate("--cut", cut);
  if (until !== undefined) {
    checkDate("--until", until);
    if (until < cut) throw new BenchError(`--until: ${until} lies before the cut, ${cut}`);
  }
  if (delay !== undefined && !/^[0-5]$/.test(delay)) {
    throw new BenchError(`--delay: takes an integer from 0 to 5, not ${JSON.stringify(delay)}`);
  }
  if (cores !== undefined && !/^[1-9]\d*$/.test(cores)) {
    throw new BenchError(`--cores: takes a positive integer, not ${JSON.stringify(cores)}`);
  }
  if (out !== undefined && !existsSync(dirname(resolve(out)))) {
    throw new BenchError(`--out: there is no folder ${JSON.stringify(dirname(out))}`);
  }
  return {
    prices,
    cut,
    until,
    delay: Number(delay ?? 0),
    rows: rows === undefined ? DEFAULT_ROWS : rowsNamed(rows.split(",")),
    cores: Number(cores ?? availableParallelism()),
    out,
  };
}

function parsed(args: readonly string[]) {
  const text = { type: "string" } as const;
  const options = { prices: text, cut: text, until: text, delay: text, rows: text, cores: text, out: text };
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new BenchError(`${(error as Error).message.replaceAll("\n", " ")}; ${USAGE}`);
  }
}

function checkDate(option: string, text: string): void {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text) && parseDay(text) !== undefined) return;
  throw new BenchError(`${option}: ${JSON.stringify(text)} is not a date; write YYYY-MM-DD`);
}
