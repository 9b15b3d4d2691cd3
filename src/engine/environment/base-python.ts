import { MucastError } from "../../contract/errors/errors.ts";
import { answerIn, runCommand } from "./run-command.ts";

/** An interpreter of the system that environments are made from. */
export interface BasePython {
  /** Absolute path of the interpreter itself, even if a shim was called. */
  readonly path: string;
  readonly version: string;
}

interface Probed extends BasePython {
  readonly minor: number;
  readonly major: number;
  readonly pip: boolean;
}

/** Minor versions of Python 3 for which every locked library has wheels. */
const OLDEST_MINOR = 11;
const NEWEST_MINOR = 14;

const PROBE = `
import importlib.util, json, platform, sys
print(json.dumps({
    "path": sys.executable, "version": platform.python_version(),
    "major": sys.version_info[0], "minor": sys.version_info[1],
    "pip": importlib.util.find_spec("pip") is not None,
}))`;

/**
 * The first of python3, python3.14, ..., python3.11 on the path that can make the environment.
 * @throws MucastError engine_unavailable, in one sentence that names the interpreters found.
 */
export async function findBasePython(): Promise<BasePython> {
  const names = ["python3"];
  for (let minor = NEWEST_MINOR; minor >= OLDEST_MINOR; minor--) names.push(`python3.${minor}`);
  const found: Probed[] = [];
  for (const name of names) {
    const probed = await probe(name);
    if (probed && isFit(probed) && probed.pip) return probed;
    if (probed) found.push(probed);
  }
  throw new MucastError("engine_unavailable", whatIsWrong(found), {
    accepted: [`Python 3.${OLDEST_MINOR} to 3.${NEWEST_MINOR}`],
  });
}

async function probe(name: string): Promise<Probed | undefined> {
  const { code, stdout } = await runCommand(name, ["-I", "-c", PROBE]);
  return code === 0 ? (answerIn(stdout, "path") as Probed | undefined) : undefined;
}

function isFit({ major, minor }: Probed): boolean {
  return major === 3 && minor >= OLDEST_MINOR && minor <= NEWEST_MINOR;
}

function whatIsWrong(found: readonly Probed[]): string {
  const wanted = `mucast needs Python 3.${OLDEST_MINOR} to 3.${NEWEST_MINOR}`;
  const withoutPip = found.find(isFit);
  if (withoutPip) {
    return (
      `${wanted} with pip, and Python ${withoutPip.version} at ${withoutPip.path} has no pip; ` +
      "install it (Debian and Ubuntu: apt install python3-pip)"
    );
  }
  const others = found.map(({ version, path }) => `Python ${version} at ${path}`).join(", ");
  return `${wanted}, and there is ${others ? `only ${others}` : "no python3"} on the path; install one`;
}
