/** The parts of an audit of both blobs, in the order in which they run. */
export const BLOB_CHECKS = ["truncation", "restatement", "foresight", "skill"] as const;

/** All parts. If there is a price CSV, the check of its preparation comes first. */
export const AUDIT_CHECKS = ["preparation", ...BLOB_CHECKS] as const;
export type AuditCheckName = (typeof AUDIT_CHECKS)[number];
