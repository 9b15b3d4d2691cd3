import { stringsOf } from "./json-types.ts";
import type { Library } from "./models.ts";

/**
 * Arguments that ask for a GPU. The classical models run on the CPU alone (the locked libraries are the CPU builds
 * where there is a choice), and an argument that the library would quietly ignore there, as xgboost does with
 * `device="cuda"` and catboost with `devices`, must not pass for a GPU run.
 *
 * A value of true refuses whatever is neither null nor the library's default; a pattern refuses the strings it
 * matches.
 */
const GPU_ARGUMENTS: Record<Library, Readonly<Record<string, RegExp | true>>> = {
  sklearn: {},
  xgboost: {
    device: /cuda|gpu|sycl/i,
    tree_method: /gpu/i,
    updater: /gpu/i,
    // Gone from xgboost itself, but configs that carry them mean a GPU.
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
    // catboost itself refuses it on the CPU.
    fixed_binary_splits: true,
  },
};

/**
 * Whether this argument asks for a GPU.
 * @param own the catalogue's name, or the caller's where it is unknown.
 * @param value of a `rawNumbers` tree.
 * @param isDefault whether the value is null or the library's default.
 */
export function asksForGpu(library: Library, own: string, value: unknown, isDefault: boolean): boolean {
  const rules = GPU_ARGUMENTS[library];
  const rule = Object.hasOwn(rules, own) ? rules[own] : undefined;
  if (rule === undefined || isDefault) return false;
  // lightgbm reads ["gpu"] as gpu.
  return rule === true || stringsOf(value).some((text) => rule.test(text));
}
