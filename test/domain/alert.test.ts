import { describe, expect, it } from 'vitest';
import { type AlertChange, evaluate, type Finding, noticesOf, type OpenAlert } from '../../src/domain/alert.ts';
import { causeOfQueue, causeOfUsage, type QueueMeasure } from '../../src/domain/alert-cause.ts';
import {
  contentOf,
  MAX_NOTIFICATION_ATTEMPTS,
  messageOf,
  nextAttemptMs,
  slackMessageOf,
  testContentOf,
} from '../../src/domain/alert-message.ts';
import {
  ALERT_KINDS,
  ALERT_LIMITS,
  type AlertKind,
  type AlertRuleInput,
  assertSilenceEnd,
  changedRule,
  newRule,
} from '../../src/domain/alert-rule.ts';

const NOW = 1_000_000_000;
const MINUTE = 60_000;
const finding: Finding = { queueId: 'q', queueName: 'orders', value: 7, cause: 'seven' };
const alert = (more: Partial<OpenAlert> = {}): OpenAlert => ({
  ...finding,
  id: 'a',
  state: 'firing',
  sinceMs: NOW - 10 * MINUTE,
  firedAtMs: NOW - 9 * MINUTE,
  clearSinceMs: null,
  isNotified: true,
  isQueueGone: false,
  ...more,
});
const pending = (more: Partial<OpenAlert> = {}) =>
  alert({ state: 'pending', firedAtMs: null, isNotified: false, ...more });
const run = (
  open: OpenAlert[],
  findings: Finding[] | null,
  forSeconds = 60,
  maxOpen = 100,
  canTell = Number.POSITIVE_INFINITY,
) => evaluate({ nowMs: NOW, forSeconds, open, findings, maxOpen, canTell });
const types = (changes: AlertChange[]) => changes.map(({ type }) => type);

