import { describe, expect, it, onTestFinished } from 'vitest';
import { folded, lineOfRun, targetOf } from '../../packages/dashboard/features/activity/model/audit.ts';
import {
  endsSoon,
  headOfKeys,
  isUnused,
  mayText,
  revokeLead,
} from '../../packages/dashboard/features/settings/model/api-keys.ts';
import { clocksText, displaySentence } from '../../packages/dashboard/features/settings/model/display.ts';
import { inputOf, NEW_KEY, problemOf, withScope } from '../../packages/dashboard/features/settings/model/new-key.ts';
import { createdAtOf, headOfPlan, projectedAttempts } from '../../packages/dashboard/features/settings/model/usage.ts';
import {
  headOfSystem,
  type Instance,
  lagRows,
  latest,
  snapshotRow,
} from '../../packages/dashboard/features/system/model/system.ts';
import {
  ACTIONS,
  actionOf,
  type Entry,
  fieldChanges,
  isMoment,
  labelOfAction,
  labelOfField,
  sentenceOfEntry,
  wordsOfAction,
} from '../../packages/dashboard/words/audit.ts';
import { textOfPhrase } from '../../packages/dashboard/words/phrase.ts';
import { changeBefore } from '../../packages/dashboard/words/queue-actions.ts';

const NOW = Date.parse('2026-11-12T12:00:00Z');
const VIEW = { now: NOW, zone: 'utc' } as const;
const plain = (text: string) => text.replace(/[\u00a0\u202f]/g, ' ');

