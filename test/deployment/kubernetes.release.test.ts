/**
 * Compares infra/kubernetes with the JSON schemas of Kubernetes, which refuse unknown fields, and with the code: settings, ports, paths,
 * the time of a drain, memory. No Kubernetes runs here, so it does not prove that a cluster starts the pods.
 */
import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { settingNames, settingsSchema } from "../../src/contract/settings.ts";
import {
  bytesOf,
  type Checked,
  type Container,
  checkManifests,
  type Deployment,
  type PodSpec,
  type Resource,
} from "./manifests.testing.ts";

/** The oldest version of Kubernetes that the manifests support, and the newest with available schemas. */
const VERSIONS = ["1.29", "1.37"] as const;
const scratch = mkdtempSync(join(tmpdir(), "mucast-manifests-"));
after(() => rmSync(scratch, { recursive: true }));

let checked: readonly Checked[];
let deployment: Deployment;
let pod: PodSpec;
let container: Container;
let config: Readonly<Record<string, string>>;

before(() => {
  checked = VERSIONS.flatMap((version) => checkManifests(version, globSync("infra/kubernetes/*.yaml")));
  deployment = one("Deployment");
  pod = deployment.spec.template.spec;
  container = pod.containers[0];
  config = one<Resource & { data: Record<string, string> }>("ConfigMap").data;
});

function one<T extends Resource>(kind: string): T {
  const found = checked.find(({ document }) => document?.kind === kind) ?? assert.fail(`no ${kind}`);
  return found.document as T;
}

/** Every variable of the container with its text; undefined if Kubernetes sets it. */
function variables(): Map<string, string | undefined> {
  const own = container.env.map(({ name, value }) => [name, value] as const);
  return new Map([...Object.entries(config), ...own]);
}

function settingOf(variable: string) {
  return Object.values(settingsSchema.shape).find((field) => settingNames.get(field)?.env === variable);
}

test("every resource matches the schemas of Kubernetes, and none is a secret", () => {
  assert.deepEqual(
    checked.filter(({ fault }) => fault !== null),
    [],
  );
  const kinds = new Set(checked.map(({ document }) => document!.kind));
  assert.deepEqual(
    [...kinds].toSorted(),
    ["ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service", "ServiceAccount"],
    "what a namespace needs, in the files that `kubectl apply --filename` takes",
  );
});

test("detects a misspelt field, a field of another type and a repeated key", () => {
  const text = readFileSync("infra/kubernetes/deployment.yaml", "utf8");
  const planted = [
    ["readOnlyRootFilesystem: true", "readOnlyRootFileSystem: true"],
    ["replicas: 3", "replicas: three"],
    ["minReadySeconds: 5", "minReadySeconds: 5\n  replicas: 2"],
    ["periodSeconds: 10", "periodSecond: 10"],
  ] as const;
  const files = planted.map(([before, after], index) => {
    assert.ok(text.includes(before), before);
    const file = join(scratch, `${index}.yaml`);
    writeFileSync(file, text.replace(before, after));
    return file;
  });
  for (const { file, fault } of checkManifests(VERSIONS[1], files)) assert.ok(fault, file);
});

/** Read by the clients of the storage. */
const STORAGE_CREDENTIALS = ["AZURE_STORAGE_CONNECTION_STRING", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];

test("its variables are settings with values that the service accepts, and secrets are references", () => {
  for (const [name, value] of variables()) {
    if (STORAGE_CREDENTIALS.includes(name)) continue;
    const setting = settingOf(name) ?? assert.fail(`${name} is no setting`);
    if (value !== undefined) assert.ok(setting.safeParse(value).success, `${name}=${value}`);
  }
  for (const { name, valueFrom } of container.env) {
    const isSecret = settingNames.get(settingOf(name) ?? settingsSchema)?.secret === true;
    if (isSecret || STORAGE_CREDENTIALS.includes(name))
      assert.deepEqual([valueFrom?.secretKeyRef?.name, valueFrom?.secretKeyRef?.key], ["mucast", name]);
  }
  assert.deepEqual(container.envFrom, [{ configMapRef: { name: "mucast" } }]);
  assert.ok(variables().has("DATABASE_URL"), "services share a database by it alone");
  assert.ok(variables().has("MUCAST_PUBLIC_URL"), "every service names outputs by one URL");
});

