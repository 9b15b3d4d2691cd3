/** Lists that TypeScript and Python both hold. The engine's sources are read as text, so that no process starts. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { SCALERS } from "../src/contract/config/intervals.ts";
import {
  ARCHITECTURES,
  LOSS_TYPES,
  NETWORKS,
  OPTIMIZERS,
  trainingParamsSchema,
} from "../src/contract/config/networks.ts";
import { ERROR_TABLE } from "../src/contract/errors/error-codes.ts";
import { MODELS } from "../src/contract/model-params/models.ts";
import type { TaskKind } from "../src/engine/pool/protocol.ts";

const ENGINE = "engine/mucast_engine";
const sources = globSync(`${ENGINE}/**/*.py`).map((file) => readFileSync(file, "utf8"));
const whole = sources.join("\n");

/** The names of `NAME = Literal[...]`. */
function literal(name: string): string[] {
  const [, body] = new RegExp(`^${name} = Literal\\[(.*?)\\]`, "ms").exec(whole) ?? [];
  assert.ok(body, `no ${name} = Literal[...] in ${ENGINE}; this test reads it`);
  return all(body, /"(\w+)"/g);
}

/** The bodies of every table of that name. */
function tables(name: string): string[] {
  const found = [...whole.matchAll(new RegExp(`^${name}(?:: [^\\n]+)? = \\{\\n(.*?)^\\}`, "gms"))];
  assert.ok(found.length > 0, `no table ${name} in ${ENGINE}; this test reads it`);
  return found.map(([, body]) => body!);
}

function all(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match.slice(1).find(Boolean)!))].sort();
}

function same(engine: readonly string[], contract: readonly string[], what: string) {
  assert.deepEqual(
    [...engine].sort(),
    [...contract].sort(),
    `${what}: those of ${ENGINE} and of src/contract`,
  );
}

describe("the engine and the contract", () => {
  it("have the same regressors", () => {
    const [table] = tables("REGRESSORS");
    same(
      [...table!.matchAll(/"(\w+)": \("(\w+)", "(\w+)"/g)].map((row) => row.slice(1).join(" ")),
      MODELS.map(({ name, library, className }) => `${name} ${library} ${className}`),
      "REGRESSORS",
    );
  });

  it("have the same scalers, for regressors and for networks", () => {
    const found = tables("SCALERS").map((table) => all(table, /^ {4}"(\w+)":/gm));
    assert.equal(found.length, 2);
    const ofNetworks = SCALERS.filter((name) => name !== "none");
    for (const names of found) same(names, names.includes("none") ? SCALERS : ofNetworks, "SCALERS");
  });

  it("have the same networks", () => {
    const ofTicker = ARCHITECTURES.filter((name) => !NETWORKS[name].joint);
    same(literal("TickerArchitecture"), ofTicker, "TickerArchitecture");
    const ofAll = ARCHITECTURES.filter((name) => NETWORKS[name].joint);
    same(literal("JointArchitecture"), ofAll, "JointArchitecture");
  });

  it("have the same losses", () => same(literal("LossName"), LOSS_TYPES, "LossName"));

  it("have the same optimizers", () => same(literal("OptimiserName"), OPTIMIZERS, "OptimiserName"));

  it("have the same kinds of tasks", () => {
    const kinds: Record<TaskKind, true> = {
      fit_predict: true,
      trial: true,
      device: true,
      train_network: true,
      train_stack: true,
      train_joint: true,
    };
    same(literal("TaskKind"), Object.keys(kinds), "TaskKind and the protocol of src/engine");
  });

  const { loss_type: _, ...training } = trainingParamsSchema.shape;
  const fields = [
    ...Object.values(NETWORKS).flatMap(({ entry }) => Object.keys(entry.shape)),
    ...["architecture", "batch_size", "loss", ...Object.keys(training)],
  ];
  for (const field of new Set(fields)) {
    it(`agree on the field ${field}: the engine reads what a task carries`, () => {
      assert.ok(whole.includes(`["${field}"]`), `nothing in ${ENGINE} reads ["${field}"]`);
    });
  }

  it("have the same codes of errors: each one that a task can end with is in ERROR_TABLE", () => {
    const codes = literal("Code");
    assert.ok(codes.includes("fit_failed"));
    assert.deepEqual(
      codes.filter((code) => !Object.hasOwn(ERROR_TABLE, code)),
      [],
    );
  });

  it("draw random numbers for the purposes of docs/semantics.md: another name gives other numbers", () => {
    assert.deepEqual(all(whole, /\b(?:generator_for|derive_seed)\([^()]*"(\w+)"/g), [
      "dropout",
      "order",
      "weights",
    ]);
  });
});
