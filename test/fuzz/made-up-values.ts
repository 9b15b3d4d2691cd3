/** JSON texts of made-up values for arguments of regressors, valid and invalid. */
import type { Parameter } from "../../src/contract/model-params/catalogue.ts";
import type { Seeded } from "../end-to-end/markets/seeded.ts";

function words(text: string): readonly string[] {
  return text.split(/\s+/);
}

const INTEGERS =
  words(`0 1 -1 2 3 4 5 7 16 17 31 64 99 127 128 255 256 1000 20000 65535 65536 131072 1000000 2147483647 2147483648
  -2147483648 4000000000 4294967296 9007199254740993 9223372036854775807 18446744073709551615 1e2 3e9
  100000000000000000000000000000 -9223372036854775809`);
const FRACTIONS =
  words(`0.0 -0.0 1.0 0.5 0.1 0.999 1.5 2.0 -0.5 1e-3 1e-9 1e-300 5e-324 1e30 1e300 -1e300 3.4e38 3.5e38
  0.3333333333333333 31.0 6.0`);
/** Words that libraries know, whatever their parameter. */
const WORDS = [
  ...words(`auto gbtree gblinear dart hist exact approx lossguide depthwise uniform gradient_based grow_colmaker
    grow_quantile_histmaker grow_histmaker prune refresh sync shotgun coord_descent greedy thrifty rmse mae ndcg auc
    map aucpr cox-nloglik interval-regression-accuracy quantile pre reg:quantileerror reg:pseudohubererror
    one_output_per_tree gbdt rf goss bagging serial feature data voting l1 huber fair mape basic intermediate
    advanced cross_entropy lambdarank auc_mu multi_error kldiv tweedie none Plain Ordered Bayesian Bernoulli MVS
    Poisson No SymmetricTree Depthwise Lossguide Region Newton Gradient Exact Simple AnyImprovement Armijo L2 Cosine
    NewtonL2 Constant Decreasing Min Max Forbidden PerTree PerTreeLevel Object Group Median UniformAndQuantiles
    MaxLogSum MinEntropy GreedyMinEntropy RMSE MAE Quantile:alpha=0.3 MultiQuantile:alpha=0.1,0.9 Huber:delta=1
    Huber:delta=1e39 Lq:q=1e300 Lq:q=1 Lq:q=3 LogCosh MAPE Expectile:alpha=0.1 NDCG QuerySoftMax PFound R2 SMAPE
    UserPerObjMetric Silent Debug Full SkipTest sqrt log2 friedman_mse absolute_error sag saga lsqr sparse_cg lbfgs
    svd cholesky highs highs-ds highs-ipm interior-point random cyclic balanced true false 1 -1 0.5 1GB 10mb abc`),
  "",
  ...words(`gpu cuda cpu written.txt ../written.txt 127.0.0.1:12400`),
  "a b",
  ...words(`a=b`),
  "l2 output_model=written.txt",
  ...words(`# 'l2'`),
  "\u0000",
  "\n",
  ...words(`é 日本`),
  "x".repeat(5_000),
  ...words(`NaN inf null None __proto__ name:f0 f0 [ [[[[ {} (1 1, , : 0:`),
];
/** Names inside objects. */
const KEYS =
  words(`0 1 3 99 -1 a f0 __proto__ 4000000000 alpha maxiter presolve disp primal_feasibility_tolerance
  dual_feasibility_tolerance simplex_dual_edge_weight_strategy`);
/** For five columns that exist in one ticker and four in the other. */
const COLUMNS = words(`0 1 2 3 4 5 6 -1 99 9999 10000 20000 4000000000 0.5`);
const SIGNS = words(`-1 0 1 1 0 2 1.0 1.5 100`);
const FEATURE_TYPES = words(`q q float int i c x`);

export class MadeUpValues {
  readonly #random: Seeded;

  constructor(random: Seeded) {
    this.#random = random;
  }

  pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.uniform() * items.length)]!;
  }

  chance(share: number): boolean {
    return this.#random.uniform() < share;
  }

  /** Mostly of a type that the parameter accepts. */
  value(parameter: Parameter): string {
    if (this.chance(0.2) || parameter.types === undefined) return this.#any();
    if (parameter.choices !== undefined && this.chance(0.7))
      return JSON.stringify(this.pick(parameter.choices));
    switch (this.pick(parameter.types)) {
      case "null":
        return this.chance(0.2) ? "null" : this.#number();
      case "bool":
        return this.pick(["true", "false"]);
      case "int":
        return this.pick(INTEGERS);
      case "whole":
      case "float":
        return this.pick(FRACTIONS);
      case "number_text":
        return JSON.stringify(this.#number());
      case "string":
        return this.#string();
      case "list":
        return this.#list();
      case "object":
        return this.#object();
    }
  }

  #any(): string {
    const kinds = [
      () => this.#number(),
      () => this.#number(),
      () => this.#string(),
      () => this.#list(),
      () => this.#list(),
      () => this.#object(),
      () => this.pick(["true", "false", "null"]),
    ];
    return this.pick(kinds)();
  }

  #number(): string {
    return this.pick(this.chance(0.5) ? INTEGERS : FRACTIONS);
  }

  #string(): string {
    return JSON.stringify(this.chance(0.4) ? this.#columnText() : this.pick(WORDS));
  }

  #several(of: () => string): string[] {
    const count = this.chance(0.8) ? this.pick([4, 5, 5, 3, 1]) : this.pick([0, 2, 6, 30, 10_001]);
    return Array.from({ length: count }, of);
  }

  #list(): string {
    const entries: (() => string)[] = [
      () => this.pick(SIGNS),
      () => this.pick(COLUMNS),
      () => this.#number(),
      () => JSON.stringify(this.pick(FEATURE_TYPES)),
      () => JSON.stringify(this.pick(WORDS)),
      () => `[${this.#few(COLUMNS).join(",")}]`,
      () => JSON.stringify(`${this.pick(COLUMNS)}-${this.pick(COLUMNS)}`),
      () => JSON.stringify(`${this.pick(COLUMNS)}:border_count=${this.pick(INTEGERS)}`),
      () => this.pick(["null", "true", "{}", "[]", "[[0]]"]),
    ];
    const of = this.pick(entries);
    return `[${this.#several(of).join(",")}]`;
  }

  #few(items: readonly string[]): string[] {
    return Array.from({ length: this.pick([0, 1, 2, 3]) }, () => this.pick(items));
  }

  #columnText(): string {
    const signs = this.#several(() => this.pick(SIGNS)).join(",");
    const groups = this.#few(["0", "1"])
      .map(() => `[${this.#few(COLUMNS).join(",")}]`)
      .join(",");
    const pairs = this.#few(COLUMNS)
      .map((column) => `${column}:${this.pick([...SIGNS, ...FRACTIONS])}`)
      .join(",");
    const range = `${this.pick(COLUMNS)}-${this.pick(COLUMNS)}`;
    const options = `${this.pick(COLUMNS)}:border_count=${this.pick(INTEGERS)}`;
    return this.pick([signs, `(${signs})`, `[${signs}]`, groups, `[${groups}]`, pairs, range, options]);
  }

  #object(): string {
    const names = [...new Set(Array.from({ length: this.pick([0, 1, 1, 2, 3]) }, () => this.pick(KEYS)))];
    const scalar = () =>
      this.pick([this.#number(), this.pick(SIGNS), JSON.stringify(this.pick(WORDS)), "true", "null"]);
    return `{${names.map((name) => `${JSON.stringify(name)}:${scalar()}`).join(",")}}`;
  }
}
