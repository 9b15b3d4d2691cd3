/**
 * `npm run fuzz` runs both parts, `npm run fuzz -- model-params [--cases N] [--seed S] [--case N]` and `npm run fuzz --
 * service [--max-examples N] [--seed S]` one of them.
 */
import { fuzzModelParams } from "../test/fuzz/fuzz-model-params.ts";
import { fuzzService } from "../test/fuzz/fuzz-service.ts";

const PARTS: Readonly<Record<string, (args: readonly string[]) => Promise<boolean>>> = {
  "model-params": fuzzModelParams,
  service: fuzzService,
};

const [name, ...args] = process.argv.slice(2);
if (name !== undefined && !Object.hasOwn(PARTS, name)) {
  throw new Error(`no part is called ${name}; the parts are ${Object.keys(PARTS).join(", ")}`);
}
let passed = true;
for (const [part, fuzz] of Object.entries(PARTS)) {
  if (name === undefined || name === part) passed = (await fuzz(args)) && passed;
}
process.exitCode = passed ? 0 : 1;
