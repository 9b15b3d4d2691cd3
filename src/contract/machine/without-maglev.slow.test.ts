import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

/** Prints results of one function, which are each kept; its compiled loop gives up in `half` time and again. */
const RESULTS = `
  const half = (x) => ({ x }).x / 2;
  const halfOf = (x) => half(x) + 0.25;
  function summed(x, n) {
    let sum = 0.5;
    for (let i = 0; i < n; i++) sum += x * i;
    return { half: halfOf(x), next: x + 0.5, sum };
  }
  %EnsureFeedbackVectorForFunction(summed);
  for (let x = 1.5; x < 5; x++) summed(x, 3);
  %ClearFunctionFeedback(halfOf);
  %EnsureFeedbackVectorForFunction(halfOf);
  const results = Array.from({ length: 40 }, (_, k) => summed(k + 0.5, 30_000));
  console.log(results.filter(({ next }, k) => next !== k + 1).length);
`;

function wrongResults(...options: readonly string[]): number {
  // With these, Maglev compiles the loop, at once.
  const flags = ["--allow-natives-syntax", "--no-turbofan", "--no-concurrent-osr", ...options];
  return Number(execFileSync(process.execPath, [...flags, "--eval", RESULTS], { encoding: "utf8" }));
}

test("results of compiled code keep their numbers, which V8's own flags do not promise", () => {
  const mended = new URL("./without-maglev.ts", import.meta.url).href;
  assert.equal(wrongResults("--import", mended), 0);
  if (process.arch === "x64") assert.notEqual(wrongResults(), 0, "V8 no longer needs without-maglev.ts");
});
