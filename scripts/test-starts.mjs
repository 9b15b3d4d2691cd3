// Loaded before the test files. If MUCAST_TEST_STARTS is `refuse`, every start of a process, a server or a database throws. At
// its end, the process reports to the runner its own processor seconds and those of the processes that it started and waited for,
// as one line of JSON on descriptor 3.
import childProcess from "node:child_process";
import { writeSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { processorSeconds } from "./processor-seconds.ts";

const REPORT = 3;

const mode = process.env.MUCAST_TEST_STARTS;
// It applies only to this process.
delete process.env.MUCAST_TEST_STARTS;

if (isMainThread && mode !== undefined) {
  if (mode === "refuse") {
    const refuse = (owner, name, what) => {
      owner[name] = () => {
        throw new Error(refusal(what));
      };
    };
    refuse(childProcess.ChildProcess.prototype, "spawn", "a process");
    for (const name of ["spawnSync", "execSync", "execFileSync"]) refuse(childProcess, name, "a process");
    refuse(net.Server.prototype, "listen", "a server");
    syncBuiltinESMExports();
  }
  process.on("exit", () =>
    writeSync(REPORT, `${JSON.stringify({ processorSeconds: processorSeconds() })}\n`),
  );
}

function refusal(what) {
  const url = /file:\S+\.test\.m?[jt]s/.exec(new Error().stack)?.[0];
  const file = url === undefined ? "a test" : relative("", fileURLToPath(url));
  return `${file} starts ${what}, which a fast test must not do: name the file *.slow.test.ts`;
}
