/**
 * Installs the Python environments named as arguments (ml, dl, ray, dev, lint), if they are missing; `networks` is `dl`, or a ready `dl-cpu`
 * in its place. With `dev`, also installs the server of S3 for tests, whose package is on PyPI, and what the Python client's tests need,
 * which several files use at the same time.
 */
import { fileURLToPath } from "node:url";
import { MucastError } from "../src/contract/errors/errors.ts";
import { type EnvironmentFlavour, servingFlavour } from "../src/engine/environment/environment.ts";
import { installEnvironment } from "../src/engine/environment/install-environment.ts";
import { clientEnvironment, lockedPython } from "./locked-python.ts";

const S3_SERVER = fileURLToPath(new URL("../tools/test-servers/requirements-s3.txt", import.meta.url));

try {
  for (const name of process.argv.slice(2) as (EnvironmentFlavour | "networks")[]) {
    const flavour = name === "networks" ? servingFlavour("dl") : name;
    await installEnvironment({ flavour, report: (line) => process.stderr.write(`${line}\n`) });
    if (flavour !== "dev") continue;
    lockedPython("test-servers", S3_SERVER);
    clientEnvironment();
  }
} catch (error) {
  if (!(error instanceof MucastError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.entry.exit;
}
