import { MucastError } from "../contract/errors.ts";
import { runCommand } from "./command.ts";
import { findEnvironment, namedPython, PYTHON_VARIABLE } from "./environment.ts";
import { engineEnvironment } from "./host-process.ts";

export interface EngineStatus {
  /** Whether jobs can run. */
  readonly ready: boolean;
  /** For people: where the engine is, what it has, what is missing. */
  readonly lines: readonly string[];
}

interface Probed {
  readonly python: string;
  /** Version of each library, or why it cannot be imported. */
  readonly libraries: Readonly<Record<string, { readonly version?: string; readonly fault?: string }>>;
}

/** Imports every library once and tells what came of it. Never rejects. */
export async function engineStatus(): Promise<EngineStatus> {
  try {
    const { python } = findEnvironment("ml");
    const from = namedPython() === undefined ? "" : `, named by ${PYTHON_VARIABLE}`;
    const { code, stdout, stderr } = await runCommand(
      python,
      ["-s", "-P", "-m", "mucast_engine.status"],
      engineEnvironment(),
    );
    if (code !== 0) {
      const words = stderr.trim().split("\n").at(-1) ?? "";
      return { ready: false, lines: [`engine  ${python}${from}`, `missing: ${words}; run \`mucast setup\``] };
    }
    return told(python + from, JSON.parse(stdout));
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    return { ready: false, lines: [`engine  none: ${error.message}`] };
  }
}

function told(where: string, probed: Probed): EngineStatus {
  const lines = [`engine  ${where}`, `python  ${probed.python}`];
  const faults: string[] = [];
  for (const [name, { version, fault }] of Object.entries(probed.libraries)) {
    lines.push(`        ${name} ${version ?? "missing"}`);
    if (fault !== undefined) faults.push(`missing: ${name}: ${fault}`);
  }
  return { ready: faults.length === 0, lines: [...lines, ...faults] };
}
