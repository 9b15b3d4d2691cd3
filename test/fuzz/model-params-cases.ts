/** Made-up configs of run_ml_job: the case of a seed and a number is always the same. */
import { MucastError } from "../../src/contract/errors/errors.ts";
import { rawNumbers } from "../../src/contract/json/json-text.ts";
import { type Parameter, parametersOf } from "../../src/contract/model-params/catalogue.ts";
import { findModel, MODELS, type Model } from "../../src/contract/model-params/models.ts";
import { resolveModelParams } from "../../src/contract/model-params/resolve.ts";
import { MAX_ROUNDS, valueRule } from "../../src/contract/model-params/value-rules.ts";
import { Seeded } from "../end-to-end/markets/seeded.ts";
import { MadeUpValues } from "./made-up-values.ts";
import { STRUCTURAL_PAIRS } from "./structural-parameters.ts";

export interface FuzzCase {
  readonly seed: number;
  readonly number: number;
  readonly model: Model["name"];
  /** JSON text. */
  readonly config: string;
}

/**
 * Every second case is a pair of structural parameters, in an order that depends on the seed: twice as many cases as there are pairs
 * include all of them. The other cases have made-up values.
 */
export function caseOf(seed: number, number: number): FuzzCase {
  // Far apart, so that the cases of two seeds share nothing.
  const mixed = Math.imul(seed + 1, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b);
  const values = new MadeUpValues(new Seeded(mixed));
  const turn = Math.floor(number / 2);
  const [model, texts] = number % 2 === 1 ? pairOf(seed, turn) : madeUpArguments(turn, values);
  const rounds = QUICK[model.library];
  const isGiven = texts.some((text) => text.startsWith(`"${rounds}"`));
  if (parametersOf(model.name).byName.has(rounds) && !isGiven) texts.push(`"${rounds}": ${MIN_ROUNDS}`);
  const scaler = values.pick(["none", "none", "standard", "minmax"]);
  const config = `{"ML params": {"model": "${model.name}", "n_splits": 1, "cv_test_size": 5, "scaler": "${scaler}", "model_params": {${texts.join(", ")}}}}`;
  return { seed, number, model: model.name, config };
}

/** A model with its arguments, each the JSON text `"name": value`. */
type Arguments = readonly [Model, string[]];

function pairOf(seed: number, turn: number): Arguments {
  if (pairOrder?.seed !== seed) pairOrder = { seed, pairs: new Seeded(seed).shuffle(STRUCTURAL_PAIRS) };
  const { model, texts } = pairOrder.pairs[turn % STRUCTURAL_PAIRS.length]!;
  return [findModel(model), [...texts]];
}

/** Of the last requested seed. */
let pairOrder: { readonly seed: number; readonly pairs: typeof STRUCTURAL_PAIRS } | undefined;

/**
 * Every model and each of its parameters gets its turn, with up to six others. In two cases out of three, arguments are drawn again if a
 * rule refuses them, and omitted if a rule always does, so that they reach the library.
 */
function madeUpArguments(number: number, values: MadeUpValues): Arguments {
  const [model, turn] = TURNS[(number * STRIDE) % TURNS.length]!;
  const parameters = [...parametersOf(model.name).byName.values()];
  const chosen = new Map([[turn.name, turn]]);
  for (let more = values.pick([0, 1, 1, 2, 3, 6]); more > 0; more--) {
    const other = values.pick(parameters);
    chosen.set(other.name, other);
  }
  const isToCome = values.chance(2 / 3);
  const texts: string[] = [];
  for (const parameter of chosen.values()) {
    const text = madeUp(model, parameter, values, isToCome ? texts : undefined);
    if (text !== undefined) texts.push(text);
  }
  return [model, texts];
}

const DRAWS = 8;

/** An argument, one that is valid beside `others` if these are given; undefined if none was drawn. */
function madeUp(
  model: Model,
  parameter: Parameter,
  values: MadeUpValues,
  others: readonly string[] | undefined,
): string | undefined {
  const name = values.pick([parameter.name, parameter.name, ...parameter.aliases]);
  const draw = () => `${JSON.stringify(name)}: ${few(model, parameter, values.value(parameter))}`;
  if (others === undefined) return draw();
  return Array.from({ length: DRAWS }, draw).find((text) =>
    isTaken(model, `{${[...others, text].join(", ")}}`),
  );
}

function isTaken(model: Model, text: string): boolean {
  try {
    resolveModelParams({ model, rawParams: rawNumbers(text) });
    return true;
  } catch (error) {
    if (error instanceof MucastError) return false;
    throw error;
  }
}

/** One for each parameter of each model. */
const TURNS: readonly (readonly [Model, Parameter])[] = MODELS.flatMap((model) =>
  [...parametersOf(model.name).byName.values()].map((parameter) => [model, parameter] as const),
);
/** Prime, so that neighbours are of different models and every turn comes. */
const STRIDE = 101;

const MIN_ROUNDS = 3;
const MAX_TRIED = 20;

const QUICK = {
  sklearn: "n_estimators",
  xgboost: "n_estimators",
  lightgbm: "n_estimators",
  catboost: "iterations",
} as const;

/** Few enough rounds for a fuzz to wait for, or too many: values in between, such as the default, only take time. */
function few(model: Model, { name }: Parameter, text: string): string {
  const rule = valueRule(model.library, name);
  const count = Number(text.replaceAll('"', ""));
  if (rule?.kind !== "most" || rule.most > MAX_ROUNDS) return text;
  if (text === "null") return String(MIN_ROUNDS);
  return count > MAX_TRIED && count <= rule.most ? String(count % MAX_TRIED) : text;
}
