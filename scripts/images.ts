/**
 * Builds images of the Dockerfile without Docker and without a registry of images: with Buildah, upon a base of Debian's packages, the Node
 * of `tools/node`, and npm. `npm run images -- ml dl dl-cpu ray`, as root, with Debian's packages `buildah` and `mmdebstrap`. At the end, the
 * command `mucast doctor` runs in each image.
 *
 * Builds use the registries as this machine does: its mirrors of Debian, which the base names, and its certificates and configuration of
 * pip and npm, which no image contains.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TARGETS = ["ml", "dl", "dl-cpu", "ray"] as const;
/** The release of Debian that the Dockerfile's NODE_IMAGE names. */
const SUITE = "bookworm";
const BASE = "localhost/mucast-base";
const SOURCES = "/etc/apt/sources.list.d/debian.sources";
const CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt";

/** Without namespaces of its own, so that it also runs in a container. */
const ISOLATION = ["--isolation", "chroot"];

/** @returns what it printed, if it is quiet. @throws Error if the command cannot start or fails. */
function run(command: string, args: readonly string[], { quiet = false } = {}): string {
  if (!quiet) process.stderr.write(`${command} ${args.join(" ")}\n`);
  const done = spawnSync(command, args, {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["ignore", quiet ? "pipe" : 2, "inherit"],
  });
  if (done.status !== 0) throw new Error(`${command} ended with ${done.error?.message ?? done.status}`);
  return (done.stdout ?? "").trim();
}

/** What stands for `node:<version>-bookworm-slim`: Debian, Node and npm in /usr/local, and the user `node`. */
function buildBase(scratch: string): void {
  const node = process.execPath;
  const npm = run("npm", ["--version"], { quiet: true });
  run("npm", ["install", "--silent", "--global", "--prefix", join(scratch, "npm"), `npm@${npm}`]);
  const archive = join(scratch, "base.tar");
  run("mmdebstrap", [
    "--variant=minbase",
    "--include=ca-certificates",
    `--customize-hook=copy-in ${node} /usr/local/bin`,
    `--customize-hook=copy-in ${join(scratch, "npm/lib")} ${join(scratch, "npm/bin")} /usr/local`,
    '--customize-hook=chroot "$1" useradd --uid 1000 --user-group --create-home --shell /bin/bash node',
    SUITE,
    archive,
    ...(existsSync(SOURCES) ? [SOURCES] : []),
  ]);
  const container = run("buildah", ["from", "scratch"], { quiet: true });
  run("buildah", ["add", "--quiet", container, archive, "/"]);
  run("buildah", [
    "config",
    "--env",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    container,
  ]);
  run("buildah", ["commit", "--quiet", "--rm", container, BASE]);
  rmSync(archive);
}

/** The machine's files that a build reads in place of the image's; no image contains them. */
function machineFiles(scratch: string): string[] {
  const uv = join(scratch, "uv.toml");
  // uv has certificates of its own otherwise.
  writeFileSync(uv, "native-tls = true\n");
  const files = [
    [CERTIFICATES, CERTIFICATES],
    ["/etc/pip.conf", "/etc/pip.conf"],
    ["/etc/npmrc", "/usr/local/etc/npmrc"],
    [uv, "/etc/uv/uv.toml"],
  ] as const;
  const found = files.filter(([here]) => existsSync(here));
  return found.flatMap(([here, there]) => ["--volume", `${here}:${there}:ro`]);
}

/** The arguments of a build for the image's labels. */
function labelArguments(): string[] {
  const printed = run(process.execPath, ["scripts/release.ts", "build-args"], { quiet: true });
  if (printed.includes("-dirty"))
    process.stderr.write(
      "warning: the checkout has changes (git status), so the commit of the images ends in -dirty\n",
    );
  return printed.split(/\s+/);
}

function buildImage(
  target: string,
  version: string,
  labels: readonly string[],
  volumes: readonly string[],
): string {
  const image = `localhost/mucast-${target}:${version}`;
  const options = ["--build-arg", `NODE_IMAGE=${BASE}`, ...labels, "--target", target, "--tag", image];
  // Buildah's own format has no health check.
  run("buildah", ["build", ...ISOLATION, "--layers", "--format", "docker", ...options, ...volumes, "."]);
  return image;
}

/** Runs a command of mucast in an image, as its user. */
function tryImage(image: string): void {
  const container = run("buildah", ["from", image], { quiet: true });
  try {
    const words = ["run", ...ISOLATION, container, "--", "mucast"];
    run("buildah", [...words, "--version"]);
    run("buildah", [...words, "doctor"]);
  } finally {
    run("buildah", ["rm", container], { quiet: true });
  }
}

const asked = process.argv.slice(2);
const unknown = asked.filter((target) => !TARGETS.some((each) => each === target));
if (asked.length === 0 || unknown.length > 0)
  throw new Error(`name the images to build: ${TARGETS.join(", ")}`);
const scratch = mkdtempSync(join(tmpdir(), "mucast-images-"));
try {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const labels = labelArguments();
  buildBase(scratch);
  const volumes = machineFiles(scratch);
  for (const target of asked) tryImage(buildImage(target, version, labels, volumes));
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
