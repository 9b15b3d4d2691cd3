import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MucastError } from "../errors/errors.ts";
import { rawNumbers } from "../json/json-text.ts";
import { parametersOf } from "./catalogue.ts";
import { findModel, MODELS } from "./models.ts";
import { type RawObject, resolveModelParams } from "./resolve.ts";

function refusal(model: string, params: object): MucastError | undefined {
  const rawParams = rawNumbers(JSON.stringify(params)) as RawObject;
  try {
    resolveModelParams({ model: findModel(model), rawParams });
  } catch (error) {
    if (error instanceof MucastError) return error;
    throw error;
  }
  return undefined;
}

/** A name and all its aliases, from the library's own table. */
function aliasesOf(model: "lightgbm" | "xgboost" | "catboost", name: string): string[] {
  const parameter = parametersOf(model).byName.get(name);
  assert.ok(parameter, `${model} has no ${name}`);
  return [name, ...parameter.aliases];
}

function refusesAll(model: string, names: string[], reason: RegExp): void {
  for (const name of names) {
    const error = refusal(model, { [name]: "x" });
    assert.equal(error?.code, "invalid_model_params", name);
    assert.match(error.data.faults?.[0]?.message ?? "", reason, name);
    assert.equal(error.data.faults?.[0]?.path, `config.ML params.model_params.${name}`);
  }
}

describe("an argument that reaches outside the model", () => {
  it("is refused in lightgbm, under every alias: the network", () => {
    const names = ["machines", "num_machines", "local_listen_port", "machine_list_filename", "time_out"];
    refusesAll(
      "lightgbm",
      names.flatMap((name) => aliasesOf("lightgbm", name)),
      /opens network connections/,
    );
    refusesAll("lightgbm", ["workers", "nodes", "mlist"], /opens network connections/);
  });

  it("is refused in lightgbm, under every alias: files", () => {
    const names = [
      ...["forcedbins_filename", "forcedsplits_filename", "parser_config_file", "config", "data", "valid"],
      ...[
        "input_model",
        "output_model",
        "save_binary",
        "convert_model",
        "snapshot_freq",
        "output_result",
        "task",
      ],
    ];
    refusesAll(
      "lightgbm",
      names.flatMap((name) => aliasesOf("lightgbm", name)),
      /reads or writes files/,
    );
    refusesAll("lightgbm", ["fs", "model_in", "is_save_binary_file", "test_data"], /reads or writes files/);
  });

  it("is refused in lightgbm: a second parameter inside a value", () => {
    // lightgbm would read each of these as further parameters.
    const values = [
      "l2 input_model=/etc/passwd",
      "l2\noutput_model=x",
      "l2\tmachines=a",
      "a=b",
      "l2#",
      "'l2'",
    ];
    for (const value of values) {
      for (const params of [{ metric: value }, { metric: ["l1", value] }, { objective: value }]) {
        assert.match(refusal("lightgbm", params)?.data.faults?.[0]?.message ?? "", /may not contain spaces/);
      }
    }
  });

  it("is refused in catboost", () => {
    const names = [
      ...["train_dir", "save_snapshot", "snapshot_file", "snapshot_interval", "snapshot_frequency"],
      ...[
        "input_borders",
        "output_borders",
        "learn_error_log",
        "test_error_log",
        "time_left_log",
        "json_log",
      ],
      ...["profile_log", "output_columns_file", "monotone_constraints_file"],
    ];
    refusesAll("catboost", names, /reads or writes files/);
    refusesAll("catboost", ["node_type", "node_port", "file_with_hosts"], /opens network connections/);
    refusesAll("catboost", ["callbacks", "callback"], /accepts code/);
    for (const value of [true, "yes", 1]) {
      assert.match(refusal("catboost", { allow_writing_files: value })?.message ?? "", /must be false/);
    }
    assert.equal(refusal("catboost", { allow_writing_files: false }), undefined);
  });

  it("is refused in xgboost", () => {
    refusesAll("xgboost", ["callbacks", "obj", "feval", "custom_metric"], /accepts code/);
    refusesAll("xgboost", ["xgb_model", "model_in", "model_out", "model_dir", "save_period"], /files/);
    refusesAll(
      "xgboost",
      ["dmlc_tracker_uri", "DMLC_TASK_ID", "rabit_tracker", "federated_server"],
      /network/,
    );
    assert.match(refusal("xgboost", { process_type: "update" })?.message ?? "", /existing model/);
  });

  it("is refused in scikit-learn", () => {
    for (const { name, library } of MODELS) {
      if (library === "sklearn") {
        refusesAll(name, ["memory"], /file system/);
        refusesAll(name, ["callbacks", "estimator"], /accepts code/);
      }
    }
    assert.match(
      refusal("quantile", { solver_options: { time_limit: 1 } })?.message ?? "",
      /depends on the clock/,
    );
  });

  it("is refused in the solver behind scikit-learn's quantile regression", () => {
    for (const name of [
      "solution_file",
      "log_file",
      "write_model_file",
      "read_basis_file",
      "threads",
      "__proto__",
    ]) {
      const error = refusal("quantile", { solver_options: Object.fromEntries([[name, "/tmp/x"]]) });
      assert.equal(error?.code, "invalid_model_params", name);
      assert.match(error.message, new RegExp(`solver_options.${name}: is not one of the options`));
    }
  });

  it("cannot hide behind another case, which no library accepts", () => {
    assert.match(refusal("lightgbm", { Machines: "x" })?.message ?? "", /has no parameter called "Machines"/);
  });
});

