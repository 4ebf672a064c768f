import { type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { Tracing } from './tracing.ts';

/** The parts of the API's own provider and of an SDK's provider that the interface does not promise. */
interface Provider extends TracerProvider {
  /** Only of the API's provider. Returns undefined while no SDK is registered. */
  getDelegateTracer?(name: string, version: string): Tracer | undefined;
  getDelegate?(): TracerProvider;
  forceFlush?(): Promise<void>;
}

/**
 * @returns null if no OpenTelemetry SDK is registered; then nothing of a trace is made in this process. Trace contexts
 *   of publishes are stored and sent to webhooks all the same
 */
export function openTracing(version: string): Tracing | null {
  const provider: Provider = trace.getTracerProvider();
  const tracer = provider.getDelegateTracer?.('jobferry', version);
  if (tracer === undefined) return null;
  const sdk: Provider = provider.getDelegate?.() ?? provider;
  return new Tracing(tracer, async () => sdk.forceFlush?.());
}
