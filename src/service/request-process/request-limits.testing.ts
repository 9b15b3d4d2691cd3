/** What tests of the process of a request give it if its limits and its signal do not matter. */
import { childEnvironment } from "../../processes/child-environment.ts";
import type { ProcessLimits } from "./run-process.ts";

export const LIMITS: ProcessLimits = {
  env: childEnvironment(process.env, {}),
  memoryBytes: 2 ** 30,
  seconds: 300,
  answerBytes: 2 ** 26,
};

export const NEVER = new AbortController().signal;