describe("an argument that needs an evaluation set", () => {
  const cases: [string, string[]][] = [
    ["xgboost", ["early_stopping_rounds"]],
    [
      "lightgbm",
      [...aliasesOf("lightgbm", "early_stopping_round"), "early_stopping_min_delta", "first_metric_only"],
    ],
    [
      "catboost",
      [...aliasesOf("catboost", "od_wait"), "od_type", "od_pval", "use_best_model", "eval_fraction"],
    ],
  ];
  for (const [model, names] of cases) {
    it(`is refused in ${model}`, () => refusesAll(model, names, /needs an evaluation set/));

    it(`may be switched off in ${model}`, () => {
      for (const name of names) assert.equal(refusal(model, { [name]: null }), undefined, name);
    });
  }

  it("may be given as its own default", () => {
    assert.equal(refusal("lightgbm", { num_class: 1 }), undefined);
    assert.match(refusal("lightgbm", { num_classes: 1_000_000_000 })?.message ?? "", /only regression/);
    assert.equal(refusal("lightgbm", { early_stopping_rounds: 0, first_metric_only: false }), undefined);
    assert.equal(refusal("catboost", { use_best_model: false, eval_fraction: 0.0 }), undefined);
  });

  it("is not a metric, because a metric by itself changes nothing", () => {
    assert.equal(refusal("xgboost", { eval_metric: "mae" }), undefined);
    assert.equal(refusal("lightgbm", { metric: "l1" }), undefined);
    assert.equal(refusal("catboost", { eval_metric: "MAE", custom_metric: ["MAE"] }), undefined);
  });
});

describe("a GPU", () => {
  const cases: [string, object[]][] = [
    ["xgboost", [{ device: "cuda" }, { device: "cuda:1" }, { device: "gpu" }, { tree_method: "gpu_hist" }]],
    ["xgboost", [{ gpu_id: 0 }, { predictor: "gpu_predictor" }, { updater: "grow_gpu_hist" }]],
    [
      "lightgbm",
      [
        { device: "gpu" },
        { device_type: "CUDA" },
        { device: ["gpu"] },
        { device: "'gpu'" },
        { gpu_device_id: 0 },
        { num_gpu: 2 },
      ],
    ],
    ["catboost", [{ task_type: "GPU" }, { devices: "0" }, { device_config: "0" }, { gpu_ram_part: 0.5 }]],
  ];
  for (const [model, asked] of cases) {
    for (const params of asked) {
      it(`is never silently replaced by the CPU: ${model} ${JSON.stringify(params)}`, () => {
        const error = refusal(model, params);
        assert.equal(error?.code, "device_unavailable");
        assert.match(error.message, /asks for a GPU/);
      });
    }
  }

  it("is one fault among others if there are others", () => {
    const error = refusal("xgboost", { device: "cuda", max_dept: 3 });
    assert.equal(error?.code, "invalid_model_params");
    assert.equal(error.data.faults?.length, 2);
  });

  it("is not requested by settings for the CPU", () => {
    assert.equal(refusal("xgboost", { device: "cpu", tree_method: "hist" }), undefined);
    assert.equal(refusal("lightgbm", { device_type: "cpu", gpu_device_id: -1, num_gpu: 1 }), undefined);
    assert.equal(refusal("catboost", { task_type: "CPU", devices: null }), undefined);
  });
});