describe('the life of an alert', () => {
  it.each<[string, OpenAlert[], Finding[] | null, string[]]>([
    ['nothing, nothing found', [], [], []],
    ['nothing, found', [], [finding], ['begin']],
    ['pending for too short a time, found', [pending({ sinceMs: NOW - MINUTE + 1 })], [finding], []],
    ['pending for long enough, found', [pending({ sinceMs: NOW - MINUTE })], [finding], ['fire']],
    ['pending, not found', [pending()], [], ['forget']],
    ['pending, unknown', [pending()], null, []],
    ['firing, found as before', [alert()], [finding], []],
    ['firing, found with another value', [alert()], [{ ...finding, cause: 'eight' }], ['update']],
    ['firing, not found for the first time', [alert()], [], ['update']],
    ['firing, not found for too short a time', [alert({ clearSinceMs: NOW - MINUTE + 1 })], [], []],
    ['firing, not found for long enough', [alert({ clearSinceMs: NOW - MINUTE })], [], ['resolve']],
    ['firing, found again', [alert({ clearSinceMs: NOW - 5 })], [finding], ['update']],
    ['firing, unknown', [alert({ clearSinceMs: NOW - MINUTE })], null, []],
    ['firing, of a deleted queue', [alert({ isQueueGone: true })], null, ['resolve']],
    ['pending, of a deleted queue', [pending({ isQueueGone: true })], [], ['forget']],
    ['firing for one queue, found for another', [alert()], [{ ...finding, queueId: 'r' }], ['update', 'begin']],
  ])('%s', (_name, open, findings, expected) => {
    expect(types(run(open, findings))).toEqual(expected);
  });

  it('has its new values in the changes', () => {
    expect(run([pending()], [{ ...finding, value: 8 }])).toMatchObject([
      { type: 'fire', alert: { state: 'firing', firedAtMs: NOW, value: 8 } },
    ]);
    expect(run([alert()], [])).toMatchObject([{ alert: { clearSinceMs: NOW } }]);
    expect(run([alert({ clearSinceMs: NOW - 5 })], [finding])).toMatchObject([{ alert: { clearSinceMs: null } }]);
    expect(run([alert({ isQueueGone: true })], null)).toMatchObject([{ resolution: 'queue_deleted' }]);
  });

  it('resolves after a minute at the earliest, also for a rule that fires at once', () => {
    expect(types(run([alert({ clearSinceMs: NOW - MINUTE + 1 })], [], 0))).toEqual([]);
    expect(types(run([alert({ clearSinceMs: NOW - MINUTE })], [], 0))).toEqual(['resolve']);
    expect(types(run([alert({ clearSinceMs: NOW - MINUTE })], [], 120))).toEqual([]);
  });

  it('waits no hour when the clock was set back by one', () => {
    expect(types(run([pending({ sinceMs: NOW + 60 * MINUTE })], [finding]))).toEqual(['fire']);
    expect(run([alert({ clearSinceMs: NOW + 60 * MINUTE })], [])).toMatchObject([
      { type: 'update', alert: { clearSinceMs: NOW } },
    ]);
  });

  it('does not end while its end cannot be told, unless the receiver does not know of it', () => {
    const ends = (open: OpenAlert) => types(run([open], [], 60, 100, 0));
    expect(ends(alert({ clearSinceMs: NOW - MINUTE }))).toEqual([]);
    expect(ends(alert({ isQueueGone: true }))).toEqual([]);
    expect(ends(alert())).toEqual(['update']);
    expect(ends(alert({ clearSinceMs: NOW - MINUTE, isNotified: false }))).toEqual(['resolve']);
    expect(ends(pending())).toEqual(['forget']);
  });

  it('opens no more than its maximum, and begins with others once there is room', () => {
    const many = ['r', 's', 't'].map((queueId) => ({ ...finding, queueId }));
    expect(types(run([alert()], [finding, ...many], 60, 3))).toEqual(['begin', 'begin']);
  });

  it.each<[string, OpenAlert, Finding[], boolean, string[]]>([
    ['fires', pending(), [finding], false, ['firing']],
    ['fires while the rule is silenced', pending(), [finding], true, []],
    ['still fires when the silence is over', alert({ isNotified: false }), [finding], false, ['firing']],
    ['fires, and the receiver knows', alert(), [finding], false, []],
    ['resolves, and the receiver knows that it fired', alert({ clearSinceMs: 0 }), [], false, ['resolved']],
    ['resolves while the rule is silenced', alert({ clearSinceMs: 0 }), [], true, ['resolved']],
    ['resolves, and the receiver never knew', alert({ clearSinceMs: 0, isNotified: false }), [], false, []],
    ['is forgotten', pending(), [], false, []],
  ])('tells the receiver when an alert %s', (_name, open, findings, isSilenced, expected) => {
    expect(noticesOf([open], run([open], findings), !isSilenced).map(({ state }) => state)).toEqual(expected);
  });

  it('tells of as many alerts as the target can be told of, the ends first, and ends no other', () => {
    const over = ['r', 's', 't'].map((queueId) => alert({ id: queueId, queueId, clearSinceMs: 0 }));
    const begun = [pending(), pending({ id: 'u', queueId: 'u' })];
    const open = [...begun, ...over];
    const findings = [finding, { ...finding, queueId: 'u' }];
    const ends = run(open, findings, 60, 100, 2);
    expect(types(ends)).toEqual(['fire', 'fire', 'resolve', 'resolve']);
    expect(noticesOf(open, ends, true, 3).map(({ alert: { id }, state }) => [id, state])).toEqual([
      ['r', 'resolved'],
      ['s', 'resolved'],
      [begun[0]?.id, 'firing'],
    ]);
  });
});

const URL_TEXT = 'http://example.com/hook';

