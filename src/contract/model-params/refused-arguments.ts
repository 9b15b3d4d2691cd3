import { stringsOf } from "./catalogue.ts";
import type { Library } from "./models.ts";

/**
 * Parameters that mucast refuses, and why: those that reach outside the model (files, sockets, code), that need an evaluation set, that are
 * about non-numeric features, or that turn regression on the given rows into another task. Names are the catalogue's (aliases are resolved
 * before). A pattern matches names that a library reads outside its constructor, so that the message gives the reason.
 */
interface Refusal {
  readonly reason: string;
  /** Separated by white space. */
  readonly names?: string;
  readonly pattern?: RegExp;
  /** Null, an empty list and the library's own default change nothing, so they are accepted: callers paste full configurations. */
  readonly unlessDefault?: boolean;
  /** The output still records their defaults, as it did before they were refused. */
  readonly inRecord?: boolean;
}

const FILES = "reads or writes files, and a config may not reach the file system";
const NETWORK = "opens network connections, and a fit runs in one process";
const CODE = "accepts code, which a config cannot contain";
const EVALUATION =
  "needs an evaluation set, and every fit learns from all of its training rows; choose the number of rounds instead";

const REFUSALS: Readonly<Record<Library, readonly Refusal[]>> = {
  // No scikit-learn model here has such an argument. The patterns give the caller the reason instead of `no such parameter`.
  sklearn: [
    { reason: FILES, pattern: /^(?:memory|.*_(?:file|path|dir))$/ },
    { reason: CODE, pattern: /^(?:callbacks?|estimator|base_estimator)$/ },
  ],
  xgboost: [
    {
      reason: FILES,

      pattern: /^(?:xgb_model|model_(?:in|out|dir|file)|save_period|name_(?:dump|pred)|.*_path)$/,
    },
    { reason: NETWORK, pattern: /^(?:dmlc|rabit|federated)_/ },
    { reason: CODE, names: "callbacks", pattern: /^(?:callbacks?|obj|feval|custom_metric)$/ },
    { reason: EVALUATION, names: "early_stopping_rounds", unlessDefault: true },
  ],
  lightgbm: [
    {
      reason: FILES,
      // task decides what the command-line program does with files; snapshot_freq writes models while training.
      names: `config convert_model convert_model_language data forcedbins_filename forcedsplits_filename
      input_model output_model output_result parser_config_file save_binary snapshot_freq task valid`,
      pattern: /^(?:init_model|.*_?filename|.*_file)$/,
    },
    {
      reason: NETWORK,
      names: "local_listen_port machine_list_filename machines num_machines time_out",
    },
    { reason: CODE, pattern: /^(?:callbacks?|fobj|feval)$/ },
    {
      reason: EVALUATION,
      names: "early_stopping_min_delta early_stopping_round first_metric_only",
      unlessDefault: true,
    },
    {
      // lightgbm ignores these for a matrix in memory, so ignore_column would have no effect.
      reason: "describes the columns of a data file, and the features come as a matrix",
      names: "group_column header ignore_column label_column precise_float_parser two_round weight_column",
      unlessDefault: true,
    },
    {
      // A trial fit with a large value would exhaust the memory before lightgbm refuses it.
      reason: "counts classes, and only regression is allowed",
      names: "num_class",
      unlessDefault: true,
    },
    {
      // lightgbm treats each label as a separate class.
      reason: "weighs classes, and only regression is allowed",
      names: "class_weight",
      unlessDefault: true,
      inRecord: true,
    },
  ],
  catboost: [
    {
      reason: FILES,
      names: "input_borders output_borders save_snapshot snapshot_file snapshot_interval train_dir",
      pattern: /^(?:init_model|snapshot_.*|.*_(?:file|log|dir|path))$/,
      unlessDefault: true,
    },
    { reason: NETWORK, pattern: /^(?:node_type|node_port|file_with_hosts)$/ },
    { reason: CODE, pattern: /^callbacks?$/ },
    {
      // eval_fraction takes its evaluation set from the rows that the fit should learn from.
      reason: EVALUATION,
      names: "best_model_min_trees eval_fraction od_pval od_type od_wait use_best_model",
      unlessDefault: true,
    },
    {
      // The regressor accepts it and then learns 0 and 1 instead of returns, without an error.
      reason: "turns the returns into two classes, and only regression is allowed",
      names: "target_border",
      unlessDefault: true,
    },
    {
      reason: "is about categorical, text or embedding features, and every feature is a number",
      names: `cat_features combinations_ctr ctr_description dictionaries embedding_features feature_calcers
      per_feature_ctr simple_ctr text_features text_processing tokenizers`,
      unlessDefault: true,
      inRecord: true,
    },
  ],
};

export function wordsIn(text: string): string[] {
  return text.match(/\S+/g) ?? [];
}

/**
 * Why a parameter is refused; undefined if it is allowed.
 * @param own its name in the catalogue. @param isDefault whether the value is null, an empty list or the library's default.
 */
export function refusalReason(
  library: Library,
  given: string,
  own: string | undefined,
  isDefault: boolean,
): string | undefined {
  const refusal = refusalOf(library, given, own);
  return refusal?.unlessDefault && own !== undefined && isDefault ? undefined : refusal?.reason;
}

/** Whether the output records a parameter of the constructor that the caller does not give. */
export function isRecorded(library: Library, own: string): boolean {
  const refusal = refusalOf(library, own, own);
  return refusal === undefined || refusal.inRecord === true;
}

function refusalOf(library: Library, given: string, own: string | undefined): Refusal | undefined {
  return REFUSALS[library].find(
    ({ names = "", pattern }) =>
      wordsIn(names).includes(own ?? given) || (own === undefined && pattern?.test(given.toLowerCase())),
  );
}

/**
 * Arguments that request a GPU. The classical models run only on the CPU, and libraries ignore some of these arguments without an error, as
 * xgboost does with `device="cuda"`, so the caller would believe that the run used a GPU. `true` refuses every value except null and the
 * library's default; a pattern refuses the strings that it matches.
 */
const GPU_ARGUMENTS: Record<Library, Readonly<Record<string, RegExp | true>>> = {
  sklearn: {},
  xgboost: {
    device: /cuda|gpu|sycl/i,
    tree_method: /gpu/i,
    updater: /gpu/i,
    // xgboost has removed these, but a config that has them requests a GPU.
    gpu_id: true,
    n_gpus: true,
    predictor: /gpu/i,
  },
  lightgbm: {
    device_type: /gpu|cuda/i,
    gpu_device_id: true,
    gpu_device_id_list: true,
    gpu_platform_id: true,
    gpu_use_dp: true,
    num_gpu: true,
  },
  catboost: {
    task_type: /gpu/i,
    devices: true,
    device_config: true,
    gpu_ram_part: true,
    gpu_cat_features_storage: true,
    pinned_memory_size: true,
    data_partition: true,
    fixed_binary_splits: true,
  },
};

/** @param own the catalogue's name, or the caller's if it is unknown. @param value of a `rawNumbers` tree. */
export function asksForGpu(library: Library, own: string, value: unknown, isDefault: boolean): boolean {
  const rules = GPU_ARGUMENTS[library];
  const rule = Object.hasOwn(rules, own) ? rules[own] : undefined;
  if (rule === undefined || isDefault) return false;
  // lightgbm reads ["gpu"] as gpu.
  return rule === true || stringsOf(value).some((text) => rule.test(text));
}
