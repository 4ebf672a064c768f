import { describe, expect, it } from 'vitest';
import {
  ALERT_KINDS,
  type AlertKind,
  doubtOfRule,
  draftOfRule,
  headOfAlerts,
  inputOfChange,
  inputOfRule,
  sentenceOfRule,
  silenceOf,
  wordOfNotification,
} from '../../src/dashboard/features/alerts/model/alerts.ts';
import { KINDS, ALERT_KINDS as KINDS_OF_SERVER } from '../../src/domain/alert-rule.ts';

const NOW = Date.parse('2026-11-12T12:00:00Z');
const VIEW = { now: NOW, zone: 'utc' } as const;
const before = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();
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
    const rule = (firing: number[], evaluatedAt: string | null = before(5)) => ({ firing, evaluatedAt, problem: null });
    const head = (...rules: ReturnType<typeof rule>[]) => headOfAlerts(rules, VIEW);
    expect(headOfAlerts(null, VIEW).h1).toBe('Alerts');
    expect(head().h1).toBe('Nothing is watched yet.');
    expect(head(rule([]))).toMatchObject({ h1: 'No alert fires.', signal: 'ok' });
    expect(head(rule([1]))).toMatchObject({ h1: 'One alert fires.', signal: 'bad' });
    expect(head(rule([1]), rule([2])).h1).toBe('Two alerts fire.');
    // A rule that is not evaluated cannot fire.
    for (const evaluatedAt of [before(300), null]) {
      const { h1, signal } = head(rule([]), rule([], evaluatedAt));
      expect([plain(h1), signal]).toEqual(['No alert fires, but 1 rule is not evaluated.', 'warn']);
    }
  });

  it('says why a rule may be silent', () => {
    expect(doubtOfRule({ evaluatedAt: null, problem: null }, VIEW)).toBeNull();
    expect(doubtOfRule({ evaluatedAt: before(20), problem: null }, VIEW)).toBeNull();
    expect(plain(doubtOfRule({ evaluatedAt: before(300), problem: null }, VIEW) ?? '')).toBe('Not evaluated for 5 min');
    expect(doubtOfRule({ evaluatedAt: before(1), problem: 'the statistics' }, VIEW)).toBe('The statistics');
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
      webhookUrl: ' http://a/ ',
      isSlack: true,
    } as const;
    expect(inputOfRule(draft)).toEqual({
      ...{ kind: 'OLDEST_DUE', queueId: 'q', threshold: 60, webhookUrl: 'http://a/', format: 'SLACK' },
      ...{ windowSeconds: null, forSeconds: 0 },
    });
    expect(inputOfRule({ ...draft, kind: 'DEAD_LETTERS', forSeconds: ' 90 ' })).toMatchObject({
      ...{ windowSeconds: 600, forSeconds: 90 },
    });
    expect(['', 'x', '1.5', '1e300'].map((forSeconds) => inputOfRule({ ...draft, forSeconds }).forSeconds)).toEqual([
      ...[null, -1, -1, -1],
    ]);
    expect(inputOfRule({ ...draft, kind: 'NO_WORKER', isSlack: false })).toMatchObject({
      ...{ queueId: null, threshold: null, format: 'JOBFERRY' },
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
      webhookUrl: 'http://a/',
      format: 'SLACK',
    } as const;
    const draft = draftOfRule(rule);
    expect(draft).toEqual({
      ...{ kind: 'HOLD', queueId: 'q', threshold: '90.5', webhookUrl: 'http://a/', isSlack: true },
      ...{ windowSeconds: 900, forSeconds: '120' },
    });
    expect(inputOfChange(draft)).toEqual({
      ...{ threshold: 90.5, windowSeconds: null, forSeconds: 120, webhookUrl: 'http://a/', format: 'SLACK' },
    });
    expect(draftOfRule({ ...rule, kind: 'NO_WORKER', queue: null, threshold: null })).toMatchObject({
      ...{ queueId: '', threshold: '' },
    });
  });
});