describe('an entry of the audit log', () => {
  const entry = (change: Partial<Entry>): Entry => ({
    action: 'queue.update',
    targetType: 'queue',
    targetId: '01a2030a2612000623acf7d6',
    targetName: 'emails',
    before: { concurrency: 5, maxAttempts: 3 },
    after: { concurrency: 8, maxAttempts: 3 },
    ...change,
  });

  it('is a sentence', () => {
    const at = { actor: 'jf_4kQ…x7Pd', at: '2026-11-12T11:42:10Z' };
    expect(textOfPhrase(sentenceOfEntry({ ...entry({}), ...at }, VIEW))).toBe(
      'jf_4kQ…x7Pd changed the queue emails at 11:42:10.',
    );
    const many = entry({ action: 'jobs.cancel', targetType: 'bulk_action', targetName: null });
    expect(textOfPhrase(sentenceOfEntry({ ...many, ...at }, VIEW))).toBe(
      'jf_4kQ…x7Pd cancelled jobs in …cf7d6 at 11:42:10.',
    );
    const probe = entry({ action: 'queue.end_hold', after: { nextProbeAt: '2026-11-12T11:42:10Z', jobs: 0 } });
    expect(textOfPhrase(sentenceOfEntry({ ...probe, ...at }, VIEW))).toBe(
      'jf_4kQ…x7Pd asked for an early probe of emails at 11:42:10.',
    );
  });

  it('has the fields that changed, and no other', () => {
    expect(fieldChanges(entry({}))).toEqual([{ field: 'concurrency', before: '5', after: '8' }]);
    expect(fieldChanges(entry({ before: null, after: { name: 'a', rateLimitMax: null, actionId: 'x' } }))).toEqual([
      { field: 'name', before: null, after: 'a' },
      { field: 'rateLimitMax', before: null, after: '–' },
    ]);
    const breaker = { breaker: { seconds: 120, failures: null } };
    expect(fieldChanges(entry({ before: { a: [1, 'b'], tags: [] }, after: breaker }))).toEqual([
      { field: 'breaker', before: null, after: 'seconds 120, failures –' },
      { field: 'a', before: '1, b', after: null },
      { field: 'tags', before: '–', after: null },
    ]);
    const signs = { before: { standardWebhooks: false }, after: { standardWebhooks: true } };
    expect(fieldChanges(entry(signs))).toEqual([{ field: 'standardWebhooks', before: 'off', after: 'on' }]);
  });

  it('names its fields in words, and knows moments', () => {
    const labels = ['takesOverAt', 'pausedBy', 'rateLimitMax', 'webhookUrl', 'concurrency'].map(labelOfField);
    expect(labels).toEqual(['takes over at', 'paused by', 'rate limit', 'webhook address', 'concurrency']);
    const texts = ['2026-11-28T02:55:28.001Z', '2026-11-28T02:55:28Z', '2026-11-28', 'at 2026-11-28T02:55:28Z', '–'];
    expect(texts.map(isMoment)).toEqual([true, true, false, false, false]);
  });

  it('leads to what was changed', () => {
    expect(targetOf(entry({}))).toEqual({ name: 'emails', path: '/queues/emails' });
    expect(targetOf(entry({ action: 'queue.delete' })).path).toBeNull();
    expect(targetOf(entry({ targetType: 'job' }))).toEqual({ name: '…cf7d6', path: '/jobs/01a2030a2612000623acf7d6' });
    const key = entry({ targetType: 'api_key', targetName: null, after: { prefix: 'jf_4kQ', lastFour: 'x7Pd' } });
    expect(targetOf(key)).toEqual({ name: 'jf_4kQ…x7Pd', path: '/settings/keys' });
    expect(actionOf(entry({ after: { actionId: 'a1' } }))).toBe('a1');
    expect(actionOf(entry({ after: null }))).toBeNull();
  });

  it('folds sign-ins without a change between them', () => {
    const at = (minute: number, action: string, actor = 'sam@example.com') => ({
      ...entry({ action, targetType: 'session', before: null, after: null }),
      id: String(minute),
      actor,
      memberId: 'm',
      at: `2026-11-12T11:${String(minute).padStart(2, '0')}:00Z`,
    });
    const run = [at(50, 'session.create'), at(45, 'session.end'), at(40, 'session.create', 'kim@example.com')];
    const [pause, alone] = [at(39, 'queue.pause'), at(30, 'session.create')];
    expect(folded([...run, pause, alone], true)).toEqual([run, pause, alone]);
    expect(folded(run, false)).toEqual(run);
    expect(lineOfRun(run, VIEW, false)).toEqual({
      icon: 'user',
      what: '2\u00a0sign-ins and 1\u00a0ended session of 2 people',
      when: '11:40 to 11:50',
    });
    const [first] = run;
    expect(lineOfRun(first === undefined ? [] : [first, first], VIEW, true)).toEqual({
      icon: 'user',
      what: 'At least 2\u00a0sign-ins of sam@example.com',
      when: '11:50',
    });
  });

  it('folds one action on many queues by one actor within some seconds', () => {
    const action = (queue: number, at: string, change: Partial<Entry> & { actor?: string } = {}) => ({
      ...entry({ targetId: `q${queue}`, targetName: `err-${queue}`, ...change }),
      id: `${at}-${queue}`,
      memberId: null,
      actor: change.actor ?? 'sam',
      at: `2026-11-12T11:42:${at}Z`,
    });
    const undo = [action(3, '20'), action(2, '20'), action(1, '19')];
    const limited = [action(3, '15'), action(2, '14'), action(1, '14')];
    const others = [
      action(4, '13', { actor: 'kim' }),
      action(5, '12', { action: 'queue.pause' }),
      action(6, '11', { action: 'queue.pause' }),
      action(7, '00', { action: 'queue.pause' }),
    ];
    expect(folded([...undo, ...limited, ...others], true)).toEqual([undo, limited, ...others]);
    const line = lineOfRun(undo, VIEW, false);
    expect({ ...line, what: plain(line.what) }).toEqual({
      what: 'sam changed 3 queues',
      when: '11:42:20',
      icon: 'edit',
    });
    const holds = undo.map((one) => ({ ...one, action: 'queue.end_hold' }));
    expect(plain(lineOfRun(holds, VIEW, true).what)).toBe('sam ended the hold of 3+ queues');
    const probes = holds.map((one) => ({ ...one, after: { nextProbeAt: '2026-11-12T11:42:10Z' } }));
    expect(plain(lineOfRun(probes, VIEW, false).what)).toBe('sam asked for an early probe of 3 queues');
  });

  it('is in words beside what it may have caused', () => {
    const before = (change: Partial<Entry>, firstSeen = '2026-11-12T11:46:20Z') =>
      plain(changeBefore({ ...entry(change), actor: 'aaron', at: '2026-11-12T11:42:10Z' }, firstSeen));
    const address = { before: { webhookUrl: 'https://a.example' }, after: { webhookUrl: 'https://b.example' } };
    expect(before(address)).toBe('aaron changed the webhook address 4 min before');
    expect(before({}, '2026-11-12T11:42:10Z')).toBe('aaron changed the concurrency 1 s before');
    expect(before({ action: 'queue.rotate_secret' })).toBe('aaron started the secret rotation 4 min before');
  });

  it('names the browser of a sign-in, and not its whole text', () => {
    const userAgent =
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36';
    const signIn = entry({ action: 'session.create', before: null, after: { userAgent } });
    expect(fieldChanges(signIn)).toEqual([{ field: 'browser', before: null, after: 'Chrome on Linux' }]);
  });

  it('has words for each action of the service, and a name for others', () => {
    expect(Object.keys(ACTIONS)).toHaveLength(59);
    expect(wordsOfAction('member.remove').verb).toBe('member: remove');
    const actions = ['queue.pause', 'account.set_operator', 'api_key.create', 'dead_letter.replay', 'jobs.publish'];
    expect(
      [...actions, 'queue.rotate_secret', 'jobs.run_now'].map((action) => labelOfAction(wordsOfAction(action))),
    ).toEqual([
      ...['queue paused', 'operator’s role changed', 'API key created', 'dead letter replayed', 'jobs published'],
      ...['secret rotation started', 'jobs run now (bulk)'],
    ]);
  });
});

