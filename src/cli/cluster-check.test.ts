import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { HEALTH_VARIABLES, healthLines } from "./cluster-check.ts";

test("doctor names each variable by which Ray notices a lost node that is not as the docs say", () => {
  assert.deepEqual(healthLines(HEALTH_VARIABLES), []);
  const { RAY_health_check_period_ms: _, ...others } = HEALTH_VARIABLES;
  assert.deepEqual(healthLines({ ...others, RAY_health_check_timeout_ms: "9" }).slice(1), [
    "        RAY_health_check_period_ms is not set instead of 1000",
    "        RAY_health_check_timeout_ms is 9 instead of 3000",
  ]);
});

test("the image, the manifests, the docs and the clusters of tests have the same values", () => {
  const values = (file: string) =>
    Object.fromEntries(
      [
        ...readFileSync(file, "utf8").matchAll(
          /(RAY_(?:health_check|grpc_client)_\w+)"?(?:=|: |\s+value: )"?(\d+)/g,
        ),
      ].map(([, name, value]) => [name, value]),
    );
  for (const file of [
    "Dockerfile",
    "infra/ray/ray-cluster.yaml",
    "docs/cluster.md",
    "engine/tests/cluster/ray_cluster.py",
  ])
    assert.deepEqual(values(file), HEALTH_VARIABLES, file);
});
