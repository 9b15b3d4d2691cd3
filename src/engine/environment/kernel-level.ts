import { readFileSync } from "node:fs";
import { MucastError } from "../../contract/errors/errors.ts";

/** The processor level that the libraries' kernels can be pinned to; an output records it. */
export const PORTABLE_LEVEL = "x86-64-v3";
export type KernelLevel = typeof PORTABLE_LEVEL;

/** Flags of /proc/cpuinfo that make the level, of the x86-64 psABI; `abm` stands for LZCNT. */
const LEVEL_FLAGS = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"];

/**
 * What makes every processor of the level compute with the same kernels. The libraries read it when they are loaded.
 * The engine reads MUCAST_KERNEL_LEVEL: it switches oneDNN off, whose block sizes follow the caches, and reports the level.
 * xgboost, lightgbm and catboost have no kernels for AVX-512 and need nothing.
 */
export const KERNEL_VARIABLES: Readonly<Record<KernelLevel, Readonly<Record<string, string>>>> = {
  "x86-64-v3": {
    MUCAST_KERNEL_LEVEL: "x86-64-v3",
    OPENBLAS_CORETYPE: "Haswell",
    // All above X86_V3, by the names of NumPy 2.4 and by those before it; it passes over what it does not know.
    NPY_DISABLE_CPU_FEATURES:
      "X86_V4 AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
    ATEN_CPU_CAPABILITY: "avx2",
    // PyTorch's BLAS. Its AVX2 branch is for Intel alone: on AMD it is not taken (oneMKL developer guide, "Reproducibility Conditions").
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

/** None if the system does not list them: macOS has run on no x86-64 processor below the level since version 13. */
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
