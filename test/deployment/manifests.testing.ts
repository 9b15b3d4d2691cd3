/** Reads manifests of Kubernetes, and validates them against its JSON schemas, from the package that contains these. */
import { spawnSync } from "node:child_process";
import { lockedPython } from "../../scripts/locked-python.ts";

export interface Checked {
  readonly file: string;
  /** Null if the file is not YAML. */
  readonly document: Resource | null;
  /** What the schema does not allow; null if there is nothing. */
  readonly fault: string | null;
}

/** One document of a file. */
export interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

interface HttpProbe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
    readonly resourceFieldRef?: { readonly resource: string };
  };
}

/** The members that the tests read. */
export interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly envFrom: readonly { readonly configMapRef?: { readonly name: string } }[];
  readonly env: readonly Variable[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe: HttpProbe;
  readonly livenessProbe: HttpProbe;
  readonly readinessProbe: HttpProbe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly securityContext: object;
  readonly resources: Readonly<Record<"requests" | "limits", Readonly<Record<string, string>>>>;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface PodSpec {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks: boolean;
  readonly securityContext: object;
  readonly terminationGracePeriodSeconds: number;
  readonly containers: readonly [Container];
  readonly volumes: readonly {
    readonly name: string;
    readonly emptyDir?: { readonly sizeLimit: string };
    readonly persistentVolumeClaim?: { readonly claimName: string };
  }[];
}

interface Selector {
  readonly matchLabels: Readonly<Record<string, string>>;
}

export interface Deployment extends Resource {
  readonly spec: {
    readonly replicas: number;
    readonly selector: Selector;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

/** Why overlays are not rendered here; false if they are. kubectl contains kustomize. */
export const unrendered =
  spawnSync("kubectl", ["version", "--client"]).status !== 0 &&
  "NOT RUN: there is no kubectl to render overlays";

/** The documents of a folder with a kustomization, as `kubectl apply --kustomize` would send them. @throws Error if kustomize refuses it. */
export function render(folder: string): string {
  const run = spawnSync("kubectl", ["kustomize", folder], { encoding: "utf8", maxBuffer: 2 ** 26 });
  if (run.status !== 0) throw new Error(`kubectl kustomize ${folder}: ${run.stderr}`);
  return run.stdout;
}

/** The settings of a `settings.env`. */
export function settingsOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return Object.fromEntries(lines.map((line) => [line.split("=")[0]!, line.slice(line.indexOf("=") + 1)]));
}

/** @param version of Kubernetes, such as `1.37`. @throws Error if the program itself fails. */
export function checkManifests(version: string, files: readonly string[]): readonly Checked[] {
  const python = lockedPython("kubernetes", "test/deployment/requirements-kubernetes.txt");
  const run = spawnSync(python, ["test/deployment/read_manifests.py", version, ...files], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  if (run.status !== 0) throw new Error(`read_manifests.py ended with ${run.status}: ${run.stderr}`);
  return JSON.parse(run.stdout);
}

const UNITS = { Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 } as const;

/** Bytes of a quantity such as `8Gi`. */
export function bytesOf(quantity: string): number {
  const [, number, unit] = /^(\d+)([KMGT]i)?$/.exec(quantity) ?? [];
  if (number === undefined) throw new Error(`${quantity} is no quantity of bytes`);
  return Number(number) * (unit === undefined ? 1 : UNITS[unit as keyof typeof UNITS]);
}
