// The HEALTHCHECK of the images. A service is healthy if it answers /healthz; a container that runs a job has no service
// to ask and is healthy while it runs. The command of the container is the command line of its first process.
const { readFileSync } = require("node:fs");

const [, , commandFile = "/proc/1/cmdline"] = process.argv;
const words = readFileSync(commandFile, "utf8").split("\0");

/** @returns {string | undefined} the value of a setting from its flag, or else its variable, as `mucast serve` reads it. */
function given(name) {
  const flag = `--${name}`;
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  if (at >= 0) return words[at] === flag ? words[at + 1] : words[at].slice(flag.length + 1);
  return process.env[`MUCAST_${name.toUpperCase()}`]?.trim() || undefined;
}

function addressOfService() {
  const file = given("settings");
  const settings = file === undefined ? {} : JSON.parse(readFileSync(file, "utf8"));
  const host = given("host") ?? settings.host ?? "127.0.0.1";
  const port = given("port") ?? settings.port ?? 8080;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

if (words.includes("serve")) {
  fetch(`${addressOfService()}/healthz`).then(
    ({ ok }) => process.exit(ok ? 0 : 1),
    () => process.exit(1),
  );
}
