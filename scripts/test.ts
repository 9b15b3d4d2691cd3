/**
 * Every check. The quick half comes first and prints its failures before the slow half starts. Both halves run whole, and any
 * failure fails the run.
 */
import { runQuickHalf, runSlowHalf, tellFailures } from "./test-halves.ts";

const quick = await runQuickHalf();
tellFailures(quick);
const slow = await runSlowHalf();
tellFailures([...quick, ...slow]);
process.exitCode = quick.length + slow.length === 0 ? 0 : 1;
