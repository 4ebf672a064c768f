import { describe, expect, it } from 'vitest';
import {
  ALERT_KINDS,
  type AlertKind,
  doubtOfRule,
  draftOfAlert,
  draftOfRule,
  headOfAlerts,
  inputOfChange,
  inputOfRule,
  problemsOfRule,
  secondsIn,
  sentenceOfRule,
  silenceOf,
  wordOfNotification,
} from '../../packages/dashboard/features/alerts/model/alerts.ts';
import {
  draftOfTarget,
  FIRST_TARGET,
  inputOfTarget,
  type Target,
  textOfTarget,
} from '../../packages/dashboard/features/alerts/model/target.ts';
import { alertOfCondition } from '../../packages/dashboard/features/queues/model/condition-words.ts';
import type { Condition, QueueNow } from '../../packages/dashboard/features/queues/model/queue-condition.ts';
import {
  alertOfParams,
  FROM_PAGE,
  isFromPage,
  type NewAlert,
  paramsOfAlert,
} from '../../packages/dashboard/words/new-alert.ts';
import { toSearch } from '../../packages/query/filter/search.ts';
import { KINDS, ALERT_KINDS as KINDS_OF_SERVER } from '../../src/domain/alert-rule.ts';

const NOW = Date.parse('2026-11-12T12:00:00Z');
const VIEW = { now: NOW, zone: 'utc' } as const;
const before = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
const KIND_NAMES = Object.keys(ALERT_KINDS) as AlertKind[];
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

describe('a kind of alert rule', () => {
  it.each(KINDS_OF_SERVER)('%s has words, and the default of the server', (kind) => {
    const words = ALERT_KINDS[kind.toUpperCase() as AlertKind];
    expect(words.ofQueues).toBe(KINDS[kind].ofQueues);
    expect(words.hasWindow ?? false).toBe(KINDS[kind].hasWindow);
    expect(words.threshold?.byDefault ?? null).toBe(KINDS[kind].threshold?.byDefault ?? null);
    expect(words.threshold?.unit === 's').toBe(KINDS[kind].threshold?.unit === 'seconds');
  });

  it.each<[AlertKind, number | null, string | null, string]>([
    ['OLDEST_DUE', 300, 'orders', 'A due job in orders waits longer than 5 min.'],
    ['DEAD_LETTERS', 1, null, 'At least 1 job in any queue dies within 15 min.'],
    ['DEAD_LETTERS', 3, 'orders', 'At least 3 jobs in orders die within 15 min.'],
    ['FAILURE_SHARE', 50, 'orders', 'At least 50 % of attempts in orders fail within 15 min.'],
    ['HOLD', 600, null, 'A hold of any queue lasts longer than 10 min.'],
    ['SIGNATURE_REJECTED', 5, 'orders', 'At least 5 % of answers to orders are 401 within 15 min.'],
    ['SLOW_RECEIVER', 5, 'orders', '5 % of deliveries in orders take longer than 5 s within 15 min.'],
    ['NO_WORKER', null, null, 'No worker is running.'],
    ['USAGE', 80, null, 'At least 80 % of the plan’s attempts are used this month.'],
  ])('%s is a sentence', (kind, threshold, name, sentence) => {
    const queue = name === null ? null : { name };
    expect(plain(sentenceOfRule({ kind, threshold, windowSeconds: 900, queue }))).toBe(sentence);
  });
});

