/** The quick half of `npm test`: types, lint, formats, generated files, and the fast tests. */
import { printFailures, runQuickHalf } from "./test-halves.ts";

const failed = await runQuickHalf();
printFailures(failed);
process.exitCode = failed.length === 0 ? 0 : 1;
