/** Alert rules, the dashboard and the manifests of infra/observability name only metrics and labels that a service has. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import { MucastError } from "../../src/contract/errors/errors.ts";
import { problemOf } from "../../src/contract/problems/problem.ts";
import { noLog } from "../../src/service/telemetry/no-telemetry.testing.ts";
import { openTelemetry } from "../../src/service/telemetry/telemetry.ts";

const FOLDER = new URL("../../infra/observability/", import.meta.url);

/** Labels by metric; histograms without their suffixes. */
const labels = new Map<string, Set<string>>();
/** Labels that Prometheus adds to each sample. */
const ADDED = ["job", "instance"];

before(async () => {
  const telemetry = await openTelemetry({ log: noLog, env: {}, webhooks: [{ name: "desk" }] });
  telemetry.gauges({
    ...{ queueLength: () => 0, runningJobs: () => 0, coresTaken: () => 0, requestProcesses: () => 0 },
  });
  telemetry.requestStarted({ method: "GET" }).ended({ route: "/healthz", status: 200 });
  const date = new Date(0);
  const times = { created_at: date, started_at: date, attempt_started_at: date, finished_at: date };
  const error = problemOf(new MucastError("timed_out", "after 5 s"));
  const job = { id: "1", operation: "run_ml_job", attempt: 1, traceparent: null, ...times } as const;
  telemetry.started({ ...job, status: "Running", error: null });
  telemetry.ended({ ...job, status: "Failed", error }, []);
  const { body } = await telemetry.metrics();
  for (const line of body.split("\n").filter((each) => each !== "" && !each.startsWith("#"))) {
    const { name, list = "" } = /^(?<name>\w+)(\{(?<list>.*)\})? /.exec(line)!.groups!;
    const found = [...list.matchAll(/(\w+)="/g)].map(([, label]) => label!);
    for (const metric of [name!, name!.replace(/_(bucket|sum|count)$/, "")]) {
      labels.set(metric, new Set([...(labels.get(metric) ?? []), ...found, ...ADDED]));
    }
  }
  labels.set("up", new Set(ADDED));
});

/** The metrics and labels of an expression; labels after `by` must be those of one of its metrics. */
function assertReal(expression: string): void {
  const metrics = [...expression.matchAll(/\b(?:(?:mucast|nodejs|process)_\w+|up)\b/g)].map(([name]) => name);
  assert.ok(metrics.length > 0, expression);
  for (const metric of metrics) assert.ok(labels.has(metric), `${metric} in ${expression}`);
  for (const [, metric, selectors] of expression.matchAll(/(\w+)\{([^}]*)\}/g)) {
    for (const [, label] of selectors!.matchAll(/(\w+)\s*(?:=|!)/g)) {
      assert.ok(labels.get(metric!)!.has(label!), `${label} of ${metric} in ${expression}`);
    }
  }
  const known = new Set(metrics.flatMap((metric) => [...labels.get(metric)!]));
  for (const [, list] of expression.matchAll(/\bby \(([^)]*)\)/g)) {
    for (const label of list!.split(", ")) assert.ok(known.has(label), `${label} in ${expression}`);
  }
}

test("alert rules", () => {
  const text = readFileSync(new URL("alerts.yaml", FOLDER), "utf8");
  const rules = text.split("- alert: ").slice(1);
  for (const rule of rules) {
    const [, expression] = /expr: (?:\|\n)?([\s\S]*?)\n {8}(?:for|labels):/.exec(rule)!;
    assertReal(expression!);
  }
  const tests = readFileSync(new URL("alerts.test.yaml", FOLDER), "utf8");
  const names = rules.map((rule) => rule.split("\n")[0]!);
  assert.ok(names.length > 5);
  for (const name of names) assert.match(tests, new RegExp(`alertname: ${name}\n {8}exp_alerts:`), name);
});

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

test("the panels of the dashboard, which do not overlap", () => {
  const { panels } = JSON.parse(readFileSync(new URL("dashboard.json", FOLDER), "utf8")) as {
    readonly panels: readonly Panel[];
  };
  const cells = new Set<string>();
  for (const { title, targets, gridPos } of panels) {
    for (const { expr, legendFormat } of targets) {
      assertReal(expr);
      const kept = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.split(", ") ?? ADDED;
      for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
        assert.ok(kept.includes(label!), title);
    }
    const { x, y, w, h } = gridPos;
    assert.ok(x + w <= 24, title);
    for (let column = x; column < x + w; column++) {
      for (let row = y; row < y + h; row++) {
        assert.ok(!cells.has(`${column} ${row}`), title);
        cells.add(`${column} ${row}`);
      }
    }
  }
  assert.ok(panels.length > 10);
});

test("the query by which KEDA scales, and the port that the PodMonitor scrapes", () => {
  const scaler = readFileSync(new URL("keda-scaled-object.yaml", FOLDER), "utf8");
  assertReal(/query: (.*)/.exec(scaler)![1]!);
  const monitor = readFileSync(new URL("pod-monitor.yaml", FOLDER), "utf8");
  const deployment = readFileSync(new URL("../kubernetes/base/deployment.yaml", FOLDER), "utf8");
  const port = /- port: (\w+)/.exec(monitor)![1]!;
  assert.match(deployment, new RegExp(`- name: ${port}\\n\\s+containerPort:`));
});
