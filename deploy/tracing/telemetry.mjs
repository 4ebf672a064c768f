/**
 * Exports Jobferry's spans over OTLP/HTTP. Load it before Jobferry: node --import ./telemetry.mjs …/dist/main.js serve
 *
 * OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS and the like are read by the exporter, OTEL_BSP_* by the processor.
 * TRACE_RATIO is the share of new traces that are sampled; 0.01 if it is not set.
 */
import { trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  SamplingDecision,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';

const ratio = new TraceIdRatioBasedSampler(Number(process.env.TRACE_RATIO ?? '0.01'));

/** A retry is a trace of its own, with a link to the trace of the publish. It is sampled if that one is. */
const byLink = {
  shouldSample(context, traceId, name, kind, attributes, links) {
    const [link] = links;
    if (link === undefined) return ratio.shouldSample(context, traceId, name, kind, attributes, links);
    const isSampled = (link.context.traceFlags & 1) === 1;
    return { decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD };
  },
  toString: () => `ByLink{${ratio}}`,
};

trace.setGlobalTracerProvider(
  new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME ?? 'jobferry' }),
    sampler: new ParentBasedSampler({ root: byLink }),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
  }),
);
