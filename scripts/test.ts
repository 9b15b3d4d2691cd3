/**
 * `npm test`: every check except those of the release tier. The quick half comes first, and its failures are printed as soon as
 * it has ended. Both halves run completely, and any failure fails the run.
 */
import { printFailures, runBothHalves } from "./test-halves.ts";

const failed = await runBothHalves(printFailures);
printFailures(failed);
process.exitCode = failed.length === 0 ? 0 : 1;
