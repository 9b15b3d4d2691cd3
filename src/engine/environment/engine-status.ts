import { MucastError } from "../../contract/errors/errors.ts";
import {
  findEnvironment,
  namedPython,
  PYTHON_VARIABLE,
  SETUP_COMMANDS,
  type UserEnvironment,
} from "./environment.ts";
import { type ImportedLibraries, importLibraries } from "./libraries.ts";
import { answerIn } from "./run-command.ts";

interface EngineStatus {
  /** Whether the jobs of the environment can run. */
  readonly ready: boolean;
  /** A sentence for people: where the engine is, which libraries it has and which are missing. */
  readonly lines: readonly string[];
}

/** Imports every library of an environment, and reports which can be imported. Never rejects. */
export async function engineStatus(flavour: UserEnvironment): Promise<EngineStatus> {
  try {
    const { python } = findEnvironment(flavour);
    const from = namedPython() === undefined ? "" : `, named by ${PYTHON_VARIABLE}`;
    const { code, stdout, stderr } = await importLibraries(python, flavour);
    const answer = code === 0 ? answerIn(stdout, "python") : undefined;
    if (answer !== undefined) return statusOf(python + from, answer as ImportedLibraries, flavour);
    const reason = stderr.trim().split("\n").at(-1) || "the interpreter printed no answer";
    return { ready: false, lines: [`engine  ${python}${from}`, missing(reason, flavour)] };
  } catch (error) {
    if (!(error instanceof MucastError)) throw error;
    return { ready: false, lines: [`engine  none: ${error.message}`] };
  }
}

function statusOf(where: string, imported: ImportedLibraries, flavour: UserEnvironment): EngineStatus {
  const lines = [`engine  ${where}`, `python  ${imported.python}`];
  const faults: string[] = [];
  for (const [name, { version, fault }] of Object.entries(imported.libraries)) {
    lines.push(`        ${name} ${version ?? "missing"}`);
    if (fault !== undefined) faults.push(missing(`${name}: ${fault}`, flavour));
  }
  if (flavour !== "ml") lines.push(`        CUDA devices: ${imported.devices.join(", ") || "none"}`);
  return { ready: faults.length === 0, lines: [...lines, ...faults] };
}

function missing(what: string, flavour: UserEnvironment): string {
  return `missing: ${what}; \`${SETUP_COMMANDS[flavour]}\` installs what is needed`;
}
