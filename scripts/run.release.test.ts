/** The documented way to start a service from a checkout, with the real npm and timeout. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { eventually, eventuallyTrue } from "../test/service/eventually.testing.ts";
import { processesNaming, stillRunning } from "../test/service/processes.testing.ts";
import { endServices, serviceFolder } from "../test/service/service.testing.ts";

const NPM = ["npm", "run", "--silent", "mucast", "--", "serve", "--port", "0"];

after(endServices);

for (const [starter, ...words] of [NPM, ["timeout", "3600", ...NPM]] as [string, ...string[]][]) {
  test(`a service that ${starter} starts ends in an orderly way on SIGTERM to ${starter}`, async () => {
    const folder = await serviceFolder();
    const path = join(folder, "output");
    const output = openSync(path, "w");
    mkdirSync(join(folder, "tmp"));
    const root = spawn(starter, [...words, "--data-dir", join(folder, "data")], {
      detached: true,
      stdio: ["ignore", output, output],
      env: {
        ...process.env,
        TMPDIR: join(folder, "tmp"),
        MUCAST_DRAIN_SECONDS: "0",
        // No job runs, so the waiting job process need not import an engine's libraries.
        MUCAST_PYTHON: "/no/such/python",
      },
    });
    closeSync(output);
    const said = (message: string) =>
      readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line.startsWith("{") && JSON.parse(line).msg === message);
    await eventually("it listens", () => (said("listening").length > 0 ? true : undefined));
    const processes = processesNaming(folder);
    const ended = once(root, "exit");
    root.kill("SIGTERM");
    await ended;
    await eventuallyTrue("all of it ends", () => stillRunning(processes).length === 0);
    assert.deepEqual([said("draining").length, said("ended").length], [1, 1]);
  });
}
