/**
 * The life of an alert: a condition is pending until it has held for long enough, then the alert fires, and it resolves
 * when the condition has been over for long enough. So a value around its threshold causes no messages.
 */

/** A condition that holds now. */
export interface Finding {
  /** Null for a rule that watches the account. */
  queueId: string | null;
  queueName: string | null;
  /** In the unit of the rule's threshold. */
  value: number;
  /** For people. It has no text of a receiver. */
  cause: string;
}

/** An alert that has not ended. */
export interface OpenAlert extends Finding {
  id: string;
  state: 'pending' | 'firing';
  sinceMs: number;
  firedAtMs: number | null;
  /** Since when the condition of a firing alert is over; null while it holds. */
  clearSinceMs: number | null;
  /** Whether the receiver was notified that it fires. */
  isNotified: boolean;
  /** Whether its queue was deleted. */
  isQueueGone: boolean;
}

export const ALERT_RESOLUTIONS = ['condition_over', 'queue_deleted'] as const;
export type AlertResolution = (typeof ALERT_RESOLUTIONS)[number];

/** A change that an evaluation makes. */
export type AlertChange =
  | { type: 'begin'; finding: Finding }
  | { type: 'forget'; alert: OpenAlert }
  | { type: 'fire'; alert: OpenAlert }
  | { type: 'update'; alert: OpenAlert }
  | { type: 'resolve'; alert: OpenAlert; resolution: AlertResolution };

/** A condition that comes back within this time is the same alert, also for a rule that fires at once. */
const MIN_CLEAR_MS = 60_000;

interface Evaluation {
  nowMs: number;
  forSeconds: number;
  /** Alerts of the rule that have not ended. */
  open: readonly OpenAlert[];
  /** Null if it is unknown what holds now: then nothing changes, except that alerts of deleted queues end. */
  findings: readonly Finding[] | null;
  /** Alerts of the rule that may be open. */
  maxOpen: number;
  /** Number of alerts whose end the receiver can be notified of now. Further alerts that it knows of stay open. */
  canTell: number;
}

/** Returns what changes. The alerts in the result have their new values. */
export function evaluate({ nowMs, forSeconds, open, findings, maxOpen, canTell }: Evaluation): AlertChange[] {
  const forMs = forSeconds * 1000;
  const found = new Map((findings ?? []).map((finding) => [finding.queueId ?? '', finding]));
  const changes: AlertChange[] = [];
  let endsNotified = 0;
  for (const alert of open) {
    const finding = found.get(alert.queueId ?? '');
    found.delete(alert.queueId ?? '');
    const mayEnd = !alert.isNotified || endsNotified < canTell;
    const before = changes.length;
    if (alert.isQueueGone) changes.push(...(mayEnd ? ended(alert, 'queue_deleted') : []));
    else if (findings === null) continue;
    else if (finding === undefined) changes.push(...cleared(alert, nowMs, Math.max(forMs, MIN_CLEAR_MS), mayEnd));
    else changes.push(...held({ ...alert, ...finding }, alert, nowMs, forMs));
    if (alert.isNotified && changes[before]?.type === 'resolve') endsNotified += 1;
  }
  const room = Math.max(maxOpen - open.length, 0);
  for (const finding of [...found.values()].slice(0, room)) changes.push({ type: 'begin', finding });
  return changes;
}

function ended(alert: OpenAlert, resolution: AlertResolution): AlertChange[] {
  return alert.state === 'pending' ? [{ type: 'forget', alert }] : [{ type: 'resolve', alert, resolution }];
}

/** The condition does not hold now. A time in the future is of a clock that was set back, so the wait begins again. */
function cleared(alert: OpenAlert, nowMs: number, clearMs: number, mayEnd: boolean): AlertChange[] {
  if (alert.state === 'pending') return ended(alert, 'condition_over');
  const { clearSinceMs } = alert;
  if (clearSinceMs === null || clearSinceMs > nowMs) {
    return [{ type: 'update', alert: { ...alert, clearSinceMs: nowMs } }];
  }
  return nowMs - clearSinceMs < clearMs || !mayEnd ? [] : ended(alert, 'condition_over');
}

/** The condition holds. @param alert with the present value */
function held(alert: OpenAlert, before: OpenAlert, nowMs: number, forMs: number): AlertChange[] {
  if (alert.state === 'pending') {
    // After the clock was set back, it is not known for how long. Early is better than an hour late.
    if (nowMs >= alert.sinceMs && nowMs - alert.sinceMs < forMs) return [];
    return [{ type: 'fire', alert: { ...alert, state: 'firing', firedAtMs: nowMs } }];
  }
  if (alert.clearSinceMs === null && alert.cause === before.cause) return [];
  return [{ type: 'update', alert: { ...alert, clearSinceMs: null } }];
}

/** An alert whose state the receiver must be notified of. */
export interface AlertNotice {
  alert: OpenAlert;
  state: 'firing' | 'resolved';
}

/**
 * Returns the alerts of which the receiver of a rule is notified: those that fire, if it may be, and the end of those
 * that it knows, also while the rule is silenced: otherwise they would stay open there.
 * @param tellsFiring false while the rule is silenced, or too many of its notifications wait
 * @param max alerts of which the receiver can be notified now: the ends first, because those alerts are ended already
 */
export function noticesOf(
  open: readonly OpenAlert[],
  changes: readonly AlertChange[],
  tellsFiring: boolean,
  max = Number.POSITIVE_INFINITY,
): AlertNotice[] {
  const changed = new Map(changes.flatMap((change) => ('alert' in change ? [[change.alert.id, change] as const] : [])));
  const notices = open.flatMap((before): AlertNotice[] => {
    const change = changed.get(before.id);
    const alert = change?.alert ?? before;
    if (change?.type === 'forget') return [];
    if (change?.type === 'resolve') return before.isNotified ? [{ alert, state: 'resolved' }] : [];
    return alert.state === 'firing' && !before.isNotified && tellsFiring ? [{ alert, state: 'firing' }] : [];
  });
  if (notices.length <= max) return notices;
  const ends = notices.filter(({ state }) => state === 'resolved');
  return [...ends, ...notices.filter(({ state }) => state === 'firing')].slice(0, max);
}
