import type { StoredEventType } from "../../contract/api/stored-event.ts";
import type { WebhookTarget } from "../../contract/settings.ts";

/** Which of the operator's targets want which events. */
export interface WebhookTypes {
  /** Names of targets. */
  targetsOf(type: StoredEventType): readonly string[];
}

export function webhookTypes(targets: readonly WebhookTarget[]): WebhookTypes {
  return {
    targetsOf: (type) => targets.filter(({ types }) => types.includes(type)).map(({ name }) => name),
  };
}
