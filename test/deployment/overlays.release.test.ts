/** Renders the overlays of infra/kubernetes with kustomize, and compares what Kubernetes would get with its schemas and with the code. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { after, describe, test } from "node:test";
import { settingNames, settingsSchema } from "../../src/contract/settings.ts";
import { hostNames, isAllowedHost } from "../../src/service/http/guard.ts";
import {
  bytesOf,
  type Container,
  checkManifests,
  type Deployment,
  type PodSpec,
  type Resource,
  render,
  unrendered,
} from "./manifests.testing.ts";

const OVERLAYS = "infra/kubernetes/overlays";
const COMMON = [
  "ConfigMap",
  "Deployment",
  "NetworkPolicy",
  "PodDisruptionBudget",
  "Service",
  "ServiceAccount",
];
/** Read by the clients of the storage or of Ray. */
const FOREIGN = [
  "AWS_ACCESS_KEY_ID",
  "AWS_REGION",
  "AWS_SECRET_ACCESS_KEY",
  "AZURE_STORAGE_CONNECTION_STRING",
  "MUCAST_ENGINE_URL",
  "RAY_AUTH_TOKEN",
];

const scratch = mkdtempSync(join(tmpdir(), "mucast-overlays-"));
after(() => rmSync(scratch, { recursive: true }));

interface Rendered {
  readonly documents: readonly Resource[];
  readonly deployment: Deployment;
  readonly pod: PodSpec;
  readonly container: Container;
  readonly config: Readonly<Record<string, string>>;
}

/** What kustomize makes of a folder. Fails if Kubernetes would refuse a part of it. */
function rendered(folder: string): Rendered {
  const file = join(scratch, "rendered.yaml");
  writeFileSync(file, render(folder));
  const checked = ["1.29", "1.37"].map((version) => checkManifests(version, [file]));
  assert.deepEqual(
    checked.flat().filter(({ fault }) => fault !== null),
    [],
  );
  const documents = checked[0]!.map(({ document }) => document!);
  const one = (kind: string) => documents.filter((each) => each.kind === kind);
  const [config, ...others] = one("ConfigMap") as (Resource & { data: Record<string, string> })[];
  assert.equal(others.length, 0);
  const [deployment] = one("Deployment") as [Deployment];
  const pod = deployment.spec.template.spec;
  const container = pod.containers[0];
  assert.deepEqual(container.envFrom, [{ configMapRef: { name: config!.metadata.name } }]);
  assert.match(config!.metadata.name, /^mucast-\w{10}$/, "a digest: a change starts new pods");
  return { documents, deployment, pod, container, config: config!.data };
}

/** Fails if a variable is unknown, or a value is not accepted, or a secret is no reference. */
function checkVariables({ container, config }: Rendered): void {
  const field = (name: string) =>
    Object.values(settingsSchema.shape).find((each) => settingNames.get(each)?.env === name);
  for (const [name, value] of Object.entries(config))
    assert.ok(FOREIGN.includes(name) || field(name)?.safeParse(value).success, `${name}=${value}`);
  for (const { name, value, valueFrom } of container.env) {
    assert.equal(value, undefined, `${name}: settings are in settings.env`);
    if (valueFrom?.resourceFieldRef) continue;
    assert.ok(FOREIGN.includes(name) || settingNames.get(field(name)!)?.secret, name);
    assert.ok(valueFrom?.secretKeyRef?.name, name);
  }
}

/** Pods call the service by the names that the DNS of a cluster gives to its Service. */
function checkNamesInCluster({ documents, config }: Rendered): void {
  const { name, namespace } = documents.find(({ kind }) => kind === "Service")!.metadata;
  const names = hostNames({
    public_url: config.MUCAST_PUBLIC_URL,
    allowed_hosts: config.MUCAST_ALLOWED_HOSTS!.split(" "),
  });
  const long = `${name}.${namespace}`;
  for (const host of [name, long, `${long}.svc`, `${long}.svc.cluster.local`])
    assert.ok(isAllowedHost(host, names, new Socket()), host);
}

