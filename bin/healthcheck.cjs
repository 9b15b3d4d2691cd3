// The HEALTHCHECK of the images. A service is healthy if it answers /healthz; a container that runs a job has no service
// to ask and is healthy while it runs. The command of the container is that of its first process.
const { readFileSync } = require("node:fs");

/** @returns {number | undefined} the port of the service; undefined where the container runs another command. */
function portOf(words) {
  if (!words.includes("serve")) return undefined;
  const flag = words.find((word) => word.startsWith("--port"));
  const given = flag?.split("=")[1] ?? (flag && words[words.indexOf(flag) + 1]);
  return Number(given ?? process.env.MUCAST_PORT ?? 8080);
}

const [, , commandFile = "/proc/1/cmdline"] = process.argv;
const port = portOf(readFileSync(commandFile, "utf8").split("\0"));
if (port !== undefined) {
  fetch(`http://127.0.0.1:${port}/healthz`).then(
    ({ ok }) => process.exit(ok ? 0 : 1),
    () => process.exit(1),
  );
}
