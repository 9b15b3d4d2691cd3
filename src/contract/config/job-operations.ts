/** The two jobs, by the names of their operations. */
export const JOB_OPERATIONS = ["run_ml_job", "run_dl_job"] as const;
export type Operation = (typeof JOB_OPERATIONS)[number];

/** Operations that leave a verdict: an audit of the inputs of a job, and a replay of its output. Both run jobs. */
export const VERDICT_OPERATIONS = ["audit", "replay"] as const;
export type VerdictOperation = (typeof VERDICT_OPERATIONS)[number];

/** Every operation that a caller submits and that then waits, runs and ends; tables by it lack none. */
export const SUBMITTED_OPERATIONS = [...JOB_OPERATIONS, ...VERDICT_OPERATIONS] as const;
export type SubmittedOperation = (typeof SUBMITTED_OPERATIONS)[number];