describe('the page of alerts', () => {
  it('says what fires', () => {
    const rule = (firing: number[], evaluatedAt: string | null = before(5), createdAt = before(900)) => ({
      firing,
      createdAt,
      evaluatedAt,
      problem: null,
    });
    const head = (...rules: ReturnType<typeof rule>[]) => headOfAlerts(rules, VIEW);
    expect(headOfAlerts(null, VIEW).h1).toBe('Alerts');
    expect(head().h1).toBe('No alert rules yet.');
    expect(head(rule([]))).toMatchObject({ h1: 'No alert is firing.', signal: 'ok' });
    expect(head(rule([1]))).toMatchObject({ h1: '1\u00a0alert is firing.', signal: 'bad' });
    expect(head(rule([1]), rule([2])).h1).toBe('2\u00a0alerts are firing.');
    // A rule that is not evaluated cannot fire.
    for (const evaluatedAt of [before(300), null]) {
      const { h1, signal } = head(rule([]), rule([], evaluatedAt));
      expect([plain(h1), signal]).toEqual(['No alert is firing, but 1 rule is not evaluated.', 'warn']);
    }
    // A new rule waits for the next evaluation, which is no trouble.
    expect(head(rule([]), rule([], null, before(20)))).toMatchObject({ h1: 'No alert is firing.', signal: 'ok' });
  });

  it('says why a rule may be silent', () => {
    const doubt = (evaluatedAt: string | null, problem: string | null = null, createdAt = before(900)) =>
      plain(doubtOfRule({ createdAt, evaluatedAt, problem }, VIEW) ?? '');
    expect(doubt(null, null, before(60))).toBe('');
    expect(doubt(null, null, before(61))).toBe('Not evaluated yet');
    expect(doubt(before(20))).toBe('');
    expect(doubt(before(300))).toBe('Not evaluated for 5 min');
    expect(doubt(before(1), 'the statistics')).toBe('The statistics');
    expect(silenceOf(null, VIEW)).toBeNull();
    expect(silenceOf(before(1), VIEW)).toBeNull();
    expect(silenceOf(before(-60), VIEW)).toBe('until 12:01:00');
  });

  it.each([
    [null, 'nothing sent yet'],
    [{ sentAt: before(120), failedAt: null, attempts: 1, error: null }, 'sent 2 min ago'],
    [{ sentAt: null, failedAt: before(1), attempts: 10, error: 'HTTP 500' }, 'given up: HTTP 500'],
    [{ sentAt: null, failedAt: null, attempts: 0, error: null }, 'being sent'],
    [{ sentAt: null, failedAt: null, attempts: 2, error: 'timeout' }, 'tried 2 times: timeout'],
  ])('says what became of the last notification %j', (last, word) => {
    expect(plain(wordOfNotification(last, VIEW).word)).toBe(word);
  });

  it('sends of a new rule what its kind has', () => {
    const draft = {
      kind: 'OLDEST_DUE',
      queueId: 'q',
      threshold: ' 1 min ',
      windowSeconds: 600,
      forSeconds: '0',
      ...FIRST_TARGET,
      webhookUrl: ' http://a/ ',
      isSlack: true,
    } as const;
    expect(inputOfRule(draft)).toEqual({
      kind: 'OLDEST_DUE',
      queueId: 'q',
      threshold: 60,
      windowSeconds: null,
      forSeconds: 0,
      target: { webhook: { url: 'http://a/', format: 'SLACK' } },
    });
    expect(inputOfRule({ ...draft, kind: 'DEAD_LETTERS', forSeconds: ' 90 s ', threshold: '3' })).toMatchObject({
      windowSeconds: 600,
      forSeconds: 90,
      threshold: 3,
    });
    // The server refuses what is too long.
    expect(['', `${'9'.repeat(99)} d`].map((forSeconds) => inputOfRule({ ...draft, forSeconds }).forSeconds)).toEqual([
      ...[null, 1e9],
    ]);
    expect(inputOfRule({ ...draft, kind: 'NO_WORKER', isSlack: false })).toMatchObject({
      queueId: null,
      threshold: null,
      target: { webhook: { format: 'JOBFERRY' } },
    });
    const share = { ...draft, kind: 'FAILURE_SHARE', queueId: '' } as const;
    expect(inputOfRule({ ...share, threshold: '12.5 %' })).toMatchObject({ queueId: null, threshold: 12.5 });
    expect(inputOfRule({ ...share, threshold: 'x' }).threshold).toBe(0);
    expect([draft, share].map((one) => inputOfRule({ ...one, threshold: '' }).threshold)).toEqual([null, null]);
  });

  it.each([
    ['0', 0],
    ['90 s', 90],
    ['5min', 300],
    ['5 m', 300],
    [' 5 MIN ', 300],
    ['1h 30m', 5400],
    ['1h30m', 5400],
    ['1.5\u00a0h', 5400],
    ['2 d', 172_800],
    ['500 ms', Number.NaN],
    ['300', Number.NaN],
    ['5 months', Number.NaN],
    ['-5 min', Number.NaN],
    ['5 min or so', Number.NaN],
    ['1.2.3 s', Number.NaN],
  ])('takes the time %j for %d s', (text, value) => {
    expect(secondsIn(text)).toBe(value);
  });

  it('says of a time without a unit what is missing, and shows each time so that it is read as the same', () => {
    const draft = draftOfAlert({ kind: 'HOLD', queue: null, threshold: null });
    expect([...problemsOfRule(draft).keys()]).toEqual([]);
    expect([...problemsOfRule({ ...draft, threshold: '300', forSeconds: 'x' }).keys()]).toEqual([
      'threshold',
      'forSeconds',
    ]);
    expect([...problemsOfRule({ ...draft, forSeconds: '1.5 s' }).keys()]).toEqual(['forSeconds']);
    expect([...problemsOfRule({ ...draft, kind: 'DEAD_LETTERS', threshold: '300' }).keys()]).toEqual([]);
    for (const threshold of [1, 59, 60, 61, 90.5, 3600, 3661, 86_400, 0.25, 1e9]) {
      expect(inputOfRule(draftOfAlert({ kind: 'HOLD', queue: null, threshold })).threshold).toBe(threshold);
    }
  });

  it('is changed from what it is, and not in what it watches', () => {
    const rule = {
      kind: 'HOLD',
      queue: { id: 'q' },
      threshold: 90.5,
      windowSeconds: null,
      forSeconds: 120,
      target: { __typename: 'AlertWebhook', url: 'http://a/', format: 'SLACK' },
    } as const;
    const draft = draftOfRule(rule);
    expect(draft).toEqual({
      ...FIRST_TARGET,
      kind: 'HOLD',
      queueId: 'q',
      threshold: '90.5\u00a0s',
      webhookUrl: 'http://a/',
      isSlack: true,
      windowSeconds: 900,
      forSeconds: '2\u00a0min',
    });
    expect(inputOfChange(draft)).toEqual({
      threshold: 90.5,
      windowSeconds: null,
      forSeconds: 120,
      target: { webhook: { url: 'http://a/', format: 'SLACK' } },
    });
    expect(draftOfRule({ ...rule, kind: 'NO_WORKER', queue: null, threshold: null })).toMatchObject({
      queueId: '',
      threshold: '',
    });
  });

  it.each<[Target, string, object]>([
    [{ __typename: 'AlertEmail', to: ['a@b.c', 'd@e.f'] }, 'a@b.c, d@e.f', { email: { to: ['a@b.c', 'd@e.f'] } }],
    [
      { __typename: 'AlertPagerDuty', routingKey: '…3f2a', severity: 'ERROR' },
      'PagerDuty …3f2a, error',
      { pagerDuty: { severity: 'ERROR' } },
    ],
    [
      { __typename: 'AlertWebhook', url: 'http://a/', format: 'JOBFERRY' },
      'http://a/',
      { webhook: { url: 'http://a/', format: 'JOBFERRY' } },
    ],
  ])('shows the target %j, and sends it again as it is', (target, text, input) => {
    expect(textOfTarget(target)).toBe(text);
    expect(inputOfTarget(draftOfTarget(target))).toEqual(input);
  });

  it('sends mail addresses however they are separated, and a key that was typed', () => {
    const target = { ...FIRST_TARGET, target: 'email', to: ' a@b.c;d@e.f\n g@h.i,' } as const;
    expect(inputOfTarget(target)).toEqual({ email: { to: ['a@b.c', 'd@e.f', 'g@h.i'] } });
    expect(inputOfTarget({ ...FIRST_TARGET, target: 'pagerDuty', routingKey: ' k ' })).toEqual({
      pagerDuty: { severity: 'CRITICAL', routingKey: 'k' },
    });
  });
});

