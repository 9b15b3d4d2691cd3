import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MucastError } from "../../contract/errors/errors.ts";

const ENGINE_FOLDER = fileURLToPath(new URL("../../../engine", import.meta.url));

const PASSED_ON =
  /^(PATH|HOME|USER|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_\w+|XDG_CACHE_HOME|PYENV_\w+)$/;

/**
 * The environment variables that the engine gets: none that could hold a secret or change where modules come from. One thread per process,
 * because results must not depend on the machine, and workers fill its cores already.
 */
export function engineEnvironment(kernelLevel?: KernelLevel): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => PASSED_ON.test(name));
  return {
    ...Object.fromEntries(kept),
    PYTHONPATH: ENGINE_FOLDER,
    PYTHONUNBUFFERED: "1",
    OMP_NUM_THREADS: "1",
    OPENBLAS_NUM_THREADS: "1",
    MKL_NUM_THREADS: "1",
    ...(kernelLevel === undefined ? {} : KERNEL_VARIABLES),
  };
}

/** The processor level to which the libraries' kernels can be pinned. Outputs record it. */
export const PORTABLE_LEVEL = "x86-64-v3";
export type KernelLevel = typeof PORTABLE_LEVEL;

/**
 * Variables that make every processor of the level compute with the same kernels. The libraries read them when they load. The engine reads
 * MUCAST_KERNEL_LEVEL: it switches oneDNN off, whose block sizes follow the caches, and reports the level. xgboost, lightgbm and catboost
 * have no kernels for AVX-512 and need nothing.
 */
const KERNEL_VARIABLES = {
  MUCAST_KERNEL_LEVEL: PORTABLE_LEVEL,
  OPENBLAS_CORETYPE: "Haswell",
  // Everything above X86_V3, by the names of NumPy 2.4 and of earlier versions; NumPy ignores names that it does not know.
  NPY_DISABLE_CPU_FEATURES:
    "X86_V4 AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR",
  ATEN_CPU_CAPABILITY: "avx2",
  // PyTorch's BLAS. Only Intel processors use its AVX2 branch, not AMD (oneMKL developer guide, "Reproducibility Conditions").
  MKL_CBWR: "COMPATIBLE",
};

/** Flags of /proc/cpuinfo that define the level, from the x86-64 psABI; `abm` stands for LZCNT. */
const LEVEL_FLAGS = ["avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"];

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
