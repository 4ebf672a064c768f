import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { JobStatus } from '../../domain/job.ts';
import { parsedUrl } from '../../domain/parsed-url.ts';
import { operation, traceIn, Work } from './span.ts';

/** How a delivery ended. */
interface DeliveryEnd {
  outcome: 'accepted' | 'backpressure' | 'failed' | 'unsent' | 'abandoned';
  /** Status code of the answer; null without an answer. */
  statusCode: number | null;
  error: string | null;
}

/**
 * The spans of one attempt, in the order in which they are made:
 * those of delivery and settle are children of the claim.
 */
export class AttemptTrace {
  readonly #tracer: Tracer;
  readonly #claim: Span;
  readonly #attributes: Attributes;
  #delivery: Span | null = null;

  /** @param attributes of each of the spans */
  constructor(tracer: Tracer, claim: Span, attributes: Attributes) {
    this.#tracer = tracer;
    this.#claim = claim;
    this.#attributes = attributes;
  }

  /** The trace context of the attempt. */
  get trace(): string {
    return traceIn(this.#claim);
  }

  /** @returns the trace context for the request to the webhook */
  startDelivery(queueName: string, webhookUrl: string): string {
    // So an attempt that is not sampled costs one call of the SDK, and not three.
    if ((this.#claim.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return this.trace;
    const attributes = { ...operation('deliver', 'send'), 'http.request.method': 'POST', ...addressOf(webhookUrl) };
    this.#delivery = this.#child(`deliver ${queueName}`, SpanKind.CLIENT, attributes);
    return traceIn(this.#delivery);
  }

  endDelivery({ outcome, statusCode, error }: DeliveryEnd): void {
    const delivery = this.#delivery;
    if (delivery === null) return;
    delivery.setAttribute('jobferry.outcome', outcome);
    if (statusCode !== null) delivery.setAttribute('http.response.status_code', statusCode);
    if (outcome === 'failed') {
      delivery.setStatus({ code: SpanStatusCode.ERROR });
      delivery.setAttribute('error.type', statusCode === null ? (error ?? 'failed') : String(statusCode));
    }
    delivery.end();
  }

  /** Makes the span of the settle. @param status of the job after it */
  async settle(queueName: string, status: JobStatus, settling: Promise<void>): Promise<void> {
    if (this.#delivery === null) return settling;
    const attributes = { ...operation('settle', 'settle'), 'jobferry.status': status };
    return new Work(this.#child(`settle ${queueName}`, SpanKind.INTERNAL, attributes)).until(settling, () => ({}));
  }

  #child(name: string, kind: SpanKind, attributes: Attributes): Span {
    const parent = trace.setSpan(ROOT_CONTEXT, this.#claim);
    return this.#tracer.startSpan(name, { kind, attributes: { ...this.#attributes, ...attributes } }, parent);
  }
}

/** Not the rest of the URL, which can have a secret. */
function addressOf(webhookUrl: string): Attributes {
  const url = parsedUrl(webhookUrl);
  if (url === null) return {};
  const { hostname, port, protocol } = url;
  const usual = protocol === 'https:' ? 443 : 80;
  return { 'server.address': hostname, 'server.port': port === '' ? usual : Number(port) };
}
