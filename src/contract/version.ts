import { readFileSync } from "node:fs";

/** The version of mucast, from its package: two folders up, both here and in the compiled package. */
export const MUCAST_VERSION: string = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
).version;
