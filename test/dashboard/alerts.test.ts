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
  sentenceOfRule,
  silenceOf,
  wordOfNotification,
} from '../../src/dashboard/features/alerts/model/alerts.ts';
import {
  draftOfTarget,
  FIRST_TARGET,
  inputOfTarget,
  type Target,
  textOfTarget,
} from '../../src/dashboard/features/alerts/model/target.ts';
import { alertOfCondition } from '../../src/dashboard/features/queues/model/queue-alert.ts';
import type { Condition, QueueNow } from '../../src/dashboard/features/queues/model/queue-condition.ts';
import { toSearch } from '../../src/dashboard/filter/search.ts';
import {
  alertOfParams,
  FROM_PAGE,
  isFromPage,
  type NewAlert,
  paramsOfAlert,
} from '../../src/dashboard/words/new-alert.ts';
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
    expect(words.threshold?.byDefault ?? null).toBe(KINDS[kind].threshold?.byDefault.toString() ?? null);
  });

  it.each<[AlertKind, number | null, string | null, string]>([
    ['OLDEST_DUE', 300, 'orders', 'A job of orders is due for more than 5 min.'],
    ['DEAD_LETTERS', 1, null, '1 job of any queue dies within 15 min.'],
    ['DEAD_LETTERS', 3, 'orders', '3 jobs of orders die within 15 min.'],
    ['FAILURE_SHARE', 50, 'orders', '50 % of the attempts of orders fail within 15 min.'],
    ['HOLD', 600, null, 'Any queue is held for more than 10 min.'],
    ['SIGNATURE_REJECTED', 5, 'orders', '5 % of the answers to orders are 401 within 15 min.'],
    ['SLOW_RECEIVER', 5, 'orders', 'One delivery in twenty of orders takes more than 5 s, within 15 min.'],
    ['NO_WORKER', null, null, 'No worker runs.'],
    ['USAGE', 80, null, '80 % of the attempts of the plan are used this month.'],
  ])('%s is a sentence', (kind, threshold, name, sentence) => {
    const queue = name === null ? null : { name };
    expect(plain(sentenceOfRule({ kind, threshold, windowSeconds: 900, queue }))).toBe(sentence);
  });
});

describe('the page of alerts', () => {
  it('says what fires', () => {
    const rule = (firing: number[], evaluatedAt: string | null = before(5), createdAt = before(900)) => ({
      ...{ firing, createdAt, evaluatedAt, problem: null },
    });
    const head = (...rules: ReturnType<typeof rule>[]) => headOfAlerts(rules, VIEW);
    expect(headOfAlerts(null, VIEW).h1).toBe('Alerts');
    expect(head().h1).toBe('Nothing is watched yet.');
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
      threshold: ' 60 ',
      windowSeconds: 600,
      forSeconds: '0',
      ...{ ...FIRST_TARGET, webhookUrl: ' http://a/ ', isSlack: true },
    } as const;
    expect(inputOfRule(draft)).toEqual({
      ...{ kind: 'OLDEST_DUE', queueId: 'q', threshold: 60, windowSeconds: null, forSeconds: 0 },
      target: { webhook: { url: 'http://a/', format: 'SLACK' } },
    });
    expect(inputOfRule({ ...draft, kind: 'DEAD_LETTERS', forSeconds: ' 90 ' })).toMatchObject({
      ...{ windowSeconds: 600, forSeconds: 90 },
    });
    expect(['', 'x', '1.5', '1e300'].map((forSeconds) => inputOfRule({ ...draft, forSeconds }).forSeconds)).toEqual([
      ...[null, -1, -1, -1],
    ]);
    expect(inputOfRule({ ...draft, kind: 'NO_WORKER', isSlack: false })).toMatchObject({
      ...{ queueId: null, threshold: null, target: { webhook: { format: 'JOBFERRY' } } },
    });
    expect(inputOfRule({ ...draft, queueId: '', threshold: 'x' })).toMatchObject({ queueId: null, threshold: 0 });
    expect(inputOfRule({ ...draft, threshold: '' }).threshold).toBeNull();
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
      ...{ kind: 'HOLD', queueId: 'q', threshold: '90.5', webhookUrl: 'http://a/', isSlack: true },
      ...{ windowSeconds: 900, forSeconds: '120' },
    });
    expect(inputOfChange(draft)).toEqual({
      ...{ threshold: 90.5, windowSeconds: null, forSeconds: 120 },
      target: { webhook: { url: 'http://a/', format: 'SLACK' } },
    });
    expect(draftOfRule({ ...rule, kind: 'NO_WORKER', queue: null, threshold: null })).toMatchObject({
      ...{ queueId: '', threshold: '' },
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
    expect(draftOfAlert(alert)).toMatchObject({ kind, queueId: queue.id, threshold: String(threshold) });
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
      threshold: '600',
    });
  });
});
