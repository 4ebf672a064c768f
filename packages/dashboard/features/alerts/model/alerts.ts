import type { SchemaType } from '../../../../query/schema/types.ts';
import { ago, many, seconds, span, time, upperFirst, type View } from '../../../../query/words/format.ts';
import type { IconName, Signal, Word } from '../../../../query/words/words.ts';
import type { NewAlert } from '../../../words/new-alert.ts';
import { draftOfTarget, FIRST_TARGET, inputOfTarget, type Target, type TargetDraft } from './target.ts';

/** Alert rules in words. */

export type AlertKind = SchemaType<'AlertKind'>;

interface KindWords {
  /** The condition, as it goes on after "Alert when". */
  label: string;
  /** Whether it watches queues, and whether it counts what was of late. */
  ofQueues: boolean;
  hasWindow?: boolean;
  /** The words before its number, its unit and its default; null for a kind without a number. */
  threshold: { label: string; unit: 's' | '\u00a0%' | ''; byDefault: number } | null;
}

const longerThan = (byDefault: number) => ({ label: 'longer than', unit: 's', byDefault }) as const;
const atLeast = (byDefault: number, unit: '\u00a0%' | '' = '\u00a0%') => ({ label: 'at least', unit, byDefault });

/** In the order of the list. */
export const ALERT_KINDS: Readonly<Record<AlertKind, KindWords>> = {
  OLDEST_DUE: { label: 'a due job waits', ofQueues: true, threshold: longerThan(300) },
  DEAD_LETTERS: { label: 'jobs die', ofQueues: true, hasWindow: true, threshold: atLeast(1, '') },
  FAILURE_SHARE: { label: 'attempts fail', ofQueues: true, hasWindow: true, threshold: atLeast(50) },
  HOLD: { label: 'a hold lasts', ofQueues: true, threshold: longerThan(600) },
  BREAKER: { label: 'a breaker is open', ofQueues: true, threshold: longerThan(60) },
  SIGNATURE_REJECTED: { label: 'signatures are rejected', ofQueues: true, hasWindow: true, threshold: atLeast(5) },
  SLOW_RECEIVER: { label: '5\u00a0% of deliveries take', ofQueues: true, hasWindow: true, threshold: longerThan(5) },
  NO_WORKER: { label: 'no worker is running', ofQueues: false, threshold: null },
  USAGE: { label: 'usage of the plan is', ofQueues: false, threshold: atLeast(80) },
};

interface RuleFacts {
  kind: AlertKind;
  threshold: number | null;
  windowSeconds: number | null;
  queue: { name: string } | null;
}

/** "A due job in orders waits longer than 5 min." */
export function sentenceOfRule({ kind, threshold, windowSeconds, queue }: RuleFacts): string {
  const limit = threshold ?? 0;
  const name = queue?.name ?? 'any queue';
  const within = `within ${seconds(windowSeconds ?? 0)}.`;
  const longer = `longer than ${seconds(limit)}`;
  const share = `At least ${limit}\u00a0% of`;
  switch (kind) {
    case 'OLDEST_DUE':
      return `A due job in ${name} waits ${longer}.`;
    case 'DEAD_LETTERS':
      return `At least ${many(limit, 'job')} in ${name} ${limit === 1 ? 'dies' : 'die'} ${within}`;
    case 'FAILURE_SHARE':
      return `${share} attempts in ${name} fail ${within}`;
    case 'HOLD':
      return `A hold of ${name} lasts ${longer}.`;
    case 'BREAKER':
      return `The breaker of ${name} is open for ${longer}.`;
    case 'SIGNATURE_REJECTED':
      return `${share} answers to ${name} are 401 ${within}`;
    case 'SLOW_RECEIVER':
      return `5\u00a0% of deliveries in ${name} take ${longer} ${within}`;
    case 'NO_WORKER':
      return 'No worker is running.';
    default:
      return `${share} the plan’s attempts are used this month.`;
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
  if (rules.length === 0) return { h1: 'No alert rules yet.', icon: 'info', signal: 'idle' };
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

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of a text with units, such as "90 s", "5 min" or "1h 30m"; NaN for other texts. 0 needs no unit. */
export function secondsIn(text: string): number {
  if (Number(text) === 0) return 0;
  let sum = 0;
  // One time, or else a character that belongs to none.
  for (const [, value, unit = ''] of text.matchAll(/([\d.]+)\s*([smhd])(?:in|ec)?(?![a-z])|\S/gi)) {
    sum += Number(value) * (UNITS[unit.toLowerCase()] ?? Number.NaN);
  }
  // A text too long for a number is too long for the server, which returns the limit.
  return Math.min(sum, 1e9);
}

/** A time as the dialog shows it. The two largest units are not always all of it. */
const textOfTime = (value: number) => (secondsIn(seconds(value)) === value ? seconds(value) : `${value}\u00a0s`);

/** The number of a rule as the dialog shows it. */
export function textOfThreshold(kind: AlertKind, value?: number | null): string {
  const { threshold } = ALERT_KINDS[kind];
  if (threshold === null) return '';
  const shown = value ?? threshold.byDefault;
  return threshold.unit === 's' ? textOfTime(shown) : shown + threshold.unit;
}

export const FIRST_RULE: RuleDraft = {
  kind: 'OLDEST_DUE',
  queueId: '',
  threshold: textOfThreshold('OLDEST_DUE'),
  windowSeconds: 900,
  forSeconds: textOfTime(60),
  ...FIRST_TARGET,
};

/** The rule that another page proposes. */
export function draftOfAlert({ kind, queue, threshold }: NewAlert): RuleDraft {
  return { ...FIRST_RULE, kind, queueId: queue?.id ?? '', threshold: textOfThreshold(kind, threshold) };
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
    kind,
    queueId: queue?.id ?? '',
    threshold: textOfThreshold(kind, threshold),
    windowSeconds: windowSeconds ?? FIRST_RULE.windowSeconds,
    forSeconds: textOfTime(forSeconds),
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
    threshold: has === null ? null : numberIn(threshold, has.unit === 's'),
    windowSeconds: hasWindow === true ? windowSeconds : null,
    forSeconds: numberIn(forSeconds, true),
    target: inputOfTarget(draft),
  };
}

/** Null for an empty text, and NaN for a time that is none. For other texts the server returns the limits. */
function numberIn(text: string, isTime: boolean): number | null {
  if (text.trim() === '') return null;
  return isTime ? secondsIn(text) : Number(text.replace('%', '')) || 0;
}

/** Times that are none, by field: the server would not get what was typed. */
export function problemsOfRule(draft: RuleDraft): ReadonlyMap<string, string> {
  const { threshold, forSeconds } = inputOfChange(draft);
  const problems = new Map<string, string>();
  const problem = 'Write a time with its unit, such as 90 s, 5 min or 1 h.';
  if (Number.isNaN(threshold)) problems.set('threshold', problem);
  // The server takes whole seconds.
  if ((forSeconds ?? 0) % 1 !== 0) problems.set('forSeconds', problem);
  return problems;
}
