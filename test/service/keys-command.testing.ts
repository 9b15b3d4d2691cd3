/** `mucast keys` as a process, and its output. */
import assert from "node:assert/strict";
import { mucast } from "../end-to-end/commands/command.ts";

export const TOKEN = /^mucast_([0-9a-f]{16})_[\w-]{43}\n$/;

interface Told {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `mucast keys` with these arguments on a data folder. */
export function keys(dataDir: string, ...words: string[]): Promise<Told> {
  return mucast(["keys", ...words, "--data-dir", dataDir]);
}

export function assertRevoked(id: string, { code, stdout, stderr }: Told): void {
  assert.deepEqual([code, stdout], [0, ""]);
  assert.match(stderr, new RegExp(`^revoked key ${id}, the optimizer \\(read\\)\n$`));
}

export function assertNoKey({ code, stdout, stderr }: Told): void {
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /not_found[\s\S]*there is no key 0123456789abcdef/);
}
