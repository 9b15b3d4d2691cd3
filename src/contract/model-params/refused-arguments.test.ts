import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parametersOf } from "./catalogue.ts";
import { MODELS } from "./models.ts";
import { outcome, refusal } from "./refusals.testing.ts";
import { wordsIn } from "./refused-arguments.ts";

/** Names, each with its aliases from the library's own table. */
function withAliases(model: "lightgbm" | "catboost", names: string): string {
  const known = parametersOf(model).byName;
  return wordsIn(names)
    .flatMap((name) => [name, ...known.get(name)!.aliases])
    .join(" ");
}

function refusesAll(model: string, names: string, reason: RegExp): void {
  for (const name of wordsIn(names)) {
    const error = refusal(model, { [name]: "x" });
    assert.equal(error?.code, "invalid_model_params", name);
    assert.match(error.data.faults?.[0]?.message ?? "", reason, name);
    assert.equal(error.data.faults?.[0]?.path, `params.${name}`);
  }
}

describe("an argument that reaches outside the model", () => {
  it("is refused in lightgbm, under every alias", () => {
    const network = "machines num_machines local_listen_port machine_list_filename time_out";
    refusesAll(
      "lightgbm",
      `${withAliases("lightgbm", network)} workers nodes mlist`,
      /opens network connections/,
    );
    const files = `forcedbins_filename forcedsplits_filename parser_config_file config data valid input_model output_model
      save_binary convert_model snapshot_freq output_result task`;
    refusesAll(
      "lightgbm",
      `${withAliases("lightgbm", files)} fs model_in is_save_binary_file test_data`,
      /reads or writes files/,
    );
  });

  it("is refused in lightgbm as a second parameter inside a value, or as a text that ends early", () => {
    const values = [
      "l2 input_model=/etc/passwd",
      "l2\noutput_model=x",
      "l2\tmachines=a",
      "a=b",
      "l2#",
      "'l2'",
    ];
    for (const value of [...values, "l2\u0000"]) {
      for (const params of [{ metric: value }, { metric: ["l1", value] }, { objective: value }])
        assert.match(outcome("lightgbm", params), /may not contain spaces/);
    }
  });

  it("is refused in catboost", () => {
    const files = `train_dir save_snapshot snapshot_file snapshot_interval snapshot_frequency input_borders output_borders
      learn_error_log test_error_log time_left_log json_log profile_log output_columns_file monotone_constraints_file`;
    refusesAll("catboost", files, /reads or writes files/);
    refusesAll("catboost", "node_type node_port file_with_hosts", /opens network connections/);
    refusesAll("catboost", "callbacks callback", /accepts code/);
    for (const value of [true, "yes", 1])
      assert.match(outcome("catboost", { allow_writing_files: value }), /must be false/);
    assert.equal(refusal("catboost", { allow_writing_files: false }), undefined);
  });

  it("is refused in xgboost", () => {
    refusesAll("xgboost", "callbacks obj feval custom_metric", /accepts code/);
    refusesAll("xgboost", "xgb_model model_in model_out model_dir save_period", /files/);
    refusesAll("xgboost", "dmlc_tracker_uri DMLC_TASK_ID rabit_tracker federated_server", /network/);
    assert.match(outcome("xgboost", { process_type: "update" }), /existing model/);
  });

  it("is refused in scikit-learn, and in the solver of its quantile regression", () => {
    for (const { name } of MODELS.filter(({ library }) => library === "sklearn")) {
      refusesAll(name, "memory", /file system/);
      refusesAll(name, "callbacks estimator", /accepts code/);
    }
    assert.match(outcome("quantile", { solver_options: { time_limit: 1 } }), /depends on the clock/);
    for (const name of wordsIn("solution_file log_file write_model_file read_basis_file threads __proto__"))
      assert.match(
        outcome("quantile", `{"solver_options": {"${name}": "/tmp/x"}}`),
        new RegExp(`^invalid_model_params: .*solver_options.${name}: is not one of the options`),
      );
    assert.match(outcome("lasso", { precompute: [[1]] }), /every fit has rows of its own/);
  });
});

describe("an argument that changes what is learned", () => {
  const stopping: [string, string][] = [
    ["xgboost", "early_stopping_rounds"],
    ["lightgbm", withAliases("lightgbm", "early_stopping_round early_stopping_min_delta first_metric_only")],
    ["catboost", withAliases("catboost", "od_wait od_type od_pval use_best_model eval_fraction")],
  ];
  for (const [model, names] of stopping) {
    it(`by an evaluation set is refused in ${model}, and may be switched off`, () => {
      refusesAll(model, names, /needs an evaluation set/);
      for (const name of wordsIn(names)) assert.equal(refusal(model, { [name]: null }), undefined, name);
    });
  }

  it("into classes, or is about features that are no numbers, is refused", () => {
    assert.match(outcome("catboost", { target_border: 0 }), /two classes, and only regression is allowed/);
    assert.match(outcome("lightgbm", { class_weight: { 0: 1 } }), /weighs classes/);
    assert.match(outcome("lightgbm", { num_classes: 1_000_000_000 }), /only regression/);
    for (const name of wordsIn("cat_features text_features embedding_features per_feature_ctr simple_ctr")) {
      assert.match(outcome("catboost", { [name]: ["0:Borders"] }), /every feature is a number/);
      assert.equal(refusal("catboost", { [name]: [] }), undefined);
    }
  });
});

describe("a GPU", () => {
  const cases: [string, object[]][] = [
    ["xgboost", [{ device: "cuda" }, { device: "cuda:1" }, { device: "gpu" }, { tree_method: "gpu_hist" }]],
    ["xgboost", [{ gpu_id: 0 }, { predictor: "gpu_predictor" }, { updater: "grow_gpu_hist" }]],
    ["lightgbm", [{ device: "gpu" }, { device_type: "CUDA" }, { device: ["gpu"] }, { device: "'gpu'" }]],
    ["lightgbm", [{ gpu_device_id: 0 }, { num_gpu: 2 }]],
    ["catboost", [{ task_type: "GPU" }, { devices: "0" }, { device_config: "0" }, { gpu_ram_part: 0.5 }]],
  ];
  it("is never silently replaced by the CPU", () => {
    for (const [model, requests] of cases) {
      for (const params of requests)
        assert.match(outcome(model, params), /^device_unavailable: .*asks for a GPU/, JSON.stringify(params));
    }
    const error = refusal("xgboost", { device: "cuda", max_dept: 3 });
    assert.deepEqual([error?.code, error?.data.faults?.length], ["invalid_model_params", 2]);
  });

  it("is not requested by settings for the CPU", () => {
    assert.equal(refusal("xgboost", { device: "cpu", tree_method: "hist" }), undefined);
    assert.equal(refusal("lightgbm", { device_type: "cpu", gpu_device_id: -1, num_gpu: 1 }), undefined);
    assert.equal(refusal("catboost", { task_type: "CPU", devices: null }), undefined);
  });
});
