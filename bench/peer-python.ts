import { fileURLToPath } from "node:url";
import { lockedPython } from "../scripts/locked-python.ts";

/** Python of an environment with one peer, from `bench/peers/requirements-<peer>.txt`. */
export function peerPython(peer: string): string {
  const lock = fileURLToPath(new URL(`./peers/requirements-${peer}.txt`, import.meta.url));
  return lockedPython(`bench-${peer}`, lock);
}
