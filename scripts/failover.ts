/** `npm run failover [-- --jobs N]`: services that share a database are killed, drained and added while jobs run. */
import { failover } from "../test/failover/failover.ts";

process.exitCode = (await failover(process.argv.slice(2))) ? 0 : 1;