describe('the background work', () => {
  const rows = (...[searchSeconds, statisticsSeconds, wakeUpSeconds]: [number | null, number, number | null]) =>
    lagRows({ searchSeconds, statisticsSeconds, wakeUpSeconds }).map(({ value, isLate }) => [plain(value), isLate]);

  it('says how far it is behind, and when that is too far', () => {
    expect(rows(null, 240, null)).toEqual([
      ['all of them', false],
      ['until 4 min ago', false],
      ['none is due', false],
    ]);
    expect(rows(90, 7200, 12)).toEqual([
      ['all but the last 1 min 30 s', true],
      ['until 2 h ago', true],
      ['due for 12 s', true],
    ]);
    expect(rows(0.4, 0, 0.02)).toEqual([
      ['all but the last 1 s', false],
      ['until now', false],
      ['due for a moment', false],
    ]);
  });
});

it('old snapshots are named, and never missing where sessions cannot be seen', () => {
  const row = (seesAll: boolean, ...messages: string[]) => {
    const { value, isLate, note } = snapshotRow({ seesAll, holders: messages.map((message) => ({ message })) });
    return [value, isLate, note];
  };
  expect(row(true)).toEqual(['none', false, '']);
  expect(row(true, 'a session', 'a slot')).toEqual(['a session; a slot', true, 'vacuum keeps rows that died since']);
  const grant = 'grant pg_read_all_stats to see all sessions';
  expect(row(false)).toEqual(['not visible', false, grant]);
  expect(row(false, 'a slot')).toEqual(['a slot', true, grant]);
});

describe('the first line of System', () => {
  const one = (change: Partial<Instance> = {}): Instance => ({
    role: 'all',
    version: '1.0.0',
    lastSeenAt: new Date(NOW - 2000).toISOString(),
    inFlight: 10,
    capacity: 1000,
    ...change,
  });
  const silent = new Date(NOW - 31_000).toISOString();
  const h1 = (...all: Instance[]) => headOfSystem(all, NOW).h1;

  it('is the worst that holds', () => {
    expect(plain(h1(one(), one()))).toBe('2 processes are running, all version 1.0.0.');
    expect(h1(one({ role: 'api' }), one({ lastSeenAt: silent }))).toBe(
      'No worker is running: jobs are accepted and wait.',
    );
    expect(h1(one(), one({ version: '1.1.0' }))).toBe('Processes of 2 versions are running: 1.0.0, 1.1.0.');
    expect(plain(h1(one({ inFlight: 950 })))).toBe('Workers are nearly full: 950 of 1 000 deliveries.');
    expect(headOfSystem([one(), one({ lastSeenAt: silent })], NOW)).toMatchObject({ signal: 'warn' });
    expect(h1()).toBe('Jobferry is up.');
  });

  it('knows the queue that is the latest, not the paused ones', () => {
    const queue = (name: string, oldestDueSeconds: number | null, paused = false) => ({
      name,
      oldestDueSeconds,
      paused,
    });
    expect(latest([queue('a', 3), queue('b', 90), queue('c', 900, true), queue('d', null)])?.name).toBe('b');
    expect(latest([queue('a', null)])).toBeNull();
  });
});

