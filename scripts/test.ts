/**
 * Everything that has to hold. The quick half comes first, and what failed in it is told before the slow half starts;
 * all of both is run, and any failure fails the whole.
 */
import { runQuickHalf, runSlowHalf, tellFailures } from "./test-halves.ts";

const quick = await runQuickHalf();
tellFailures(quick);
const slow = await runSlowHalf();
tellFailures([...quick, ...slow]);
process.exitCode = quick.length + slow.length === 0 ? 0 : 1;
