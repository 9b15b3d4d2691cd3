import { statfsSync } from "node:fs";

/** Linux's numbers of file systems that only one machine uses. */
const LOCAL_TYPES: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x2fc12fc1, // zfs
  0xf2f52010, // f2fs
  0xca451a4e, // bcachefs
  0x01021994, // tmpfs
  0x794c7630, // overlay
]);

/**
 * Whether other machines may write to a folder: false for the usual local file systems of Linux, and on other systems, whose numbers
 * are unknown.
 */
export function isShared(folder: string): boolean {
  return process.platform === "linux" && !LOCAL_TYPES.has(statfsSync(folder).type >>> 0);
}
