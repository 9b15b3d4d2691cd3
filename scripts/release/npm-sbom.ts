import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The parts of CycloneDX that `npm sbom` writes and this program reads. */
interface Sbom {
  readonly metadata: { readonly component: Readonly<Record<string, unknown>> };
  readonly components: readonly { readonly "bom-ref": string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * The SBOM of a whole lock, without the packages that only development needs. `npm sbom --omit dev` (11.19) also leaves out packages
 * that both need, such as zod.
 * @param text from `npm sbom`, which names the root after its folder.
 */
export function withoutDevelopment(text: string, checkout: string): string {
  const { name, packages } = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));
  const kept = new Set<string>();
  for (const [path, { dev, version }] of Object.entries<{ dev?: true; version: string }>(packages))
    if (dev !== true) kept.add(`${path === "" ? name : path.split("node_modules/").at(-1)}@${version}`);
  const sbom: Sbom = JSON.parse(text);
  const result = {
    ...sbom,
    metadata: { ...sbom.metadata, component: { ...sbom.metadata.component, name } },
    components: sbom.components.filter((component) => kept.has(component["bom-ref"])),
    dependencies: sbom.dependencies
      .filter(({ ref }) => kept.has(ref))
      .map((entry) => ({ ...entry, dependsOn: entry.dependsOn.filter((ref) => kept.has(ref)) })),
  };
  return `${JSON.stringify(result, null, 2)}\n`;
}
