import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { JobferryError } from '../../domain/errors.ts';
import { partsOf, traceFrom } from '../../domain/trace.ts';

/** A span that ends with a result or an error. */
export class Work {
  readonly #span: Span;

  constructor(span: Span) {
    this.#span = span;
  }

  /** Ends the span with the promise. @param attributesOf attributes that are known from the result */
  async until<T>(result: Promise<T>, attributesOf: (result: T) => Attributes): Promise<T> {
    try {
      const value = await result;
      this.end(attributesOf(value));
      return value;
    } catch (error) {
      this.end(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  /** @param outcome attributes of the result, or the error */
  end(outcome: Attributes | Error): void {
    if (!(outcome instanceof Error)) {
      this.#span.setAttributes(outcome).end();
      return;
    }
    // Not the message: that of an unexpected error could have a part of a payload.
    const kind = outcome instanceof JobferryError ? outcome.kind : outcome.name;
    this.#span.setStatus({ code: SpanStatusCode.ERROR, message: kind }).setAttributes({ 'error.type': kind }).end();
  }
}

/** Attributes by OpenTelemetry's conventions for messages. */
export function operation(name: string, type: 'send' | 'receive' | 'settle'): Attributes {
  return { 'messaging.system': 'jobferry', 'messaging.operation.name': name, 'messaging.operation.type': type };
}

/** @returns the context in which a span with this parent starts */
export function contextOf(stored: string | null): Context {
  if (stored === null) return ROOT_CONTEXT;
  const { traceId, spanId, flags, state } = partsOf(stored);
  const traceState = state === '' ? {} : { traceState: createTraceState(state) };
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true, ...traceState });
}

/** @returns the trace context of a span, as it is stored */
export function traceIn(span: Span): string {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  return traceFrom({ traceId, spanId, flags: traceFlags, state: traceState?.serialize() ?? '' });
}
