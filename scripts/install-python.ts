/** Installs the Python environments named as arguments (ml, dl, ray, dev, lint), if they are missing. */

import { MucastError } from "../src/contract/errors/errors.ts";
import type { EnvironmentFlavour } from "../src/engine/environment/environment.ts";
import { installEnvironment } from "../src/engine/environment/install-environment.ts";

try {
  for (const flavour of process.argv.slice(2) as EnvironmentFlavour[]) {
    await installEnvironment({ flavour, report: (line) => process.stderr.write(`${line}\n`) });
  }
} catch (error) {
  if (!(error instanceof MucastError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = error.entry.exit;
}
