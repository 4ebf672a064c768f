import type { SchemaType } from '../../../schema/types.ts';
import { ago, many, seconds, span, time, upperFirst, type View } from '../../../words/format.ts';
import type { NewAlert } from '../../../words/new-alert.ts';
import type { IconName, Signal, Word } from '../../../words/words.ts';
import { draftOfTarget, FIRST_TARGET, inputOfTarget, type Target, type TargetDraft } from './target.ts';

/** Alert rules in words. */

export type AlertKind = SchemaType<'AlertKind'>;

interface KindWords {
  label: string;
  /** Whether it watches queues, and whether it counts what was of late. */
  ofQueues: boolean;
  hasWindow?: boolean;
  /** The meaning of its number, and the default; null for a kind without a number. */
  threshold: { label: string; byDefault: string } | null;
}

const SECONDS = 'Seconds';
const PERCENT = 'Percent';

/** In the order of the list. */
export const ALERT_KINDS: Readonly<Record<AlertKind, KindWords>> = {
  OLDEST_DUE: { label: 'A job waits too long', ofQueues: true, threshold: { label: SECONDS, byDefault: '300' } },
  DEAD_LETTERS: {
    label: 'Jobs die',
    ofQueues: true,
    hasWindow: true,
    threshold: { label: 'Dead letters', byDefault: '1' },
  },
  FAILURE_SHARE: {
    label: 'Attempts fail',
    ofQueues: true,
    hasWindow: true,
    threshold: { label: PERCENT, byDefault: '50' },
  },
  HOLD: { label: 'A hold lasts', ofQueues: true, threshold: { label: SECONDS, byDefault: '600' } },
  BREAKER: { label: 'A breaker is open', ofQueues: true, threshold: { label: SECONDS, byDefault: '60' } },
  SIGNATURE_REJECTED: {
    label: 'Signatures are rejected',
    ofQueues: true,
    hasWindow: true,
    threshold: { label: PERCENT, byDefault: '5' },
  },
  SLOW_RECEIVER: {
    label: 'A receiver is slow',
    ofQueues: true,
    hasWindow: true,
    threshold: { label: SECONDS, byDefault: '5' },
  },
  NO_WORKER: { label: 'No worker runs', ofQueues: false, threshold: null },
  USAGE: { label: 'The plan is used up', ofQueues: false, threshold: { label: PERCENT, byDefault: '80' } },
};

export interface RuleFacts {
  kind: AlertKind;
  threshold: number | null;
  windowSeconds: number | null;
  queue: { name: string } | null;
}

/** "A job of orders is due for more than 5 min." */
export function sentenceOfRule({ kind, threshold, windowSeconds, queue }: RuleFacts): string {
  const limit = threshold ?? 0;
  const name = queue?.name ?? 'any queue';
  const within = seconds(windowSeconds ?? 0);
  switch (kind) {
    case 'OLDEST_DUE':
      return `A job of ${name} is due for more than ${seconds(limit)}.`;
    case 'DEAD_LETTERS':
      return `${upperFirst(many(limit, 'job'))} of ${name} ${limit === 1 ? 'dies' : 'die'} within ${within}.`;
    case 'FAILURE_SHARE':
      return `${limit} % of the attempts of ${name} fail within ${within}.`;
    case 'HOLD':
      return `${upperFirst(name)} is held for more than ${seconds(limit)}.`;
    case 'BREAKER':
      return `The breaker of ${name} is open for more than ${seconds(limit)}.`;
    case 'SIGNATURE_REJECTED':
      return `${limit} % of the answers to ${name} are 401 within ${within}.`;
    case 'SLOW_RECEIVER':
      return `One delivery in twenty of ${name} takes more than ${seconds(limit)}, within ${within}.`;
    case 'NO_WORKER':
      return 'No worker runs.';
    default:
      return `${limit} % of the attempts of the plan are used this month.`;
  }
}

type Evaluated = Parameters<typeof doubtOfRule>[0];

/** The head of the page. @param rules null while they are not known */
export function headOfAlerts(
  rules: readonly (Evaluated & { firing: readonly unknown[] })[] | null,
  view: View,
): {
  h1: string;
  icon: IconName;
  signal: Signal;
} {
  if (rules === null) return { h1: 'Alerts', icon: 'failing', signal: 'idle' };
  const firing = rules.reduce((sum, rule) => sum + rule.firing.length, 0);
  if (firing > 0) {
    const h1 = `${many(firing, 'alert is', 'alerts are')} firing.`;
    return { h1, icon: 'failing', signal: 'bad' };
  }
  if (rules.length === 0) return { h1: 'Nothing is watched yet.', icon: 'info', signal: 'idle' };
  // A rule that is not evaluated cannot fire.
  const doubtful = rules.filter((rule) => doubtOfRule(rule, view) !== null).length;
  if (doubtful > 0) {
    const h1 = `No alert is firing, but ${many(doubtful, 'rule is', 'rules are')} not evaluated.`;
    return { h1, icon: 'info', signal: 'warn' };
  }
  return { h1: 'No alert is firing.', icon: 'done', signal: 'ok' };
}

