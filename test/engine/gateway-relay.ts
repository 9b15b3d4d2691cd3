/**
 * The process of a fake gateway: it passes its stdin to the test, and what the test sends to its stdout. Its arguments are the socket of
 * the test, and those of a gateway.
 */
import { connect } from "node:net";

const [socket, ...args] = process.argv.slice(2);
const test = connect(socket!);
test.write(`${JSON.stringify({ pid: process.pid, args, env: process.env })}\n`);
process.stdin.pipe(test);
test.pipe(process.stdout);
test.on("close", () => process.exit(0));
test.on("error", () => process.exit(1));
