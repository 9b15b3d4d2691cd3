import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

test("the client runs in a browser: it loads nothing but itself", () => {
  const files = globSync("src/client/*.ts").filter((file) => !/\.test(ing)?\.ts$/.test(file));
  assert.ok(files.length > 5);
  for (const file of files) {
    const source = readFileSync(file, "utf8");
    const loaded = [...source.matchAll(/^(?:import|export) (?!type\b)[^;]*? from "([^"]+)"/gm)].map(
      ([, target]) => target!,
    );
    assert.ok(
      loaded.every((target) => /^\.\/[\w-]+\.ts$/.test(target)),
      `${file} loads ${loaded.join(", ")}`,
    );
    assert.doesNotMatch(source, /\b(?:process|Buffer|require)\b[.(]/, file);
  }
});
