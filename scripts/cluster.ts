/**
 * Runs the tests that start a Ray cluster of several nodes, which take long and so are not part of `npm test`: those of the gateway
 * (pytest's marker `cluster`) and those of whole jobs (test/cluster/*.cluster.ts). `npm run cluster -- FILE …` runs some. They need root,
 * or namespaces for users: without either, they fail and say what to do.
 */
import { globSync, readFileSync } from "node:fs";
import { findEnvironment } from "../src/engine/environment/environment.ts";
import { type Check, runChecks } from "./checks.ts";

/** A file takes up to a quarter of an hour where the machine is busy with other work. */
const MAX_MINUTES = 60;

const named = process.argv.slice(2);
const startsCluster = (file: string) => /start_cluster|mark\.cluster/.test(readFileSync(file, "utf8"));
const all = [
  ...globSync("engine/tests/cluster/test_*.py").filter(startsCluster).sort(),
  ...globSync("test/cluster/*.cluster.ts").sort(),
];
const missing = named.filter((file) => !all.includes(file));
if (missing.length > 0) throw new Error(`no test of a cluster: ${missing.join(", ")}`);

const { python } = findEnvironment("dev");

function check(file: string): Check {
  if (file.endsWith(".py")) return [file, () => python, ["-m", "pytest", "-q", "-m", "cluster", file]];
  return [file, () => process.execPath, ["--test", file]];
}

const failed = await runChecks((named.length > 0 ? named : all).map(check), 2, MAX_MINUTES);
if (failed.length > 0) process.stdout.write(`\nfailed: ${failed.join(", ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