/** An evaluation is at most some seconds old while a process evaluates. */
const STALE_MS = 120_000;
/** A new rule waits for the next evaluation. */
const NEW_MS = 60_000;

/** Why a rule may not do what it should; null if nothing is known against it. */
export function doubtOfRule(
  { createdAt, evaluatedAt, problem }: { createdAt: string; evaluatedAt: string | null; problem: string | null },
  { now }: View,
): string | null {
  if (problem !== null) return upperFirst(problem);
  if (evaluatedAt === null) return now - Date.parse(createdAt) > NEW_MS ? 'Not evaluated yet' : null;
  const age = now - Date.parse(evaluatedAt);
  return age > STALE_MS ? `Not evaluated for ${span(age)}` : null;
}

interface Notified {
  sentAt: string | null;
  failedAt: string | null;
  attempts: number;
  error: string | null;
}

/** The outcome of a rule's last notification. */
export function wordOfNotification(last: Notified | null, view: View): Word {
  if (last === null) return { word: 'nothing sent yet', icon: 'idle', signal: 'idle' };
  if (last.sentAt !== null) return { word: `sent ${ago(Date.parse(last.sentAt), view)}`, icon: 'done', signal: 'ok' };
  const why = last.error === null ? '' : `: ${last.error}`;
  if (last.failedAt !== null) return { word: `given up${why}`, icon: 'failed', signal: 'bad' };
  if (last.attempts === 0) return { word: 'being sent', icon: 'send', signal: 'run' };
  return { word: `tried ${many(last.attempts, 'time')}${why}`, icon: 'retrying', signal: 'warn' };
}

/** How long a rule can be silenced here. */
export const SILENCES = [
  ['1 hour', 3_600_000],
  ['8 hours', 8 * 3_600_000],
  ['1 day', 86_400_000],
  ['7 days', 7 * 86_400_000],
] as const;

/** "until 12:04:11"; null if the rule is not silenced. */
export function silenceOf(silencedUntil: string | null, view: View): string | null {
  const until = silencedUntil === null ? Number.NaN : Date.parse(silencedUntil);
  return until > view.now ? `until ${time(until, view)}` : null;
}

/** Windows in seconds. Statistics have a resolution of five minutes. */
export const WINDOWS = Array.from({ length: 12 }, (_, n) => 300 * (n + 1));

export const FIRST_RULE: RuleDraft = {
  ...{ kind: 'OLDEST_DUE', queueId: '', threshold: '300', windowSeconds: 900, forSeconds: '60' },
  ...FIRST_TARGET,
};

/** The rule that another page proposes. */
export function draftOfAlert({ kind, queue, threshold }: NewAlert): RuleDraft {
  const byDefault = ALERT_KINDS[kind].threshold?.byDefault ?? '';
  return { ...FIRST_RULE, kind, queueId: queue?.id ?? '', threshold: threshold?.toString() ?? byDefault };
}

/** A rule as the dialog shows it. */
export function draftOfRule(rule: {
  kind: AlertKind;
  queue: { id: string } | null;
  threshold: number | null;
  windowSeconds: number | null;
  forSeconds: number;
  target: Target;
}): RuleDraft {
  const { kind, queue, threshold, windowSeconds, forSeconds, target } = rule;
  return {
    ...draftOfTarget(target),
    ...{ kind, queueId: queue?.id ?? '', threshold: threshold?.toString() ?? '' },
    ...{ windowSeconds: windowSeconds ?? FIRST_RULE.windowSeconds, forSeconds: String(forSeconds) },
  };
}

export interface RuleDraft extends TargetDraft {
  kind: AlertKind;
  queueId: string;
  threshold: string;
  windowSeconds: number;
  forSeconds: string;
}

/** The input of the mutation that creates a rule. */
export function inputOfRule(draft: RuleDraft) {
  const { kind, queueId } = draft;
  return { kind, queueId: ALERT_KINDS[kind].ofQueues && queueId !== '' ? queueId : null, ...inputOfChange(draft) };
}

/** The input of the mutation that changes a rule. */
export function inputOfChange(draft: RuleDraft) {
  const { kind, threshold, windowSeconds, forSeconds } = draft;
  const { threshold: has, hasWindow } = ALERT_KINDS[kind];
  return {
    // The server refuses text that is not a number, and explains the limits.
    threshold: has === null || threshold.trim() === '' ? null : Number(threshold) || 0,
    windowSeconds: hasWindow === true ? windowSeconds : null,
    forSeconds: forSeconds.trim() === '' ? null : wholeOf(forSeconds),
    target: inputOfTarget(draft),
  };
}

/** Returns -1 for text that is not an integer; the server then explains the limits. */
function wholeOf(text: string): number {
  const number = Number(text);
  return Number.isInteger(number) && Math.abs(number) < 1e9 ? number : -1;
}