describe('the first line of the settings', () => {
  const key = (lastUsedAt: string | null, revokedAt: string | null = null, expiresAt: string | null = null) => ({
    createdAt: '2026-03-03T00:00:00Z',
    lastUsedAt,
    revokedAt,
    expiresAt,
  });
  const used = key('2026-11-12T11:59:00Z');

  it('counts the active keys, and names those that are unused', () => {
    expect(plain(headOfKeys([used, used, key(null, '2026-05-01T00:00:00Z')], NOW))).toBe('2 active keys.');
    expect(plain(headOfKeys([used, key('2026-06-11T00:00:00Z')], NOW))).toBe(
      '2 active keys. 1 has not been used for 5 months.',
    );
    expect(plain(headOfKeys([key(null), key(null)], NOW))).toBe('2 active keys. 2 have not been used for 3 months.');
    expect(headOfKeys([], NOW)).toBe('No active keys.');
    expect(headOfKeys([key(null, null, '2026-11-01T00:00:00Z')], NOW)).toBe('No active keys.');
    const ends = (at: string) => endsSoon(key(null, null, at), NOW);
    expect([ends('2026-11-20T00:00:00Z'), ends('2027-01-01T00:00:00Z')]).toEqual([true, false]);
    expect([isUnused(used, NOW), isUnused(key(null), NOW)]).toEqual([false, true]);
  });

  it('gives a new key the least rights, and no two that exclude each other', () => {
    expect(inputOf(NEW_KEY, NOW)).toMatchObject({ name: null, scopes: ['PUBLISH'], queues: null });
    const all = withScope(withScope(NEW_KEY, 'READ', true), 'ADMIN', true);
    expect(all.scopes).toEqual(['ADMIN']);
    expect(withScope(all, 'READ', true).scopes).toEqual(['READ']);
    expect(problemOf({ ...all, queues: 'emails' })).toMatch(/cannot be limited to queues/);
    expect(problemOf(withScope(NEW_KEY, 'PUBLISH', false))).toMatch(/^Select at least 1/);
    const input = inputOf({ ...NEW_KEY, name: ' shop ', queues: 'emails, images', end: '30' }, NOW);
    expect(input).toMatchObject({ name: 'shop', queues: ['emails', 'images'] });
    expect(Date.parse(input.expiresAt ?? '') - NOW).toBe(30 * 86_400_000);
    expect(inputOf({ ...NEW_KEY, end: '' }, NOW).expiresAt).toBeNull();
    expect(mayText({ scopes: ['PUBLISH', 'READ'], queues: ['emails'] })).toBe('publish, read · emails');
    expect(mayText({ scopes: ['ADMIN'], queues: null })).toBe('everything');
  });

  it('warns of one’s own key', () => {
    expect(revokeLead(used, true, VIEW)).toMatch(/you will be signed out\.$/);
    expect(revokeLead(key(null), false, VIEW)).toBe('It was never used.');
  });

  it('says how much of the month is used', () => {
    const plan = { includedAttempts: 200_000_000, monthlyAttempts: null };
    expect(plain(headOfPlan({ attempts: 56_604_118, month: '2026-11' }, plan))).toBe(
      '28 % of November’s attempts used.',
    );
    expect(headOfPlan({ attempts: 300_000_000, month: '2026-11' }, plan)).toMatch(/more attempts than included/);
    expect(headOfPlan({ attempts: 100, month: '2026-11' }, { ...plan, monthlyAttempts: 100 })).toMatch(/are refused/);
    expect(projectedAttempts(56_604_118, '2026-11', 0, NOW)).toBe(148_000_000);
    // From the day on which the account was made: 1000 in two of the last five days.
    const made = Date.parse('2026-11-24T00:00:00Z');
    expect(projectedAttempts(1000, '2026-11', made, made + 48 * 3_600_000)).toBe(3500);
    expect(projectedAttempts(1000, '2026-11', made, made + 31 * 60_000)).toBeNull();
    expect(createdAtOf(`${made.toString(16).padStart(12, '0')}0123456789ab`)).toBe(made);
    expect(projectedAttempts(5, '2026-11', 0, Date.parse('2026-11-01T20:00:00Z'))).toBeNull();
  });

  it('says what time and day it is in UTC and here', () => {
    const zone = process.env.TZ;
    onTestFinished(() => {
      if (zone === undefined) delete process.env.TZ;
      else process.env.TZ = zone;
    });
    process.env.TZ = 'Pacific/Kiritimati';
    expect(plain(clocksText(NOW))).toBe('Now it is 12 Nov, 12:00:00 UTC and 13 Nov, 02:00:00 here.');
  });

  it('says how the page looks', () => {
    expect(displaySentence({ theme: 'system', density: 'compact', zone: 'utc' })).toBe(
      'This page follows the system’s theme, has compact rows, and shows times in UTC.',
    );
  });
});
