/** The checks that are not TypeScript tests. Each is a command that fails if its exit status is not 0. */
import { findEnvironment } from "../src/engine/environment/environment.ts";

export interface Command {
  readonly name: string;
  /** Its path, looked up when it starts, because its environment may be created until then. */
  readonly command: () => string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Whether it needs more than the quick checks do. */
  readonly needsSetUp?: boolean;
}

/** The folders of Python that is linted, each with its own settings. */
export const PYTHON_FOLDERS = ["engine", "clients/python"];

export const biome = () => `tools/biome/node_modules/@biomejs/cli-linux-${process.arch}/biome`;
export const linter = () => findEnvironment("lint").python;
const node = () => process.execPath;
const python = () => findEnvironment("dev").python;

const TSC = "node_modules/typescript/bin/tsc";
/** The compiler caches its results by the content of each file. */
const ONLY_WHAT_CHANGED = ["--incremental", "--tsBuildInfoFile", ".tsc_cache/tsconfig.tsbuildinfo"];

/** They take seconds, and do not need PyTorch. */
export const CHECKS: readonly Command[] = [
  { name: "types", command: node, args: [TSC, "-p", ".", ...ONLY_WHAT_CHANGED, "--singleThreaded"] },
  { name: "types of the console", command: node, args: [TSC, "-p", "src/console", "--singleThreaded"] },
  { name: "generated files are current", command: node, args: ["scripts/generate.ts", "--check"] },
  { name: "budgets of lines and words", command: node, args: ["scripts/budgets.ts"] },
  { name: "lint and format", command: biome, args: ["ci", "."] },
  { name: "Python lint", command: linter, args: ["-m", "ruff", "check", ...PYTHON_FOLDERS] },
  { name: "Python format", command: linter, args: ["-m", "ruff", "format", "--check", ...PYTHON_FOLDERS] },
];

/** Python keeps its compiled cache of the libraries, as it does by default. */
const ENGINE = { PYTHONPATH: "engine", PYTHONDONTWRITEBYTECODE: "" };

/** Tests of the engine by pytest's markers, which engine/pyproject.toml explains. */
export function engineTests(marked: string, path = "engine/tests"): Command {
  const name = `engine tests, ${marked}`;
  return { name, command: python, args: ["-m", "pytest", "-q", "-m", marked, path], env: ENGINE };
}

/** The longest first. */
export const ENGINE_CHECKS: readonly Command[] = [
  engineTests("not cluster and not release"),
  {
    name: "engine types",
    command: python,
    args: ["-m", "mypy", "--config-file", "engine/pyproject.toml", "engine/mucast_engine"],
    env: ENGINE,
  },
];
