import type { ResultOf } from '../../../../query/schema/graphql.ts';
import type { SchemaType } from '../../../../query/schema/types.ts';
import { many, number, seconds } from '../../../../query/words/format.ts';
import type { Templates } from '../operations.ts';

/** The answers of the form that creates a queue, and the input of `createQueue` that they mean. */

/** Where settings come from that are not given. */
export type Start = 'defaults' | 'copy' | `template:${string}`;

type NewQueueInput = SchemaType<'CreateQueueInput'>;

/** Numbers before the first job; the rest is in the settings of the queue. */
export const LIMITS = [
  { name: 'concurrency', label: 'Concurrency', hint: 'Jobs in flight at the same time' },
  { name: 'rateLimitMax', label: 'Rate limit', hint: 'Deliveries per window, retries included' },
  { name: 'rateLimitWindow', label: 'Window in seconds', hint: 'Together with a rate limit' },
  { name: 'maxAttempts', label: 'Attempts', hint: 'Then a job is dead' },
] as const;
type LimitName = (typeof LIMITS)[number]['name'];

/** The settings that a start gives. */
export type Template = ResultOf<typeof Templates>['queueTemplates'][number];

export const startOf = (name: string | null): Start => (name === null ? 'defaults' : `template:${name}`);

/** A setting as the field that may replace it shows it. */
export const valueText = (value: number | null) => (value === null ? 'no limit' : String(value));

/** "5 at a time, no rate limit. 3 attempts, exponential back-off from 2 s. At most 50 holds for backpressure. …" */
export function textOfTemplate(template: Omit<Template, 'name'>): string {
  const { mode, ackTimeout, ackTimeoutAction, rateLimitMax, backoffType } = template;
  const end = ackTimeoutAction === 'RETRY' ? 'the attempt has failed' : 'the job is dead';
  const limit =
    rateLimitMax === null
      ? 'no rate limit'
      : `${many(rateLimitMax, 'delivery', 'deliveries')} in ${seconds(template.rateLimitWindow)}`;
  return [
    ...(mode === 'ACK' ? [`A report within ${seconds(ackTimeout)}, else ${end}.`] : []),
    `${number(template.concurrency)} at a time, ${limit}.`,
    `${many(template.maxAttempts, 'attempt')}, ${backoffType === 'FIXED' ? 'a fixed back-off of' : 'exponential back-off from'} ${seconds(template.backoffDelay)}.`,
    `At most ${many(template.maxDefers, 'hold')} for backpressure.`,
    template.dlqEnabled ? 'Dead letters are kept.' : 'No dead letters.',
  ].join(' ');
}

/** @param answers texts of the form by name @param copied the queue that is copied */
export function newQueueInput(
  start: Start,
  answers: Readonly<Record<string, string>>,
  copied: { id: string; webhookUrl: string } | null,
): { input: NewQueueInput } | { problems: ReadonlyMap<string, string> } {
  const problems = new Map<string, string>();
  const limits: Partial<Record<LimitName, number>> = {};
  for (const { name } of LIMITS) {
    const text = (answers[name] ?? '').trim();
    if (text === '') continue;
    if (!(name === 'rateLimitWindow' ? /^\d+(\.\d+)?$/ : /^\d+$/).test(text)) {
      problems.set(name, name === 'rateLimitWindow' ? 'must be a number' : 'must be a whole number');
    }
    limits[name] = Number(text);
  }
  if (start === 'copy' && copied === null) problems.set('copyOf', 'must be the name of a queue');
  if (problems.size > 0) return { problems };
  const { name = '', webhookUrl = '', mode = '' } = answers;
  return {
    input: {
      name: name.trim(),
      webhookUrl: webhookUrl.trim() || (copied?.webhookUrl ?? ''),
      ...(mode === 'ACK' || mode === 'STANDARD' ? { mode } : {}),
      ...limits,
      ...(start.startsWith('template:') && { template: start.slice('template:'.length) }),
      ...(start === 'copy' && copied !== null && { copyOf: copied.id }),
    },
  };
}