describe('a rule', () => {
  it.each(ALERT_KINDS)('a rule of the kind %s has defaults within its bounds', (kind) => {
    const { settings: made } = newRule(kind, { webhookUrl: URL_TEXT });
    expect(made).toMatchObject({ forSeconds: 60, format: 'jobferry', webhookUrl: URL_TEXT });
    const { threshold, windowSeconds, target, ...rest } = made;
    const again = { ...rest, ...(threshold === 0 ? {} : { threshold }) };
    expect(changedRule(kind, made, again).settings).toEqual(made);
  });

  it.each<[AlertKind, AlertRuleInput, string]>([
    ['oldest_due', { threshold: 0 }, 'threshold: must be between 1 and 86400 seconds'],
    ['oldest_due', { threshold: Number.NaN }, 'threshold: must be between'],
    ['dead_letters', { threshold: 1001 }, 'threshold: must be between 1 and 1000 dead letters'],
    ['dead_letters', { threshold: 1.5 }, 'threshold: must be a whole number of dead letters'],
    ['usage', { threshold: 101 }, 'threshold: must be between 1 and 100 percent'],
    ['no_worker', { threshold: 5 }, 'threshold: this kind of rule has none'],
    ['hold', { windowSeconds: 300 }, 'windowSeconds: this kind of rule has none'],
    ['failure_share', { windowSeconds: 3900 }, 'windowSeconds: must be between 300 and 3600 seconds'],
    ['failure_share', { windowSeconds: 301 }, 'windowSeconds: must be a multiple of 300'],
    ['usage', { forSeconds: 3601 }, 'forSeconds: must be between 0 and 3600 seconds'],
    ['usage', { webhookUrl: 'ftp://example.com' }, 'webhookUrl: must be an absolute http or https URL'],
  ])('a rule of the kind %s refuses %j', (kind, input, message) => {
    expect(() => newRule(kind, { webhookUrl: URL_TEXT, ...input })).toThrow(message);
  });

  it('is silenced for ninety days at most', () => {
    const day = 86_400_000;
    expect(() => assertSilenceEnd(new Date(NOW + 90 * day), NOW)).not.toThrow();
    for (const wrong of [NOW, NOW + 90 * day + 1, Number.NaN]) {
      expect(() => assertSilenceEnd(new Date(wrong), NOW)).toThrow('until: must be in the future');
    }
  });
});

const measure: QueueMeasure = {
  queueName: 'orders',
  value: 750,
  total: null,
  inFlight: null,
  awaitingAck: null,
  concurrency: null,
  reason: null,
  statusCode: null,
  probes: null,
};

describe('the cause of an alert', () => {
  it.each<[AlertKind, number, Partial<QueueMeasure>, string]>([
    ['oldest_due', 300, {}, 'The oldest due job of orders has waited for 12 min; the limit is 5 min.'],
    [
      'oldest_due',
      300,
      { inFlight: 5, awaitingAck: 0, concurrency: 5 },
      'All its slots (5) are in use: the receiver is slow, or the queue needs more slots.',
    ],
    [
      'oldest_due',
      300,
      { inFlight: 5, awaitingAck: 5, concurrency: 5 },
      '5 of 5 slots wait for a report. Check that the worker',
    ],
    [
      'oldest_due',
      300,
      { inFlight: 1, awaitingAck: 1, concurrency: 5 },
      '1 of 5 slots are in use, 1 of them for a report.',
    ],
    ['dead_letters', 1, { value: 1 }, '1 job of orders died in the last 15 min.'],
    ['dead_letters', 1, { value: 100 }, 'At least 100 jobs of orders died'],
    [
      'dead_letters',
      5,
      { value: 6, reason: 'attempts_exhausted', statusCode: 500 },
      '6 jobs of orders died in the last 15 min. Most frequent: attempts exhausted, HTTP 500.',
    ],
    ['failure_share', 50, { value: 66.6667, total: 30 }, '67 % of 30 attempts of orders of the last 15 min failed'],
    [
      'breaker',
      60,
      { total: 9, probes: 'probed' },
      '(failed answers in a row: 9). Nothing is lost, and one job at a time probes it.',
    ],
    [
      'breaker',
      60,
      { probes: 'no_job' },
      'No job waits that could probe it: the breaker stays open until a job is published.',
    ],
    [
      'breaker',
      60,
      { probes: 'paused' },
      'The queue is paused, so no job probes it: the breaker stays open until the queue is resumed.',
    ],
    ['hold', 60, { value: 7300 }, 'orders has been held for 2 h; the limit is 60 s.'],
    ['signature_rejected', 5, { value: 100, total: 8 }, '100 % of 8 answers to orders of the last 15 min were 401.'],
    ['slow_receiver', 5, { value: 12, total: 200 }, '12 % of 200 deliveries of orders of the last 15 min took longer'],
  ])('an alert of the kind %s names its cause', (kind, threshold, more, text) => {
    const rule = { kind, threshold, windowSeconds: 900 };
    expect(causeOfQueue(rule, { ...measure, ...more })).toContain(text);
  });

  it('the cause of an alert about usage says what is refused', () => {
    expect(causeOfUsage(80, 100)).toBe('80 of the plan’s 100 delivery attempts of this month are used.');
    expect(causeOfUsage(100, 100)).toContain('refused until the next month');
  });
});

