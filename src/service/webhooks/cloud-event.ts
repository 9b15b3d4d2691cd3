import type { DueDelivery } from "./deliveries.ts";

/** The event of a delivery as it is sent: CloudEvents 1.0 in JSON, structured mode. */
export function cloudEvent({ operation_id, seq, event }: DueDelivery, source: string): string {
  return JSON.stringify({
    specversion: "1.0",
    id: eventId(operation_id, seq),
    source,
    type: `mucast.operation.${event!.type}`,
    subject: operation_id,
    time: event!.time.toISOString(),
    datacontenttype: "application/json",
    data: event!.data,
  });
}

/**
 * The same for every try, so that a receiver can tell what it has had. No full stop in it: those part the id from the
 * time and the body in what is signed.
 */
export function eventId(operationId: string, seq: number): string {
  return `${operationId}_${seq}`;
}
