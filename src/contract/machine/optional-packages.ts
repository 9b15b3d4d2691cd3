import { readFileSync } from "node:fs";
import { MucastError } from "../errors/errors.ts";

/** `npm install --omit=optional` leaves them out. */
const PACKAGE = new URL("../../../package.json", import.meta.url);

/**
 * Loads modules that need optional packages; if one is missing, the error has the command that installs all of them.
 * @param feature what needs them, as the subject of a sentence.
 */
export async function withOptionalPackages<T>(feature: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const { optionalDependencies } = JSON.parse(readFileSync(PACKAGE, "utf8"));
    const isMissing = (name: string) => message.startsWith(`Cannot find package '${name}'`);
    const missing = code === "ERR_MODULE_NOT_FOUND" && Object.keys(optionalDependencies).find(isMissing);
    if (!missing) throw error;
    const packages = Object.entries(optionalDependencies).map(([name, version]) => `${name}@${version}`);
    throw new MucastError(
      "invalid_request",
      `${feature} needs the package ${missing}, which is not installed; install it beside mucast, with --global if mucast is: ` +
        `npm install --omit=optional ${packages.join(" ")}`,
      { package: missing },
    );
  }
}
