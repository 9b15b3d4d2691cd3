/**
 * Compares infra/ray with the JSON schemas of Kubernetes (including the pods of the RayCluster), with the lock and with the image. No
 * Kubernetes runs here, so it does not prove that KubeRay starts the nodes.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { before, test } from "node:test";
import { type Checked, type Container, checkManifests, type PodSpec } from "./manifests.testing.ts";

interface Group {
  readonly rayStartParams: Readonly<Record<string, string>>;
  readonly template: { readonly spec: PodSpec };
}

interface RayCluster {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly rayVersion: string;
    readonly authOptions: { readonly mode: string };
    readonly headGroupSpec: Group;
    readonly workerGroupSpecs: readonly Group[];
  };
}

interface Policy {
  readonly spec: { readonly podSelector: { readonly matchLabels: Readonly<Record<string, string>> } };
}

let checked: readonly Checked[];
let cluster: RayCluster;
let containers: readonly Container[];
let pods: readonly PodSpec[];

before(() => {
  checked = ["1.29", "1.37"].flatMap((version) =>
    checkManifests(version, globSync("infra/ray/!(kustomization).yaml")),
  );
  cluster = document("RayCluster") as unknown as RayCluster;
  pods = [cluster.spec.headGroupSpec, ...cluster.spec.workerGroupSpecs].map(({ template }) => template.spec);
  containers = pods.map((pod) => pod.containers[0]);
});

function document(kind: string) {
  return checked.find((entry) => entry.document?.kind === kind)?.document ?? assert.fail(`no ${kind}`);
}

test("its pods match the schemas of Kubernetes", () => {
  assert.deepEqual(
    checked.filter(({ fault }) => fault !== null),
    [],
  );
});

test("it requires a token, and every node has the Ray of the lock and this version's image", () => {
  assert.deepEqual(cluster.spec.authOptions, { mode: "token" });
  const [, version] = /^ray==(\S+)/m.exec(readFileSync("engine/requirements-ray.txt", "utf8"))!;
  assert.equal(cluster.spec.rayVersion, version);
  const ours = JSON.parse(readFileSync("package.json", "utf8")).version;
  for (const { image } of containers) assert.equal(image, `registry.example.com/mucast-ray:${ours}`);
});

test("no pod has a privilege that a node does not need", () => {
  for (const pod of pods) {
    assert.equal(pod.automountServiceAccountToken, false);
    assert.partialDeepStrictEqual(pod.securityContext, {
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
    assert.deepEqual(pod.containers[0].securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
  }
});

test("probes name ports that the nodes open, because the image has no dashboard", () => {
  for (const { ports, readinessProbe, livenessProbe } of containers) {
    const names = ports.map(({ name }) => name);
    for (const probe of [readinessProbe, livenessProbe] as unknown as { tcpSocket: { port: string } }[])
      assert.ok(names.includes(probe.tcpSocket.port), probe.tcpSocket.port);
  }
  const [worker] = cluster.spec.workerGroupSpecs;
  assert.equal(worker!.rayStartParams["node-manager-port"], `${containers[1]!.ports[0]!.containerPort}`);
  assert.deepEqual(cluster.spec.headGroupSpec.rayStartParams, {
    "num-cpus": "0",
    "include-dashboard": "false",
  });
});

test("the policy selects its nodes, and services reach only the allowed port", () => {
  const policy = document("NetworkPolicy") as unknown as Policy;
  assert.deepEqual(policy.spec.podSelector.matchLabels, { "ray.io/cluster": cluster.metadata.name });
  const client = containers[0]!.ports.find(({ name }) => name === "client");
  assert.match(
    readFileSync("infra/kubernetes/base/network-policy.yaml", "utf8"),
    new RegExp(`port: ${client!.containerPort}`),
  );
});
