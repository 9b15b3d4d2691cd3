export const JOB_OPERATIONS = ["run_ml_job", "run_dl_job"] as const;
export type Operation = (typeof JOB_OPERATIONS)[number];

/** Operations that write a verdict: an audit of a job's inputs, and a replay of its output. Both run jobs. */
export const VERDICT_OPERATIONS = ["audit", "replay"] as const;
export type VerdictOperation = (typeof VERDICT_OPERATIONS)[number];

export const SUBMITTED_OPERATIONS = [...JOB_OPERATIONS, ...VERDICT_OPERATIONS] as const;
export type SubmittedOperation = (typeof SUBMITTED_OPERATIONS)[number];
