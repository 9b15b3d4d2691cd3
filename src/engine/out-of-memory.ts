import { MucastError } from "../contract/errors.ts";

/** What a job held when it was ended for it, in bytes. */
export interface MemoryFacts {
  readonly held: number;
  /** Of all jobs together. */
  readonly limit: number;
  /** Of this job, with those that ran beside it. */
  readonly share: number;
  /** How many jobs shared the limit, this one among them. */
  readonly jobs: number;
  /** What they held together with the process that waits for a job. */
  readonly together: number;
}

const MIB = 2 ** 20;

export function mib(bytes: number): string {
  return `${Math.round(bytes / MIB)} MiB`;
}

/** The error of a job that was ended because of the memory that its processes held. */
export function outOfMemory({ held, limit, share, jobs, together }: MemoryFacts): MucastError {
  const alone = jobs === 1 && together === held;
  const message = alone
    ? `the job's processes held ${mib(held)} of memory, over the limit of ${mib(limit)}`
    : `the job's processes held ${mib(held)} of memory, and all job processes together ${mib(together)}, over the ` +
      `limit of ${mib(limit)}; its share was ${mib(share)}, as one of ${jobs}`;
  return new MucastError("out_of_memory", message, {
    held_bytes: held,
    limit_bytes: limit,
    share_bytes: Math.floor(share),
    jobs,
  });
}
