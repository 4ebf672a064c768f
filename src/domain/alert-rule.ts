import { type AlertTargetInput, chosenTarget, isSameTarget, type TargetSettings } from './alert-target.ts';
import { invalidField } from './errors.ts';

/** Rules of alerts: what is watched, and where it is sent. */

export const ALERT_KINDS = [
  'oldest_due',
  'dead_letters',
  'failure_share',
  'hold',
  'breaker',
  'signature_rejected',
  'slow_receiver',
  'no_worker',
  'usage',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** Settings of a rule. Times are seconds. */
export interface AlertRuleSettings extends TargetSettings {
  /** Seconds, a number of dead letters, or a percentage, by kind; 0 for kinds without one. */
  threshold: number;
  /** The time before now that is counted. */
  windowSeconds: number;
  /** How long the condition must hold before the alert fires, and be over before it resolves. */
  forSeconds: number;
}

interface Bounds {
  min: number;
  max: number;
}

interface KindOfRule {
  /** The trouble, for the subject of a mail: "jobs die in orders". */
  words: string;
  /** A way out, for people. */
  advice: string;
  /** Whether it watches queues, and not the account as a whole. */
  ofQueues: boolean;
  /** Whether it counts in a window. */
  hasWindow: boolean;
  /** Null for a kind without a threshold. */
  threshold: (Bounds & { byDefault: number; unit: 'seconds' | 'dead letters' | 'percent' }) | null;
}

const DAY = 86_400;
const seconds = (byDefault: number, max: number) => ({ min: 1, max, byDefault, unit: 'seconds' }) as const;
const percent = (byDefault: number) => ({ min: 1, max: 100, byDefault, unit: 'percent' }) as const;

export const KINDS: Readonly<Record<AlertKind, KindOfRule>> = {
  oldest_due: {
    words: 'jobs wait too long',
    advice:
      'Look at the page of the queue: its first line says what limits it. Start more workers, raise its limits, or fix its receiver.',
    ofQueues: true,
    hasWindow: false,
    threshold: seconds(300, DAY),
  },
  dead_letters: {
    words: 'jobs die',
    advice: 'Look at the causes of the dead letters and at the log of the receiver. Once it is fixed, replay them.',
    ofQueues: true,
    hasWindow: true,
    threshold: { min: 1, max: 1000, byDefault: 1, unit: 'dead letters' },
  },
  failure_share: {
    words: 'attempts fail',
    advice: 'Look at the log of the receiver, and at the answers in the page of the queue.',
    ofQueues: true,
    hasWindow: true,
    threshold: percent(50),
  },
  hold: {
    words: 'deliveries are held',
    advice: 'Find out why the receiver asks for a pause. The hold can be ended in the page of the queue.',
    ofQueues: true,
    hasWindow: false,
    threshold: seconds(600, DAY),
  },
  breaker: {
    words: 'the breaker is open',
    advice: 'Find out why the receiver fails. The page of the queue says when the next probe comes.',
    ofQueues: true,
    hasWindow: false,
    threshold: seconds(60, DAY),
  },
  signature_rejected: {
    words: 'signatures are rejected',
    advice: 'Compare the signing secret of the receiver with that of the queue.',
    ofQueues: true,
    hasWindow: true,
    threshold: percent(5),
  },
  slow_receiver: {
    words: 'the receiver is slow',
    advice: 'Look at the load of the receiver. Less concurrency of the queue can help it.',
    ofQueues: true,
    hasWindow: true,
    threshold: seconds(5, 600),
  },
  no_worker: {
    words: 'no worker is running',
    advice: 'Start a worker, or look at the log of the one that should run.',
    ofQueues: false,
    hasWindow: false,
    threshold: null,
  },
  usage: {
    words: 'usage of the plan is high',
    advice: 'Find out which queue uses it (Settings > Plan), or ask for a larger plan.',
    ofQueues: false,
    hasWindow: false,
    threshold: percent(80),
  },
};

/** Counts come from statistics of five minutes. */
const WINDOW_STEP = 300;
const WINDOW: Bounds & { byDefault: number } = { min: WINDOW_STEP, max: 3600, byDefault: 900 };
const FOR: Bounds & { byDefault: number } = { min: 0, max: 3600, byDefault: 60 };
const DAY_MS = DAY * 1000;
const MAX_SILENCE_DAYS = 90;

export const ALERT_LIMITS = {
  /** Rules of an account, and those of them that watch all its queues. */
  rules: 50,
  rulesOfAllQueues: 10,
  /** Queues that a rule for all queues watches: the oldest. */
  queuesOfRule: 1000,
  /** Alerts of a rule that have not ended. */
  openOfRule: 100,
  /** Ended alerts, and notifications, that an account keeps. */
  kept: 1000,
  /** Alerts that a notification names. */
  named: 20,
  /** Notifications of changes that wait for the receiver of a rule. Further changes wait where they are. */
  waitingOfRule: 20,
} as const;

/** Settings that a client sends. A missing one has its default, or stays as it is. */
export type AlertRuleInput = Partial<Omit<AlertRuleSettings, 'target'>> & { target?: AlertTargetInput };

/** Settings that were checked, with the new routing key of a target that has one. */
interface CheckedRule {
  settings: AlertRuleSettings;
  routingKey: string | null;
}

/** @throws JobferryError `invalid_fields` */
export function newRule(kind: AlertKind, input: AlertRuleInput): CheckedRule {
  const { routingKey, ...target } = chosenTarget(input, null);
  const { threshold } = KINDS[kind];
  const byDefault = { windowSeconds: WINDOW.byDefault, forSeconds: FOR.byDefault };
  return {
    settings: checkedTimes(kind, { ...byDefault, threshold: threshold?.byDefault ?? 0, ...target }, input),
    routingKey,
  };
}

/** @throws JobferryError `invalid_fields` */
export function changedRule(kind: AlertKind, present: AlertRuleSettings, input: AlertRuleInput): CheckedRule {
  const { routingKey, ...target } = chosenTarget(input, present);
  // An equal target is no change.
  const isSame = isSameTarget(target.target, present.target);
  const settings = { ...present, ...target, ...(isSame && { target: present.target }) };
  return { settings: checkedTimes(kind, settings, input), routingKey };
}

function checkedTimes(kind: AlertKind, present: AlertRuleSettings, input: AlertRuleInput): AlertRuleSettings {
  const { threshold, hasWindow } = KINDS[kind];
  if (input.threshold !== undefined) {
    if (threshold === null) throw invalidField('threshold', 'this kind of rule has none');
    assertWithin('threshold', input.threshold, threshold, threshold.unit);
    if (!Number.isInteger(input.threshold) && threshold.unit === 'dead letters') {
      throw invalidField('threshold', 'must be a whole number of dead letters');
    }
  }
  if (input.windowSeconds !== undefined) {
    if (!hasWindow) throw invalidField('windowSeconds', 'this kind of rule has none');
    assertWithin('windowSeconds', input.windowSeconds, WINDOW, 'seconds');
    if (input.windowSeconds % WINDOW_STEP !== 0) {
      throw invalidField('windowSeconds', `must be a multiple of ${WINDOW_STEP}`);
    }
  }
  if (input.forSeconds !== undefined) assertWithin('forSeconds', input.forSeconds, FOR, 'seconds');
  const { threshold: limit, windowSeconds, forSeconds } = { ...present, ...input };
  return { ...present, threshold: limit, windowSeconds, forSeconds };
}

function assertWithin(field: string, value: number, { min, max }: Bounds, unit: string): void {
  if (value >= min && value <= max) return;
  throw invalidField(field, `must be between ${min} and ${max} ${unit}`);
}

/** @throws JobferryError `invalid_fields` for a time that is too late */
export function assertSilenceEnd(until: Date, nowMs: number): void {
  const time = until.getTime();
  if (time > nowMs && time <= nowMs + MAX_SILENCE_DAYS * DAY_MS) return;
  throw invalidField('until', `must be in the future, and at most ${MAX_SILENCE_DAYS} days from now`);
}
