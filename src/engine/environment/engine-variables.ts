import { fileURLToPath } from "node:url";
import { KERNEL_VARIABLES, type KernelLevel } from "./kernel-level.ts";

const ENGINE_FOLDER = fileURLToPath(new URL("../../../engine", import.meta.url));

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
    ...(kernelLevel === undefined ? {} : KERNEL_VARIABLES[kernelLevel]),
  };
}

const PASSED_ON =
  /^(PATH|HOME|USER|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|LD_PRELOAD|DYLD_\w+|XDG_CACHE_HOME|PYENV_\w+)$/;