describe('a notification', () => {
  const rule = { id: 'r', kind: 'no_worker', queueName: null, threshold: 0, windowSeconds: 900 } as const;

  it('names its alerts up to a number, and counts the others', () => {
    const told = Array.from({ length: ALERT_LIMITS.named + 3 }, () => ({ alert: alert(), state: 'firing' as const }));
    const content = contentOf(rule, told, NOW);
    expect(content.alerts).toHaveLength(ALERT_LIMITS.named);
    expect(content).toMatchObject({ type: 'alert', others: 3, rule: { threshold: null, windowSeconds: null } });
    expect(slackMessageOf(content, null)).toEqual({
      text: expect.stringMatching(/^\*FIRING\* seven\n.*\nand 3 more$/s),
    });
  });

  it('has its id, and where to look', () => {
    const content = contentOf(rule, [{ alert: alert(), state: 'resolved' }], NOW);
    expect(messageOf('n', content, 'http://host/alerts')).toEqual({
      id: 'n',
      type: 'alert',
      createdAt: new Date(NOW).toISOString(),
      rule: { id: 'r', kind: 'no_worker', queue: null, threshold: null, windowSeconds: null },
      alerts: [
        {
          id: 'a',
          state: 'resolved',
          queue: 'orders',
          value: 7,
          cause: 'seven',
          since: new Date(NOW - 10 * MINUTE).toISOString(),
          firedAt: new Date(NOW - 9 * MINUTE).toISOString(),
          resolvedAt: new Date(NOW).toISOString(),
        },
      ],
      others: 0,
      url: 'http://host/alerts',
    });
  });

  it('escapes what Slack would read as a command', () => {
    const content = contentOf(rule, [{ alert: alert({ cause: '<!channel> & co' }), state: 'firing' }], NOW);
    expect(slackMessageOf(content, 'http://host/alerts')).toEqual({
      text: '*FIRING* &lt;!channel&gt; &amp; co\n<http://host/alerts|Alerts in Jobferry>',
    });
    expect(slackMessageOf(testContentOf(rule, NOW), null)).toEqual({
      text: 'A test of the alert rule r (no_worker).',
    });
  });

  it('is tried ten times, with longer and longer waits, and as late as the receiver asks', () => {
    expect([1, 2, 7, 8, 9].map((attempts) => nextAttemptMs(attempts, null))).toEqual([
      10_000, 20_000, 640_000, 900_000, 900_000,
    ]);
    expect(nextAttemptMs(MAX_NOTIFICATION_ATTEMPTS, 5)).toBeNull();
    expect([nextAttemptMs(1, 60_000), nextAttemptMs(1, 1), nextAttemptMs(1, 9e9)]).toEqual([60_000, 10_000, 3_600_000]);
  });
});
