import { ROOT_CONTEXT, SpanKind, type Tracer, trace } from '@opentelemetry/api';
import { isSampled, NOT_SAMPLED } from '../../domain/trace.ts';
import type { JobState } from '../../domain/transition.ts';
import { AttemptTrace } from './attempt-trace.ts';
import { contextOf, operation, traceIn, Work } from './span.ts';

/** Time limit of `flush`: an exporter that does not reply must not delay the stop for longer. */
const FLUSH_MS = 2000;

/** A job as spans name it. Never with its payload, and never with the webhook's whole URL, which may have a secret. */
export interface TracedJob {
  id: string;
  accountId: string;
  queueId: string;
  queueName: string;
  /** Stored trace context of the publish; null if there is none. */
  trace: string | null;
  state: Pick<JobState, 'attempts' | 'deferCount' | 'interruptions'>;
}

export interface TracedPublish {
  /** The span; null if the SDK does not record it. */
  work: Work | null;
  /** The trace context that is stored with the job. */
  trace: string | null;
}

/** The reports of a client that end an attempt. */
type ReportName = 'ack' | 'nack' | 'defer';

/**
 * Makes the spans of this process, if its operator has loaded an OpenTelemetry SDK. A span gets its parent as an
 * argument and is never made the current one: requests and jobs wait in lists together, so the current context can be
 * that of another request.
 */
export class Tracing {
  readonly #tracer: Tracer;
  readonly #flush: () => Promise<unknown>;

  constructor(tracer: Tracer, flush: () => Promise<unknown> = async () => undefined) {
    this.#tracer = tracer;
    this.#flush = flush;
  }

  /** @param from trace context of the request; null if there is none */
  startPublish(account: { id: string }, queueName: string, from: string | null): TracedPublish {
    const attributes = {
      ...operation('publish', 'send'),
      'messaging.destination.name': queueName,
      'jobferry.account.id': account.id,
    };
    const options = { kind: SpanKind.PRODUCER, attributes };
    const span = this.#tracer.startSpan(`publish ${queueName}`, options, contextOf(from));
    if (span.isRecording()) return { work: new Work(span), trace: traceIn(span) };
    return { work: null, trace: from === null ? NOT_SAMPLED : traceIn(span) };
  }

  /**
   * Starts the spans of an attempt. The first attempt continues the trace of the publish. Each later one begins a trace
   * of its own that links to it: retries can come days later, and a trace of days is of no use.
   * @param claimedFrom `Date.now()` when the claim began; it ends now
   * @returns null if the publish was not sampled: asking the SDK again for each attempt would be most of what it costs
   */
  startAttempt(job: TracedJob, claimedFrom: number): AttemptTrace | null {
    if (job.trace !== null && !isSampled(job.trace)) return null;
    const { attempts, deferCount, interruptions } = job.state;
    const isFirst = attempts === 1 && deferCount === 0 && interruptions === 0;
    const published = contextOf(job.trace);
    const link = isFirst ? undefined : trace.getSpanContext(published);
    const attributes = {
      'messaging.system': 'jobferry',
      'messaging.destination.name': job.queueName,
      'messaging.message.id': job.id,
      'jobferry.queue.id': job.queueId,
      'jobferry.account.id': job.accountId,
      'jobferry.attempt': attempts,
    };
    const claim = this.#tracer.startSpan(
      `claim ${job.queueName}`,
      {
        kind: SpanKind.CONSUMER,
        startTime: claimedFrom,
        attributes: { ...attributes, ...operation('claim', 'receive') },
        links: link === undefined ? [] : [{ context: link }],
      },
      isFirst ? published : ROOT_CONTEXT,
    );
    claim.end();
    return new AttemptTrace(this.#tracer, claim, attributes);
  }

  /** @param from trace context of the request; without one, the span belongs to the trace of the publish */
  startReport(name: ReportName, job: Omit<TracedJob, 'queueName'>, from: string | null): Work {
    const attributes = {
      ...operation(name, 'settle'),
      'messaging.message.id': job.id,
      'jobferry.queue.id': job.queueId,
      'jobferry.account.id': job.accountId,
      'jobferry.attempt': job.state.attempts,
    };
    const options = { kind: SpanKind.SERVER, attributes };
    return new Work(this.#tracer.startSpan(`report ${name}`, options, contextOf(from ?? job.trace)));
  }

  /** Lets the SDK export the spans that it still has. Never rejects. */
  async flush(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, FLUSH_MS);
    });
    await Promise.race([this.#flush().catch(() => undefined), tooLong]);
    clearTimeout(timer);
  }
}
