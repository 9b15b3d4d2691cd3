/**
 * Runs checks and tests: `npm run check` what takes seconds, `npm test` what every commit passes, `npm run test:release` the release tier,
 * and `npm run cluster` tests on Ray clusters of several nodes. The last two take paths, such as `-- test/browser src/blob`.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, globSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CHECKS, type Command, ENGINE_CHECKS, engineTests } from "./checks.ts";

const CORES = availableParallelism();

/** A test that starts processes keeps half a core busy. */
const AT_A_TIME = CORES + 3;

/** Several times what the longest file takes on a busy machine. Clusters are slower. */
const MAX_MINUTES = 15;
const MAX_CLUSTER_MINUTES = 60;

/** Slow files that take longest start first, so that no core waits for one of them at the end. */
const LONGEST =
  /every-model|service\/(core|restarts|shared-database)|operations\/operations|queue\/recovery|pool\/pool\.|job-deaths/;

/** Files that share a process, and with it modules, engines, a browser. `before` and `after` outside `describe` apply to all. */
const TOGETHER: readonly RegExp[] = [
  /^test\/end-to-end\/networks\/.*\.slow\./,
  /^test\/end-to-end\/((regressors|twins)\/|jobs\/(outputs-of|warned-jobs|what-changes)).*\.slow\./,
  /^test\/end-to-end\/twins\/.*\.release\./,
  /^src\/service\/((auth|blobs|operations|preparation)\/|readiness).*\.slow\./,
  /^src\/service\/(queue\/dispatcher|webhooks\/)/,
  /^src\/service\/(http|mcp)\//,
  /^src\/service\/database\//,
  /^src\/service\/telemetry\//,
  /^src\/executors\/process\//,
  /^src\/executors\/container-apps\/.*\.slow\./,
  /^src\/cli\/(audit|completion|job|output-commands|replay|run-job)/,
  /^(src\/audit\/|test\/end-to-end\/jobs\/audit-)/,
  /^src\/blob\/(folder\/|open-blob|remote\/)/,
  /^src\/replay\//,
  /^src\/(client|contract|jobs\/shared)\/|^src\/engine\/npy/,
  /^test\/service\/(limits|refusals|secrets|who-may)/,
  /^test\/browser\/console-(operations|accessibility|lists|run-page|sessions)/,
  /^test\/browser\/console-(forms|form-accessibility|uploads)/,
  /^test\/browser\/(report|notebook-report)/,
  // They create the same Python environment.
  /^test\/deployment\/(kubernetes|overlays|ray-cluster)/,
  /^test\/(portfolio|python-client\/notebook)/,
];

const files = globSync(["src/**/*.test.ts", "test/**/*.test.ts", "scripts/**/*.test.ts"]).sort();
const isSlow = (file: string) => file.endsWith(".slow.test.ts");
const isRelease = (file: string) => file.endsWith(".release.test.ts");

/** Two processes share the fast tests, because each loads most of the sources. */
function quickWork(): Command[] {
  const fast = files.filter((file) => !isSlow(file) && !isRelease(file));
  const shares = [0, 1].map((share) => fast.filter((_, i) => i % 2 === share));
  return [
    ...shares.map((share): Command => ({ ...testCommand(share), name: `${share.length} fast test files` })),
    ...CHECKS,
  ];
}

/** One command for each process. */
function testCommands(chosen: readonly string[]): Command[] {
  const ordered = [...chosen].sort((a, b) => Number(LONGEST.test(b)) - Number(LONGEST.test(a)));
  const processOf = (file: string) => TOGETHER.find((pattern) => pattern.test(file)) ?? file;
  return [...Map.groupBy(ordered, processOf).values()].map(testCommand);
}

function testCommand(chosen: readonly string[]): Command {
  // Without Maglev, as src/contract/machine/without-maglev.ts says.
  const options = ["--no-maglev", "--test", "--test-isolation=none", "--test-reporter=spec"];
  return { name: chosen.join(", "), command: () => process.execPath, args: [...options, ...chosen] };
}

/** Whether more of its cases run in the release tier (test/whole-matrix.testing.ts): the file, or one beside it, says so. */
function hasReleaseCases(file: string): boolean {
  const source = readFileSync(file, "utf8");
  const beside = [...source.matchAll(/ from "\.\/([\w.-]+)"/g)].map(([, name]) => join(dirname(file), name!));
  return [source, ...beside.map((path) => readFileSync(path, "utf8"))].some((text) =>
    text.includes('whole-matrix.testing.ts"'),
  );
}

