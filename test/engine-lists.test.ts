/**
 * Lists that both TypeScript and Python have. The engine's sources are read as text, so that no process starts. mypy and
 * engine/tests/test_closed_sets.py check that each list is complete within the engine.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import {
  architecturesOf,
  LOSS_TYPES,
  NETWORKS,
  OPTIMIZERS,
  trainingParamsSchema,
} from "../src/contract/config/networks.ts";
import { SCALERS } from "../src/contract/config/panel-settings.ts";
import { ERROR_TABLE } from "../src/contract/errors/error-codes.ts";
import { LIBRARY_TITLES, MODELS } from "../src/contract/model-params/models.ts";
import type { EngineRequest, TaskKind } from "../src/engine/pool/protocol.ts";

const ENGINE = "engine/mucast_engine";
const engine = globSync(`${ENGINE}/**/*.py`)
  .map((file) => readFileSync(file, "utf8"))
  .join("\n");

/** The names of a `Literal`. */
function literal(name: string): string[] {
  const [, names] = new RegExp(`^${name} = Literal\\[(.*?)\\]`, "ms").exec(engine) ?? [];
  assert.ok(names !== undefined, `${ENGINE} has no ${name} = Literal[...]; this test reads it`);
  return [...names.matchAll(/"(\w+)"/g)].map(([, each]) => each!);
}

/** The keys and values of each table of that name, as Python writes the values. */
function tables(name: string): Map<string, string>[] {
  const found = [...engine.matchAll(new RegExp(`^${name}(?:: [^\\n]+)? = \\{\\n(.*?)^\\}`, "gms"))];
  assert.ok(found.length > 0, `${ENGINE} has no table ${name}; this test reads it`);
  return found.map(
    ([, body]) =>
      new Map([...body!.matchAll(/^ {4}"(\w+)": (.*),$/gm)].map(([, key, value]) => [key!, value!])),
  );
}

function assertSame(ofEngine: Iterable<string>, ofContract: Iterable<string>, what: string) {
  const message = `${what}: those of ${ENGINE} (actual) are not those of src/contract (expected)`;
  assert.deepEqual([...ofEngine].sort(), [...ofContract].sort(), message);
}

describe("the engine and the contract have the same", () => {
  it("regressors", () => {
    const [regressors] = tables("REGRESSORS");
    const classes = [...regressors!].map(([name, row]) => `${name}: ${row.match(/"\w+"/g)!.slice(0, 2)}`);
    const expected = MODELS.map(({ name, library, className }) => `${name}: "${library}","${className}"`);
    assertSame(classes, expected, "REGRESSORS");
  });

  it("libraries", () => {
    assertSame(literal("Library"), Object.keys(LIBRARY_TITLES), "libraries");
  });

  it("scalers", () => {
    assert.ok(tables("SCALERS").some((table) => table.has("none")));
    // Networks always scale.
    for (const table of tables("SCALERS")) {
      assertSame(new Set([...table.keys(), "none"]), SCALERS, "SCALERS");
    }
  });

  it("networks", () => {
    assertSame(literal("TickerArchitecture"), architecturesOf({ joint: false }), "networks of one ticker");
    assertSame(literal("JointArchitecture"), architecturesOf({ joint: true }), "joint networks");
  });

  it("losses", () => {
    assertSame(literal("LossName"), LOSS_TYPES, "losses");
  });

  it("optimizers", () => {
    assertSame(literal("OptimiserName"), OPTIMIZERS, "optimizers");
  });

  it("tasks", () => {
    const kinds: Record<TaskKind, true> = {
      fit_predict: true,
      trial: true,
      device: true,
      train_network: true,
      train_stack: true,
      train_joint: true,
    };
    assertSame(literal("TaskKind"), Object.keys(kinds), "kinds of tasks");
  });

  it("requests to the host", () => {
    const ops: Record<EngineRequest["op"], true> = { import: true, start: true, task: true, kill: true };
    assertSame(literal("Op"), Object.keys(ops), "requests to the host");
  });

  it("codes of errors", () => {
    const unknown = literal("Code").filter((code) => !Object.hasOwn(ERROR_TABLE, code));
    assert.deepEqual(unknown, [], `codes of ${ENGINE} that ERROR_TABLE lacks`);
  });

  // The job trains the members of an ensemble, each as a task or as an entry of a stack.
  const { loss_type: _, ensemble: __, ...training } = trainingParamsSchema.shape;
  const fields = [
    ...Object.values(NETWORKS).flatMap(({ entry }) => Object.keys(entry.shape)),
    ...["architecture", "batch_size", "loss", ...Object.keys(training)],
  ];
  for (const field of new Set(fields)) {
    it(`field ${field} of a task`, () => {
      assert.ok(engine.includes(`["${field}"]`), `${ENGINE} does not read ["${field}"], which tasks carry`);
    });
  }
});

it("the engine draws random numbers for the purposes of docs/semantics.md, and another name gives other numbers", () => {
  const drawn = [...engine.matchAll(/\b(?:generator_for|derive_seed)\([^()]*"(\w+)"/g)].map(
    ([, purpose]) => purpose,
  );
  assert.deepEqual([...new Set(drawn)].sort(), ["dropout", "order", "weights"]);
});

it("the plain twin of networks knows the losses and the joint networks, and treats other losses as mse", () => {
  const twin = readFileSync("test/end-to-end/twins/plain_network_job.py", "utf8");
  const namesOf = (list: string) =>
    [...twin.match(new RegExp(`^${list} = \\((.*)\\)$`, "m"))![1]!.matchAll(/"(\w+)"/g)].map(
      ([, name]) => name!,
    );
  assert.deepEqual(namesOf("LOSSES").sort(), [...LOSS_TYPES].sort());
  assert.deepEqual(namesOf("JOINT").sort(), [...architecturesOf({ joint: true })].sort());
});
