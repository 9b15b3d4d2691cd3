import { readFileSync } from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";

/** The processor level to which the libraries' kernels can be pinned. Outputs record it. */
export const PORTABLE_LEVEL = "x86-64-v3";
export type KernelLevel = typeof PORTABLE_LEVEL;

/** Flags of /proc/cpuinfo that define the level, from the x86-64 psABI; `abm` stands for LZCNT. */
const LEVEL_FLAGS = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"];

/**
 * Variables that make every processor of the level compute with the same kernels. The libraries read them when they load. The engine reads
 * MUCAST_KERNEL_LEVEL: it switches oneDNN off, whose block sizes follow the caches, and reports the level. xgboost, lightgbm and catboost
 * have no kernels for AVX-512 and need nothing.
 */
export const KERNEL_VARIABLES: Readonly<Record<KernelLevel, Readonly<Record<string, string>>>> = {
  "x86-64-v3": {
    MUCAST_KERNEL_LEVEL: "x86-64-v3",
    OPENBLAS_CORETYPE: "Haswell",
    // Everything above X86_V3, by the names of NumPy 2.4 and of earlier versions; NumPy ignores names that it does not know.
    NPY_DISABLE_CPU_FEATURES:
      "X86_V4 AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
    ATEN_CPU_CAPABILITY: "avx2",
    // PyTorch's BLAS. Only Intel processors use its AVX2 branch, not AMD (oneMKL developer guide, "Reproducibility Conditions").
    MKL_CBWR: "COMPATIBLE",
  },
};

/** @throws MucastError engine_unavailable if this machine's processor is below the level. */
export function requireLevel(
  level: KernelLevel,
  architecture: string = process.arch,
  cpuinfo: () => string = () => readFileSync("/proc/cpuinfo", "latin1"),
): void {
  const lacks = architecture === "x64" ? missingFlags(cpuinfo) : [`it is ${architecture}`];
  if (lacks.length === 0) return;
  throw new MucastError(
    "engine_unavailable",
    `portable (--portable) pins the kernels to ${level}, which this processor is not (${lacks.join(", ")}); run the job without it`,
  );
}

/** None if the system does not list them: since version 13, macOS runs on no x86-64 processor below the level. */
function missingFlags(cpuinfo: () => string): string[] {
  let text: string;
  try {
    text = cpuinfo();
  } catch {
    return [];
  }
  const flags = new Set(/^flags\s*:(.*)$/m.exec(text)?.[1]?.trim().split(/\s+/));
  return LEVEL_FLAGS.filter((flag) => !flags.has(flag)).map((flag) => `no ${flag}`);
}
