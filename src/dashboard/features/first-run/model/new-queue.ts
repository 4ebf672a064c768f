import type { SchemaType } from '../../../schema/types.ts';

/** The answers of the form that makes a queue, and the input of `createQueue` that they mean. */

/** Where settings come from that are not given. */
export type Start = 'defaults' | 'copy' | `template:${string}`;

export type NewQueueInput = SchemaType<'CreateQueueInput'>;

/** Numbers before the first job; the rest is in the settings of the queue. */
export const LIMITS = [
  { name: 'concurrency', label: 'At once', hint: 'Jobs in flight at the same time', usual: '5' },
  { name: 'rateLimitMax', label: 'Rate limit, deliveries', hint: 'Empty: no limit', usual: 'no limit' },
  { name: 'rateLimitWindow', label: 'per so many seconds', hint: 'Together with a rate limit', usual: '60' },
  { name: 'maxAttempts', label: 'Attempts', hint: 'Then a job is dead', usual: '3' },
] as const;
export type LimitName = (typeof LIMITS)[number]['name'];

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
