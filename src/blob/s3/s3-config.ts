import type { S3ClientConfig } from "@aws-sdk/client-s3";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { MucastError } from "../../contract/errors/errors.ts";
import type { TransferLimits } from "../policy.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** The region, endpoint, credentials and retries of S3, from the variables that the AWS SDK reads. @throws MucastError invalid_request. */
export function readS3Config(env: Env, { attempts }: TransferLimits): S3ClientConfig {
  const endpoint = env.AWS_ENDPOINT_URL_S3?.trim() || env.AWS_ENDPOINT_URL?.trim() || undefined;
  const region = env.AWS_REGION?.trim() || env.AWS_DEFAULT_REGION?.trim() || undefined;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = env;
  const { AWS_SESSION_TOKEN: sessionToken } = env;
  const hasKeys = accessKeyId && secretAccessKey && !env.AWS_PROFILE;
  return {
    // Otherwise the SDK looks for both in the configuration files of AWS.
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint, region: region ?? "us-east-1" }),
    forcePathStyle: isPathStyle(env, endpoint),
    // Without keys in the environment, those that the chain of the SDK finds at its first use.
    credentials: hasKeys
      ? { accessKeyId, secretAccessKey, ...(sessionToken ? { sessionToken } : {}) }
      : defaultProvider(),
    maxAttempts: attempts,
    retryMode: "standard",
    // The agent of a request that waits for a 100 is not ours.
    expectContinueHeader: false,
    // Reads compare ranges and entity tags instead, and have no checksum of a range.
    responseChecksumValidation: "WHEN_REQUIRED",
  };
}

/** Most servers other than AWS know no buckets in host names. */
function isPathStyle({ MUCAST_S3_PATH_STYLE }: Env, endpoint: string | undefined): boolean {
  const text = MUCAST_S3_PATH_STYLE?.trim().toLowerCase() ?? "";
  if (text === "") return endpoint !== undefined;
  if (text === "true" || text === "false") return text === "true";
  throw unfit(`MUCAST_S3_PATH_STYLE must be true or false, got ${text.slice(0, 20)}`, "MUCAST_S3_PATH_STYLE");
}

export function unfit(message: string, path: string): MucastError {
  const advice = "give AWS_REGION, or AWS_ENDPOINT_URL for a server other than AWS";
  return new MucastError("invalid_request", `${message}; ${advice}`, { path });
}
