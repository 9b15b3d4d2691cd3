import { boundedCopy, jsonBytes } from "./bounded-json.ts";
import type { Problem } from "./problem.ts";
import { type CodeCounts, countCodes, LISTED_AT_MOST, SIZES } from "./sizes.ts";

/** Room for what every problem has, its detail aside, and for the names of lists. */
const FRAME_BYTES = 2 * 2 ** 10;

/**
 * A problem of no more bytes than a problem may have: long texts are cut; of its failures the first are listed, and
 * `failure_counts` tells how many have each code.
 */
export function boundedProblem(problem: Problem): Problem {
  const { type, title, status, code, detail, advice, failures, failure_counts, ...data } = problem;
  const frame = boundedCopy(
    { type, title, status, code, detail, advice },
    { bytes: SIZES.detail + FRAME_BYTES, text: SIZES.detail },
  ) as Problem;
  const room = SIZES.problem - SIZES.detail - 2 * FRAME_BYTES;
  const facts = boundedCopy(data, { bytes: room, text: SIZES.text })!;
  if (!Array.isArray(failures)) return { ...frame, ...facts };
  const listed = boundedCopy(failures.slice(0, LISTED_AT_MOST), {
    bytes: Math.min(SIZES.list, room - jsonBytes(facts)),
    text: SIZES.text,
  });
  // A problem that was bounded before has its counts already.
  const counts = (failure_counts as CodeCounts | undefined) ?? countCodes(failures);
  return { ...frame, ...facts, failures: listed ?? [], failure_counts: counts };
}
