/**
 * Compares infra/kubernetes with the JSON schemas of Kubernetes, which refuse unknown fields, and with the code: settings, ports, paths,
 * the time of a drain, memory. No Kubernetes runs here, so it does not prove that a cluster starts the pods.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
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
  settingsOf,
} from "./manifests.testing.ts";

/** The oldest version of Kubernetes that the manifests support, and the newest with available schemas. */
const VERSIONS = ["1.29", "1.37"] as const;
const BASE = "infra/kubernetes/base";
const scratch = mkdtempSync(join(tmpdir(), "mucast-manifests-"));
after(() => rmSync(scratch, { recursive: true }));

let checked: readonly Checked[];
let deployment: Deployment;
let pod: PodSpec;
let container: Container;
const config = settingsOf(readFileSync(`${BASE}/settings.env`, "utf8"));

/** The files of resources, without those that only kustomize reads. */
const FILES = [
  ...globSync(`${BASE}/*.yaml`),
  "infra/kubernetes/ingress/ingress.yaml",
  "infra/kubernetes/overlays/small/volume-claim.yaml",
].filter((file) => !file.endsWith("/kustomization.yaml"));

before(() => {
  checked = VERSIONS.flatMap((version) => checkManifests(version, FILES));
  deployment = one("Deployment");
  pod = deployment.spec.template.spec;
  container = pod.containers[0];
});

function one<T extends Resource>(kind: string): T {
  const found = checked.find(({ document }) => document?.kind === kind) ?? assert.fail(`no ${kind}`);
  return found.document as T;
}

test("every resource matches the schemas of Kubernetes, and none is a secret", () => {
  assert.deepEqual(
    checked.filter(({ fault }) => fault !== null),
    [],
  );
  const kinds = new Set(checked.map(({ document }) => document!.kind));
  assert.deepEqual([...kinds].toSorted(), [
    "Deployment",
    "Ingress",
    "NetworkPolicy",
    "PersistentVolumeClaim",
    "PodDisruptionBudget",
    "Service",
    "ServiceAccount",
  ]);
});

test("every file is named by the kustomization of its folder, which names no other", () => {
  const found = globSync("infra/{kubernetes,ray}/**/kustomization.yaml");
  assert.equal(found.length, 7);
  for (const file of found) {
    const folder = dirname(file);
    const text = readFileSync(file, "utf8").replaceAll(/^ *#.*$/gm, "");
    const entries = text.matchAll(/^ *- (?:path: )?([\w./-]+)$|\[([\w.]+\.env)\]$/gm);
    const named = [...entries].map(([, entry, settings]) => (entry ?? settings)!);
    for (const entry of named) assert.ok(existsSync(join(folder, entry)), `${file}: ${entry}`);
    const own = readdirSync(folder).filter((name) => name !== "kustomization.yaml" && /\.\w+$/.test(name));
    assert.deepEqual(own.toSorted(), named.filter((entry) => !entry.startsWith("..")).toSorted(), file);
  }
});

test("the docs validate manifests with the version of the package that validates them here", () => {
  const pinned = readFileSync("test/deployment/requirements-kubernetes.in", "utf8").trim();
  const docs = readFileSync("docs/deploying.md", "utf8");
  assert.ok(docs.includes(` ${pinned}\n`), pinned);
  assert.ok(docs.includes(`--kubernetes-version ${VERSIONS[1]} `));
});

test("detects a misspelt field, a field of another type and a repeated key", () => {
  const text = readFileSync(`${BASE}/deployment.yaml`, "utf8");
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

test("probes, the Service, the Ingress and the policy name the existing port and routes", () => {
  const port = { name: "http", containerPort: Number(config.MUCAST_PORT) };
  assert.deepEqual(container.ports, [port]);
  const routes = readFileSync("src/service/http/service-routes.ts", "utf8");
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
  assert.deepEqual(
    probes.map(({ httpGet }) => httpGet.path),
    ["/healthz", "/healthz", "/readyz"],
  );
  for (const { httpGet } of probes) {
    assert.ok(routes.includes(`url: "${httpGet.path}"`), httpGet.path);
    assert.equal(httpGet.port, port.name);
  }
  const service = one<Resource & { spec: { ports: { name: string; targetPort: string }[] } }>("Service");
  assert.deepEqual(
    service.spec.ports.map(({ targetPort }) => targetPort),
    [port.name],
  );
  const policy = one<Resource & { spec: { ingress: { ports: { port: string }[] }[] } }>("NetworkPolicy");
  assert.deepEqual(
    policy.spec.ingress.flatMap(({ ports }) => ports.map((each) => each.port)),
    [port.name],
  );
  const ingress = JSON.stringify(one("Ingress"));
  const backend = { service: { name: service.metadata.name, port: { name: service.spec.ports[0]!.name } } };
  assert.ok(ingress.includes(JSON.stringify(backend)), ingress);
  assert.ok(ingress.includes(`"host":"${new URL(config.MUCAST_PUBLIC_URL!).host}"`), ingress);
});

test("the Ingress waits longer than a request may take", () => {
  const { annotations } = one("Ingress").metadata as unknown as { annotations: Record<string, string> };
  const seconds = Number(annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"]);
  assert.ok(seconds > settingsSchema.parse({}).request_seconds + 60, String(seconds));
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
    pod.volumes.map(({ name, emptyDir }) => [name, Object.keys(emptyDir!)]),
    [["tmp", ["sizeLimit"]]],
    "on a disk: files in memory count as the container's",
  );
});

test("the container has all that jobs use, its cores and its disk", () => {
  const { limits } = container.resources;
  const cores = container.env.find(({ name }) => name === "MUCAST_CORES");
  assert.equal(cores?.valueFrom?.resourceFieldRef?.resource, "limits.cpu");
  const temporary = bytesOf(pod.volumes[0]!.emptyDir!.sizeLimit);
  assert.ok(bytesOf(limits["ephemeral-storage"]!) > temporary);
  // Before they are measured, files may grow beyond the limit; and two price CSVs of one caller may take 2 GiB each.
  assert.ok(Number(config.MUCAST_WORK_BYTES) <= temporary - (4 + 2 * 2) * 2 ** 30);
});

test("it runs this version's image, which serves", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  assert.match(container.image, new RegExp(`/mucast-ml:${version.replaceAll(".", "\\.")}$`));
  for (const file of globSync("infra/kubernetes/overlays/*/kustomization.yaml"))
    assert.ok(readFileSync(file, "utf8").includes(`newTag: "${version}"`), file);
  assert.deepEqual(container.args, ["serve"]);
  assert.match(readFileSync("Dockerfile", "utf8"), /^ENTRYPOINT \["tini", "--", "mucast"\]$/m);
});

test("the base's settings are settings of the service, with values that it accepts", () => {
  for (const [name, value] of Object.entries(config)) {
    const field = Object.values(settingsSchema.shape).find((each) => settingNames.get(each)?.env === name);
    assert.ok(field?.safeParse(value).success, `${name}=${value}`);
  }
});
