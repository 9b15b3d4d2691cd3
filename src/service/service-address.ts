import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { makeFolder } from "../contract/machine/folders.ts";
import type { Settings } from "../contract/settings.ts";

/** The host without the brackets of an IPv6 address. */
export function hostOf({ host }: Pick<Settings, "host">): string {
  return host.replace(/^\[(.*)\]$/, "$1");
}

/** Whether that is every address of the machine, however it is written: 0.0.0.0, 0, [::] or ::0. */
export function isEveryAddress(address: Pick<Settings, "host">): boolean {
  return /^(0\.0\.0\.0|[0:]+)$/.test(hostOf(address));
}

const serviceFileSchema = z.object({
  address: z.string(),
  /** Bearer token of local commands: the caller `local` with every scope. */
  token: z.string(),
});

export type AnnouncedService = z.infer<typeof serviceFileSchema>;

const serviceFile = (dataDir: string) => join(dataDir, "service.json");

/** Writes where a service listens. @returns a function that removes the file, unless another service has replaced it. */
export function announceService(dataDir: string, service: AnnouncedService): () => void {
  const path = serviceFile(dataDir);
  const draft = `${path}.${process.pid}`;
  makeFolder(dataDir, 0o700);
  writeFileSync(draft, `${JSON.stringify(service)}\n`, { mode: 0o600 });
  renameSync(draft, path);
  return () => {
    if (readAnnounced(dataDir)?.token === service.token) rmSync(path, { force: true });
  };
}

/** Undefined if no service has announced itself. One that was killed leaves its file. */
export function readAnnounced(dataDir: string): AnnouncedService | undefined {
  try {
    return serviceFileSchema.parse(JSON.parse(readFileSync(serviceFile(dataDir), "utf8")));
  } catch {
    return undefined;
  }
}
