/** Runs a program as a pod of infra/kubernetes runs it, as far as namespaces of this machine allow. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findEnvironment } from "../../src/engine/environment/environment.ts";

/**
 * In its own mount and host name namespaces: makes everything read-only except the folder above TMPDIR and the kernel's file systems, and
 * then drops all privileges. `$1` is the host's name; `$2` the user, empty to keep the current one.
 */
const CONFINE = `
  set -e
  folder=$(dirname "$TMPDIR")
  hostname "$1"
  user=$2
  shift 2
  mount --make-rprivate /
  mount --bind "$folder" "$folder"
  while read -r _ _ _ _ point _; do
    case $point in
      "$folder" | /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) ;;
      *) mount -o remount,bind,ro "$point" ;;
    esac
  done < /proc/self/mountinfo
  if [ -n "$user" ]; then
    chown -R "$user:$user" "$folder"
    set -- --reuid "$user" --regid "$user" --clear-groups "$@"
  fi
  exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$@"
`;

/** Root becomes the user of the image, as in the manifests, if that user may read the checkout and run its Python. */
const WAYS = [
  { namespace: ["--mount", "--uts"], user: "1000" },
  { namespace: ["--mount", "--uts"], user: "" },
  { namespace: ["--user", "--map-root-user", "--mount", "--uts"], user: "" },
] as const;

function wordsOf({ namespace, user }: (typeof WAYS)[number], host: string): readonly string[] {
  return ["unshare", ...namespace, "sh", "-c", CONFINE, "sh", host, user];
}

const { python } = findEnvironment("ml");
const PROBE = [
  "sh",
  "-c",
  '"$1" -e "" && cat package.json >/dev/null && "$2" -c ""',
  "sh",
  process.execPath,
  python,
];

/** The first method that works here; undefined if none does. */
const way = WAYS.find((each) => {
  const folder = mkdtempSync(join(tmpdir(), "mucast-confined-"));
  mkdirSync(join(folder, "tmp"));
  const [command, ...args] = [...wordsOf(each, "probe"), ...PROBE];
  const { status } = spawnSync(command!, args, {
    env: { PATH: process.env.PATH, TMPDIR: join(folder, "tmp") },
  });
  rmSync(folder, { recursive: true });
  return status === 0;
});

/** Why nothing can be confined here; false if it can. */
export const unconfined = way === undefined && "NO NAMESPACE CAN BE MADE HERE: no read-only root is tried";

/**
 * The command prefix that confines a program: a read-only root except the folder above TMPDIR, no capability, no new privileges, user 1000
 * if possible, and its own host name, so that services take each other for services on other machines.
 */
export function confined(host: string): readonly string[] {
  if (way === undefined) throw new Error(String(unconfined));
  return wordsOf(way, host);
}
