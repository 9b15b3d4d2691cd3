import { MucastError } from "./errors.ts";

/** The cause of a failed file operation as a phrase, such as "no space left on the device (ENOSPC)". */
export function causeOf(error: unknown): string {
  const code = codeOf(error);
  if (code === undefined) return error instanceof Error ? error.message : String(error);
  return `${CAUSES[code] ?? "the system refused"} (${code})`;
}

export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

const CAUSES: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left on the device",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would exceed the size limit",
  ENOENT: "it does not exist",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "it is a folder",
  EEXIST: "it exists already",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "a symbolic link cannot be followed there",
  EMFILE: "too many open files",
  EIO: "the device failed",
  ENXIO: "it is a socket, or a device that is not there",
  EADDRINUSE: "another process listens there",
  EADDRNOTAVAIL: "it is not an address of this machine",
  ENOTFOUND: "no such host is known",
};

/** The error of a file in a job's work folder, if that was removed, its disk is full, or descriptors have run out. */
export function workFolderError(doing: "read" | "written", cause: unknown): MucastError {
  const hint = doing === "written" ? "; TMPDIR names another place" : "";
  return new MucastError(
    "output_failed",
    `the work folder of the job cannot be ${doing}: ${causeOf(cause)}${hint}`,
    {},
    { cause },
  );
}
