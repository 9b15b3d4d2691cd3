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

const ENGINE = "engine/mucast_engine";
const sources = globSync(`${ENGINE}/**/*.py`).map((file) => readFileSync(file, "utf8"));
const whole = sources.join("\n");

/** The one source that defines a function or class. */
function sourceWith(definition: string): string {
  const found = sources.filter((source) => source.includes(`\n${definition}(`));
  assert.equal(
    found.length,
    1,
    `${found.length} files of ${ENGINE} define ${definition}; this test reads the one`,
  );
  return found[0]!;
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
    const [modules] = tables("MODULES");
    const inEngine = [...modules!.matchAll(/"(\w+)": \{(.*?)\}/gs)].flatMap(([, library, classes]) =>
      all(classes!, /"(\w+)":/g).map((name) => `${library} ${name}`),
    );
    same(
      inEngine,
      MODELS.map(({ library, className }) => `${library} ${className}`),
      "classes of MODULES",
    );
  });

  it("have the same scikit-learn models in the catalogue", () => {
    const [estimators] = tables("ESTIMATORS");
    same(
      all(estimators!, /("\w+": \w+)/g),
      MODELS.filter(({ library }) => library === "sklearn").map(
        ({ name, className }) => `"${name}": ${className}`,
      ),
      "ESTIMATORS",
    );
  });

  it("have the same scalers, for regressors and for networks", () => {
    const found = tables("SCALERS");
    assert.equal(found.length, 2);
    for (const table of found) {
      same(
        all(table, /^ {4}"(\w+)":/gm),
        SCALERS.filter((name) => name !== "none"),
        "SCALERS",
      );
    }
  });

  it("have the same networks", () => {
    const cases = all(sourceWith("def build_network"), /\bcase "(\w+)":/g);
    const encoders = ARCHITECTURES.map((name) => name.replace(/^portfolio_/, ""));
    same(cases, [...new Set(encoders)], "encoders");
    for (const name of ARCHITECTURES) {
      // The engine tells a joint network by its task, and its encoder by the rest of its name.
      assert.equal(NETWORKS[name].joint, name.startsWith("portfolio_"), name);
    }
  });

  it("have the same losses", () => {
    const source = sourceWith("def make_loss");
    same(all(source, /\bcase "(\w+)"|"(\w+)": _\w+[,}]/g), LOSS_TYPES, "losses");
  });

  it("have the same optimizers", () => {
    const [, table] = /\{([^{}]*)\}\[training\["optimizer"\]\]/.exec(whole) ?? [];
    assert.ok(table, `no table of optimizers in ${ENGINE}; this test reads it`);
    same(all(table, /"(\w+)":/g), OPTIMIZERS, "optimizers");
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

  it("have the same codes of errors: what the engine says of a task is in ERROR_TABLE", () => {
    const codes = all(whole, /\bTaskError\(\s*"(\w+)"/g);
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
