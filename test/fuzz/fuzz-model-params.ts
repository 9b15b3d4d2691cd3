import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { fuzzJobs } from "./fuzz-jobs.ts";
import { STRUCTURAL_PAIRS } from "./structural-parameters.ts";
import { MAX_BYTES, MAX_SECONDS } from "./watched-engine.ts";

/** All pairs of structural parameters, and about as many cases of made-up values. */
const CASES = String(2 * STRUCTURAL_PAIRS.length);
const LANES = 2;

/**
 * Runs made-up `model_params` of every model as whole jobs on two tiny tickers: `--cases N` of them (by default twice as many as there are
 * pairs of structural parameters) from `--seed S` (by default a new one, which is printed), or again the one that `--case N` names.
 * @returns whether no worker died, no job exceeded its time and memory, and nothing left a file or opened a socket.
 */
export async function fuzzModelParams(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      cases: { type: "string", default: CASES },
      seed: { type: "string" },
      case: { type: "string" },
    },
  });
  const seed = numberOf("--seed", values.seed ?? String(Date.now() % 1_000_000));
  const only = values.case === undefined ? undefined : numberOf("--case", values.case);
  const numbers = only === undefined ? Array(numberOf("--cases", values.cases)).keys() : [only];
  process.stdout.write(
    `model_params, seed ${seed}: at most ${MAX_SECONDS} s and ${MAX_BYTES} bytes a case\n`,
  );
  const started = performance.now();
  const lanes = only === undefined ? Math.min(LANES, availableParallelism()) : 1;
  const { outcomes, findings, seesSockets } = await fuzzJobs(
    seed,
    numbers,
    lanes,
    ({ number, config }, watched) => {
      const said = [
        ...watched.findings,
        ...(only === undefined ? [] : [`${watched.outcome}: ${watched.message}`]),
      ];
      if (said.length === 0) return;
      const again = `npm run fuzz -- model-params --seed ${seed} --case ${number}`;
      process.stdout.write(`case ${number}: ${said.join("; ")}\n  ${config}\n  again: ${again}\n`);
    },
  );
  const counts = [...outcomes].sort(([, a], [, b]) => b - a);
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  process.stdout.write(`${findings.length} findings in ${seconds} s\n`);
  for (const [outcome, count] of counts) process.stdout.write(`  ${count} ${outcome}\n`);
  if (!seesSockets) process.stdout.write("  sockets that are closed again are not seen here: no seccomp\n");
  return findings.length === 0;
}

function numberOf(flag: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${flag} must be a whole number of at most nine digits, got ${JSON.stringify(text)}`);
}
