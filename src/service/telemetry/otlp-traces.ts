import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from "@opentelemetry/sdk-trace";
import { MUCAST_VERSION } from "../../contract/version.ts";
import type { Log } from "./log.ts";
import { recordOperation, recordRequest } from "./spans.ts";
import type { Traces } from "./traces.ts";

/** At the end spans are waited for this long, whatever their receiver does. */
const CLOSE_MILLISECONDS = 3_000;

/**
 * Spans over OTLP/HTTP (JSON) to where OTEL_EXPORTER_OTLP_ENDPOINT says, with the headers, time limits and resource that
 * the other variables of OpenTelemetry give. A receiver that is away costs its spans and nothing else.
 */
export function otlpTraces(log: Log): Traces {
  const env = detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] });
  const resource = defaultResource()
    .merge(resourceFromAttributes({ "service.name": "mucast", "service.version": MUCAST_VERSION }))
    .merge(env);
  const processor = new BatchSpanProcessor({
    exporter: telling(new OTLPTraceExporter(), log),
    scheduledDelayMillis: scheduleDelay(process.env.OTEL_BSP_SCHEDULE_DELAY),
  });
  const provider = new TracerProvider({ resource, spanProcessors: [processor] });
  const tracer = provider.getTracer("mucast", MUCAST_VERSION);
  return {
    request: (request) => recordRequest(tracer, request),
    operation: (operation, timings) => recordOperation(tracer, operation, timings),
    close: () => closed(provider, log),
  };
}

/** The SDK reads this variable of OpenTelemetry in its whole distributions alone. Milliseconds, 5 s by default. */
function scheduleDelay(text: string | undefined): number {
  return /^[1-9]\d{0,6}$/.test(text ?? "") ? Number(text) : 5_000;
}

/** Tells once when spans can no longer be sent, and once when they can again. */
function telling(exporter: SpanExporter, log: Log): SpanExporter {
  let failing = false;
  return {
    export: (spans, done) =>
      exporter.export(spans, (result) => {
        if (result.error && !failing) log.warn({ err: result.error }, "traces cannot be sent");
        if (!result.error && failing) log.info({}, "traces are sent again");
        failing = result.error !== undefined;
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

async function closed(provider: TracerProvider, log: Log): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`not sent within ${CLOSE_MILLISECONDS} ms`)),
      CLOSE_MILLISECONDS,
    );
  });
  try {
    await Promise.race([provider.shutdown(), late]);
  } catch (error) {
    log.warn({ err: error }, "the last traces were not sent");
  } finally {
    clearTimeout(timer);
  }
}
