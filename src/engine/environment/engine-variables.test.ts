import assert from "node:assert/strict";
import { test } from "node:test";
import { PORTABLE_LEVEL, requireLevel } from "./engine-variables.ts";

const V3 = "fpu sse4_2 avx avx2 bmi1 bmi2 f16c fma abm movbe xsave";

const refused = (architecture: string, flags: string) => () =>
  requireLevel(PORTABLE_LEVEL, architecture, () => `processor\t: 0\nflags\t\t: ${flags}\nbugs\t\t: none\n`);

test("accepts a processor of the level, and refuses one below it with the flags that it lacks", () => {
  refused("x64", `${V3} avx512f`)();
  assert.throws(refused("x64", V3.replace(" avx2", "").replace(" fma", "")), {
    code: "engine_unavailable",
    message:
      "portable (--portable) pins the kernels to x86-64-v3, which this processor is not (no avx2, no fma); run the job without it",
  });
  assert.throws(refused("arm64", V3), /which this processor is not \(it is arm64\)/);
});

test("accepts a system that lists no flags", () => {
  requireLevel(PORTABLE_LEVEL, "x64", () => {
    throw new Error("ENOENT");
  });
});