function releaseWork(paths: readonly string[]): Command[] {
  const isNamed = (file: string) => paths.length === 0 || paths.some((path) => file.startsWith(path));
  const chosen = files.filter((file) => isRelease(file) || (isSlow(file) && hasReleaseCases(file)));
  const work = [
    ...(isNamed("engine/tests") ? [engineTests("release and not cluster")] : []),
    ...testCommands(chosen.filter(isNamed)),
  ];
  if (work.length === 0) throw new Error(`the release tier has no tests in ${paths.join(", ")}`);
  return work;
}

function clusterWork(paths: readonly string[]): Command[] {
  const startsCluster = (file: string) => /start_cluster|mark\.cluster/.test(readFileSync(file, "utf8"));
  const all = [
    ...globSync("engine/tests/cluster/test_*.py").filter(startsCluster),
    ...globSync("test/cluster/*.cluster.ts"),
  ];
  return all
    .filter((file) => paths.length === 0 || paths.includes(file))
    .map((file) => ({
      ...(file.endsWith(".py") ? engineTests("cluster", file) : testCommand([file])),
      name: file,
    }));
}

/** Runs `atATime` commands in parallel. @returns the names of those that failed. */
async function runAll(work: readonly Command[], atATime: number, ready = Promise.resolve(true)) {
  const failed: string[] = [];
  const queue = work.values();
  const lane = async () => {
    for (const command of queue) {
      if (command.needsSetUp && !(await ready)) continue;
      if (!(await passes(command))) failed.push(command.name);
    }
  };
  await Promise.all(Array.from({ length: atATime }, lane));
  return (await ready) ? failed : [...failed, "the set-up, without which the other tests did not run"];
}

/** Runs a command with its own folder for temporary files, and prints its output if it fails. */
async function passes({ name, command, args, env }: Command): Promise<boolean> {
  const started = performance.now();
  const temporary = mkdtempSync(join(tmpdir(), "mucast-test-"));
  // A PostgreSQL that runs as another user has its folder in there.
  chmodSync(temporary, 0o711);
  // A file, because a process that outlives the command would keep a pipe open.
  const output = openSync(join(temporary, "output"), "w");
  const child = spawn(command(), args, {
    stdio: ["ignore", output, output],
    env: { ...process.env, ...env, TMPDIR: temporary },
    timeout: 60_000 * (mode === "cluster" ? MAX_CLUSTER_MINUTES : MAX_MINUTES),
    killSignal: "SIGKILL",
  });
  closeSync(output);
  const [status, signal] = await once(child, "exit");
  const said = readFileSync(join(temporary, "output"), "utf8");
  rmSync(temporary, { recursive: true, force: true, maxRetries: 10 });
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  const end = status === 0 ? "passed" : signal ? `was killed by ${signal}` : "FAILED";
  const failing = said.slice(Math.max(0, said.lastIndexOf("failing tests:")));
  process.stdout.write(`${status === 0 ? "" : failing}# ${name}: ${end} in ${seconds} s\n`);
  return status === 0;
}

/** Installs what tests need, if it is missing. @returns whether it succeeded; otherwise the reason is on stderr. */
async function setUp(): Promise<boolean> {
  const child = spawn(process.execPath, ["scripts/setup.mjs", "--dev"], { stdio: ["ignore", 2, 2] });
  return (await once(child, "exit"))[0] === 0;
}

const afterSetUp = (work: readonly Command[]) => work.map((command) => ({ ...command, needsSetUp: true }));

const RUNS: Readonly<Record<string, (paths: readonly string[]) => Promise<string[]>>> = {
  check: () => runAll(quickWork(), CORES),
  test: () => {
    const slow = [...ENGINE_CHECKS, ...testCommands(files.filter(isSlow))];
    return runAll([...quickWork(), ...afterSetUp(slow)], AT_A_TIME, setUp());
  },
  release: (paths) => {
    process.env.MUCAST_TEST_MATRIX = "whole";
    return runAll(afterSetUp(releaseWork(paths)), AT_A_TIME, setUp());
  },
  cluster: (paths) => runAll(clusterWork(paths), 2),
};

const [mode = "test", ...paths] = process.argv.slice(2);
const failed = await RUNS[mode]!(paths);
process.stdout.write(failed.length === 0 ? "\nall passed\n" : `\nfailed:\n  ${failed.join("\n  ")}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
