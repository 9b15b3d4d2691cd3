import { childEnvironment } from "../../processes/child-environment.ts";
import type { Storage } from "../blobs/open-storage.ts";
import type { ServiceSettings } from "../settings/load-settings.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { RequestProcesses } from "./request-processes.ts";

/** Bytes of a page. */
const MAX_ANSWER = 64 * 2 ** 20;

interface OpenParts {
  readonly settings: ServiceSettings;
  readonly env: NodeJS.ProcessEnv;
  readonly storage: Pick<Storage, "folder">;
  readonly log: Log;
  readonly telemetry: Pick<Telemetry, "requestProcessEnded">;
}

/** The request processes, within the limits of the settings; none is running yet. */
export function openProcesses({ settings, env, storage, log, telemetry }: OpenParts): RequestProcesses {
  const azure = storage.folder === undefined;
  const limits = () => ({
    env: childEnvironment(env, { azure }),
    memoryBytes: settings.request_memory_bytes,
    seconds: settings.request_seconds,
    answerBytes: MAX_ANSWER,
  });
  return new RequestProcesses({ atOnce: settings.request_processes, limits, log, telemetry });
}