/** Jobs and requests leave the service a gigabyte of the container's memory. */
function checkMemory({ container, config }: Rendered): void {
  const { requests, limits } = container.resources;
  assert.deepEqual([requests.cpu, requests.memory], [limits.cpu, limits.memory], "nothing that is shared");
  const processes = Number(config.MUCAST_REQUEST_PROCESSES) * Number(config.MUCAST_REQUEST_MEMORY_BYTES);
  const taken = Number(config.MUCAST_MEMORY_BYTES) + processes;
  assert.ok(bytesOf(limits.memory!) - taken >= 2 ** 30, `${limits.memory} less ${taken}`);
}

const secretsOf = ({ container }: Rendered) =>
  container.env.flatMap(({ name, valueFrom }) => (valueFrom?.secretKeyRef ? [name] : [])).toSorted();

describe("an overlay", { skip: unrendered }, () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));

  for (const [name, kinds, image, secrets, blobs] of [
    ["small", ["PersistentVolumeClaim"], "ml", [], undefined],
    ["postgres-azure", [], "ml", ["AZURE_STORAGE_CONNECTION_STRING", "DATABASE_URL"], /^https:/],
    ["postgres-s3", [], "ml", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL"], /^s3:/],
    [
      "cluster",
      ["NetworkPolicy", "RayCluster"],
      "ray",
      ["AZURE_STORAGE_CONNECTION_STRING", "DATABASE_URL", "RAY_AUTH_TOKEN"],
      /^https:/,
    ],
  ] as const)
    test(`${name} is complete, and in one namespace`, () => {
      const made = rendered(join(OVERLAYS, name));
      assert.deepEqual(made.documents.map(({ kind }) => kind).toSorted(), [...COMMON, ...kinds].toSorted());
      for (const { metadata } of made.documents) assert.equal(metadata.namespace, "mucast", metadata.name);
      checkVariables(made);
      checkNamesInCluster(made);
      checkMemory(made);
      assert.equal(made.container.image, `registry.example.com/mucast-${image}:${version}`);
      assert.deepEqual(secretsOf(made), secrets);
      assert.ok(blobs === undefined ? made.config.BLOB_URL === undefined : blobs.test(made.config.BLOB_URL!));
      assert.equal(made.deployment.spec.replicas, name === "small" ? 1 : 3);
    });

  test("small has one pod at a time, with a name of its own and its data on a volume", () => {
    const { deployment, pod, container } = rendered(join(OVERLAYS, "small"));
    assert.deepEqual((deployment.spec as unknown as { strategy: object }).strategy, { type: "Recreate" });
    assert.deepEqual(container.volumeMounts.map(({ mountPath }) => mountPath).toSorted(), [
      "/tmp",
      "/var/lib/mucast",
    ]);
    assert.match(readFileSync("Dockerfile", "utf8"), /MUCAST_DATA_DIR=\/var\/lib\/mucast/);
    assert.deepEqual(
      pod.volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim ?? []),
      [{ claimName: "mucast" }],
    );
  });

  test("cluster names the head and the secret of the Ray cluster", () => {
    const { documents, config, container } = rendered(join(OVERLAYS, "cluster"));
    const { name } = documents.find(({ kind }) => kind === "RayCluster")!.metadata;
    assert.equal(config.MUCAST_ENGINE_URL, `ray://${name}-head-svc:10001`);
    const token = container.env.find((each) => each.name === "RAY_AUTH_TOKEN");
    assert.equal(token?.valueFrom?.secretKeyRef?.name, name);
  });

  test("the Ingress can be added to each", () => {
    for (const name of ["small", "postgres-azure", "postgres-s3", "cluster"]) {
      const at = (folder: string) => JSON.stringify(relative(scratch, folder));
      const text = `resources: [${at(join(process.cwd(), OVERLAYS, name))}]\nnamespace: mucast\ncomponents: [${at(join(process.cwd(), "infra/kubernetes/ingress"))}]\n`;
      writeFileSync(join(scratch, "kustomization.yaml"), text);
      const ingress = rendered(scratch).documents.find(({ kind }) => kind === "Ingress");
      assert.equal(ingress?.metadata.namespace, "mucast");
    }
  });
});
