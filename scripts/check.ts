/** The quick half of `npm test`: types, lint, formats, generated files, and the fast tests. */
import { runQuickHalf, tellFailures } from "./test-halves.ts";

const failed = await runQuickHalf();
tellFailures(failed);
process.exitCode = failed.length === 0 ? 0 : 1;