describe('a rule that another page proposes', () => {
  const queue = { id: '01a202eee52a0034530834a9', name: 'a&b=c' };

  it.each<[Condition, NewAlert['kind'] | null, number | null]>([
    ['signature', 'SIGNATURE_REJECTED', 5],
    ['failing', 'FAILURE_SHARE', 50],
    ['held', 'HOLD', 60],
    ['pressure', 'HOLD', 60],
    ['stuck', 'OLDEST_DUE', 60],
    ['catching-up', 'OLDEST_DUE', 60],
    ['slow', 'SLOW_RECEIVER', 9],
    ['paused', null, null],
    ['moving', null, null],
    ['deleted', null, null],
  ])('tells of the condition %s when it comes again, by its address', (condition, kind, threshold) => {
    const health = { duration: { p95: 9100 } } as QueueNow['health'];
    const alert = alertOfCondition(condition, { health, ...queue });
    expect(alert).toEqual(kind === null ? null : { kind, queue, threshold });
    if (alert === null) return;
    const search = new URLSearchParams(toSearch(paramsOfAlert(alert)));
    expect(alertOfParams(search, KIND_NAMES)).toEqual(alert);
    expect(draftOfAlert(alert)).toMatchObject({ kind, queueId: queue.id });
    expect(inputOfRule(draftOfAlert(alert)).threshold).toBe(threshold);
  });

  it('leads back to the page that proposed it, and nowhere from an address that was sent', () => {
    expect([FROM_PAGE, null, {}, { newAlert: 'other' }].map(isFromPage)).toEqual([true, false, false, false]);
  });

  it('is none by an address that names no kind, and has the default by one with a wrong number', () => {
    const read = (search: string) => alertOfParams(new URLSearchParams(search), KIND_NAMES);
    expect(read('')).toBeNull();
    expect(read('new=constructor')).toBeNull();
    expect(read('new=HOLD&threshold=-1&queue=a')).toEqual({ kind: 'HOLD', queue: null, threshold: null });
    expect(draftOfAlert({ kind: 'HOLD', queue: null, threshold: null })).toMatchObject({
      queueId: '',
      threshold: '10\u00a0min',
    });
  });
});
