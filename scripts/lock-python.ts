/**
 * Regenerates the Python locks from engine/requirements-*.in, and that of the Python client: one file for every platform and every Python
 * from 3.11, every file hashed, no registry named. With a package's name as argument, only that one is updated. Afterwards run `npm run generate`, because the catalogue of
 * model parameters is made from the libraries.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { environmentFolder } from "../src/engine/environment/environment.ts";

const uv = join(environmentFolder("uv"), "bin", "uv");
// As few versions as possible: the same numbers with every Python.
const UNIVERSAL = ["--universal", "--python-version", "3.11", "--fork-strategy", "fewest"];
const PLAIN = ["--generate-hashes", "--no-header", "--no-annotate", "--quiet"];
/**
 * What PyTorch does not need on a machine without a GPU. It is linked to the rest of CUDA: cuBLAS, cuDNN, cuFFT, cuSPARSE, NCCL and others.
 */
const GPU_ONLY = [
  "cuda-bindings",
  "cuda-pathfinder",
  "cuda-toolkit",
  "nvidia-cuda-cccl",
  "nvidia-cusolver",
  "nvidia-nvjitlink",
  "nvidia-nvtx",
  "triton",
];
const upgrades = process.argv.slice(2).flatMap((name) => ["--upgrade-package", name]);

function lock(name: string, ...more: string[]): void {
  lockIn("engine", name, ...more);
}

function lockIn(folder: string, name: string, ...more: string[]): void {
  const files = [`requirements-${name}.in`, "--output-file", `requirements-${name}.txt`];
  const args = ["pip", "compile", ...UNIVERSAL, ...PLAIN, ...upgrades, ...more, ...files];
  const { status, error } = spawnSync(uv, args, { cwd: folder, stdio: ["ignore", 2, 2] });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

lock("uv");
lock("ml");
lock("dl", "--constraint", "requirements-ml.txt");
lock(
  "dl-cpu",
  "--constraint",
  "requirements-dl.txt",
  ...GPU_ONLY.flatMap((name) => ["--no-emit-package", name]),
);
lock("ray", "--constraint", "requirements-dl.txt");
lock("dev", "--constraint", "requirements-ray.txt");
lock("lint", "--constraint", "requirements-dev.txt");
lockIn("clients/python", "dev", "--constraint", "../../engine/requirements-dev.txt");