test("probes, the Service and the policy name the existing port and routes", () => {
  const port = { name: "http", containerPort: Number(config.MUCAST_PORT) };
  assert.deepEqual(container.ports, [port]);
  const routes = readFileSync("src/service/http/health-routes.ts", "utf8");
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
  assert.deepEqual(
    probes.map(({ httpGet }) => httpGet.path),
    ["/healthz", "/healthz", "/readyz"],
  );
  for (const { httpGet } of probes) {
    assert.ok(routes.includes(`url: "${httpGet.path}"`), httpGet.path);
    assert.equal(httpGet.port, port.name);
  }
  const service = one<Resource & { spec: { ports: { targetPort: string }[] } }>("Service");
  assert.deepEqual(
    service.spec.ports.map(({ targetPort }) => targetPort),
    [port.name],
  );
  const policy = one<Resource & { spec: { ingress: { ports: { port: string }[] }[] } }>("NetworkPolicy");
  assert.deepEqual(
    policy.spec.ingress.flatMap(({ ports }) => ports.map((each) => each.port)),
    [port.name],
  );
});

test("every selector of pods selects these", () => {
  const { labels } = deployment.spec.template.metadata;
  const budget = one<Deployment>("PodDisruptionBudget").spec.selector.matchLabels;
  const policy = one<Resource & { spec: { podSelector: { matchLabels: object } } }>("NetworkPolicy");
  const service = one<Resource & { spec: { selector: object } }>("Service").spec.selector;
  const selectors = [
    deployment.spec.selector.matchLabels,
    budget,
    policy.spec.podSelector.matchLabels,
    service,
  ];
  for (const selector of selectors) assert.deepEqual(selector, labels);
  assert.equal(pod.serviceAccountName, one("ServiceAccount").metadata.name);
});

test("a pod gets the time that a drain needs, and requests stop first", () => {
  const [command, seconds] = container.lifecycle.preStop.exec.command;
  assert.equal(command, "sleep");
  const [, closing] = /^const CLOSING_SECONDS = (\d+);$/m.exec(readFileSync("src/cli/serve.ts", "utf8"))!;
  const needed = Number(seconds) + Number(config.MUCAST_DRAIN_SECONDS) + Number(closing);
  assert.ok(
    pod.terminationGracePeriodSeconds > needed,
    `${pod.terminationGracePeriodSeconds} s, and it may take ${needed}`,
  );
  const { periodSeconds, failureThreshold } = container.readinessProbe;
  assert.ok(Number(seconds) >= periodSeconds * failureThreshold);
});

test("pods have no privilege that the service does not need, and may write only to /tmp", () => {
  assert.deepEqual(pod.securityContext, {
    runAsNonRoot: true,
    runAsUser: 1000,
    runAsGroup: 1000,
    fsGroup: 1000,
    seccompProfile: { type: "RuntimeDefault" },
  });
  assert.deepEqual(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  assert.equal(pod.automountServiceAccountToken, false);
  // Otherwise a Service called mucast sets MUCAST_PORT to tcp://…
  assert.equal(pod.enableServiceLinks, false);
  assert.deepEqual(
    container.volumeMounts.map(({ mountPath }) => mountPath),
    ["/tmp"],
  );
  assert.deepEqual(
    pod.volumes.map(({ name, emptyDir }) => [name, Object.keys(emptyDir)]),
    [["tmp", ["sizeLimit"]]],
    "on a disk: files in memory count as the container's",
  );
});

test("jobs and requests leave the service a gigabyte of the container's memory, and use its cores", () => {
  const { requests, limits } = container.resources;
  assert.deepEqual([requests.cpu, requests.memory], [limits.cpu, limits.memory], "nothing that is shared");
  const processes = Number(config.MUCAST_REQUEST_PROCESSES) * Number(config.MUCAST_REQUEST_MEMORY_BYTES);
  const taken = Number(config.MUCAST_MEMORY_BYTES) + processes;
  assert.ok(bytesOf(limits.memory!) - taken >= 2 ** 30, `${limits.memory} less ${taken}`);
  const cores = container.env.find(({ name }) => name === "MUCAST_CORES");
  assert.equal(cores?.valueFrom?.resourceFieldRef?.resource, "limits.cpu");
  assert.ok(bytesOf(limits["ephemeral-storage"]!) > bytesOf(pod.volumes[0]!.emptyDir.sizeLimit));
});

test("it runs this version's image, which serves", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  assert.match(container.image, new RegExp(`/mucast-ml:${version.replaceAll(".", "\\.")}$`));
  assert.deepEqual(container.args, ["serve"]);
  assert.match(readFileSync("Dockerfile", "utf8"), /^ENTRYPOINT \["tini", "--", "mucast"\]$/m);
});
