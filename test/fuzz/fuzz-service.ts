import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { lockedPython } from "../../scripts/locked-python.ts";
import { startCore } from "../service/core.testing.ts";
import { DATABASES } from "../service/databases.testing.ts";
import { endServices } from "../service/service.testing.ts";

/**
 * Schemathesis against a running service, from its own /openapi.json: made-up requests, valid and invalid, none of which may cause a server
 * error or an answer that the document does not describe.
 * @param more arguments for Schemathesis, such as `--max-examples 500` or `--seed 1`.
 */
export async function fuzzService(more: readonly string[]): Promise<boolean> {
  const python = lockedPython("fuzz", "test/fuzz/requirements-schemathesis.txt");
  const core = await startCore(DATABASES[0]!, {
    env: { MUCAST_REQUESTS_PER_MINUTE: "10000000", MUCAST_QUEUED_PER_CALLER: "1000000" },
  });
  try {
    const { url, logs } = core.serving;
    // Data that can be found by id, in the list and as an output.
    const { id } = await core.api.submit(core.own(), { prefer: "wait=60" });

    const checks = resolve("test/fuzz/schemathesis.toml");
    const args = ["--config-file", checks, "run", `${url}/openapi.json`, "--max-examples", "100"];
    const plain = [
      "--generation-database",
      "none",
      "--request-timeout",
      "90",
      "--continue-on-failure",
      "--no-color",
    ];
    // Not spawnSync, because the log of the service has to be read meanwhile.
    const child = spawn(python, ["-m", "schemathesis.cli", ...args, ...plain, ...more], {
      stdio: "inherit",
      cwd: core.serving.folder,
    });
    const [status] = await once(child, "exit");
    const faults = logs()
      .split("\n")
      .filter((line) => /"internal"|unhandled/i.test(line));
    process.stdout.write(
      `${faults.length} lines of the log tell a defect\n${faults.slice(0, 5).join("\n")}\n`,
    );
    await core.api.get(id);
    return status === 0 && faults.length === 0;
  } finally {
    await endServices();
    await core.storage.stop();
  }
}
