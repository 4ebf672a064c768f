import { describe, expect, it } from 'vitest';
import {
  type Finding,
  judgeClock,
  judgeDisk,
  judgeIndexes,
  judgeLags,
  judgeSequence,
  judgeSettings,
  judgeStandbys,
  judgeVacuum,
} from '../../src/domain/doctor.ts';
import { judgeConnections, judgeUnreachable } from '../../src/domain/doctor-connections.ts';
import { judgeSettingsApart } from '../../src/domain/doctor-fleet.ts';
import { judgeLocks } from '../../src/domain/doctor-locks.ts';
import { judgeFleet, judgeSchema } from '../../src/domain/doctor-releases.ts';
import { judgeSnapshots, type SnapshotHolder } from '../../src/domain/doctor-snapshots.ts';
import { SETTINGS } from '../support/process-settings.ts';

/** By default no earlier one may run beside it. */
const release = (version: string, oldestBeside = version) => ({ version, oldestBeside });

const settings = {
  version: 180_004,
  encoding: 'UTF8',
  standby: false,
  read_only: false,
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  autovacuum: 'on',
  timeouts: {},
};
const standbys = { synchronous_commit: 'on', synchronous_standby_names: '*', standbys: 2, synchronous: 1 };
const vacuum = { tables: [], idleSlots: [], xidAge: 1000 };
const snapshots = { holders: [], dead: 27_416, live: 31_595, blindRole: null };
const holder: SnapshotHolder = {
  kind: 'session',
  name: '123',
  user: 'ann',
  program: 'analyst-notebook',
  state: 'idle in transaction',
  seconds: 80,
  ids: 12,
};
const table = { table: 'job', live: 100_000, dead: 40_000, bytes: 1, unattended: false };
const lags = { searchSeconds: null, statisticsSeconds: 0, wakeUpSeconds: null, sweepSeconds: null, oldestDue: null };
const due = { queueId: 'q1', name: 'mails', seconds: 59 };
const room = { limit: 'server' as const, used: 20, max: 97, allowed: 97 };
const GIB = 2 ** 30;
const all = {
  role: 'all',
  version: '1.0.0',
  startedAt: new Date('2026-11-24T00:00:00Z'),
  clockOffsetSeconds: 0.1,
  settings: SETTINGS,
};

const fine: [what: string, findings: Finding[]][] = [
  ['the usual settings', judgeSettings(settings)],
  ['enough connections', judgeConnections(room, [all, { role: 'worker' }, { role: 'api' }], false)],
  ['few connections past a pooler', judgeConnections({ ...room, allowed: 20 }, [all, all], true)],
  ['a synchronous standby', judgeStandbys(standbys)],
  ['a schema of this version', judgeSchema({ state: 'current', release: release('1.0.0') }, release('1.0.0'))],
  ['all indexes', judgeIndexes({ missing: [], invalid: [] })],
  ['no old transaction', judgeSnapshots(snapshots)],
  ['a new sequence', judgeSequence({ last: null, used: null })],
  ['a sequence at its last token', judgeSequence({ last: 7, used: 7 })],
  ['a near clock', judgeClock(-4900)],
  ['a job that is just due', judgeLags({ ...lags, oldestDue: due, searchSeconds: 299 }, true)],
  ['a database elsewhere', judgeDisk({ databaseBytes: GIB, isFull: false, disk: null })],
  [
    'a large disk',
    judgeDisk({ databaseBytes: GIB, isFull: false, disk: { freeBytes: 6 * GIB, totalBytes: 100 * GIB } }),
  ],
  ['processes of this version', judgeFleet([all, all], release('1.0.0'), null)],
  [
    'an API and a worker',
    judgeFleet(
      [
        { ...all, role: 'api' },
        { ...all, role: 'worker' },
      ],
      release('1.0.0'),
      release('1.0.0'),
    ),
  ],
];

const wrong: [what: string, findings: Finding[], status: Finding['status'], said: RegExp, fix: RegExp][] = [
  [
    'an old server',
    judgeSettings({ ...settings, version: 140_011 }),
    'problem',
    /PostgreSQL 14 is too old/,
    /15 or later/,
  ],
  ['an encoding', judgeSettings({ ...settings, encoding: 'LATIN1' }), 'problem', /LATIN1/, /UTF8/],
  ['a standby', judgeSettings({ ...settings, standby: true }), 'problem', /standby/, /primary/],
  [
    'a role that may not write',
    judgeSettings({ ...settings, read_only: true }),
    'problem',
    /sessions are read-only/,
    /default_transaction_read_only/,
  ],
  ['fsync', judgeSettings({ ...settings, fsync: 'off' }), 'problem', /fsync is off/, /set fsync = on/],
  ['pages', judgeSettings({ ...settings, full_page_writes: 'off' }), 'problem', /full_page_writes/, /= on/],
  ['commits', judgeSettings({ ...settings, synchronous_commit: 'off' }), 'problem', /synchronous_commit/, /= on/],
  ['vacuum', judgeSettings({ ...settings, autovacuum: 'off' }), 'problem', /autovacuum/, /= on/],
  [
    'a lock_timeout',
    judgeSettings({ ...settings, timeouts: { lock_timeout: 50 } }),
    'warning',
    /lock_timeout is 50 ms/,
    /set lock_timeout = 0/,
  ],
  [
    'an idle_session_timeout',
    judgeSettings({ ...settings, timeouts: { idle_session_timeout: 5000 } }),
    'warning',
    /which ends connections that wait/,
    /set idle_session_timeout = 0/,
  ],
  [
    'a table without autovacuum',
    judgeVacuum({ ...vacuum, tables: [{ ...table, unattended: true }] }),
    'problem',
    /autovacuum is off for job/,
    /reset \(autovacuum_enabled\)/,
  ],
  [
    'used connections',
    judgeConnections({ ...room, used: 81 }, [all], false),
    'warning',
    /^81 of 97 connections of the server are in use$/,
    /application_name.*max_connections/,
  ],
  [
    'more processes than connections',
    judgeConnections({ ...room, limit: 'role', max: 40, allowed: 40 }, [all, { role: 'api' }], false),
    'warning',
    /^2 processes need up to 47 connections when busy, and the server allows 40$/,
    /max_connections/,
  ],
  [
    'a server without a free connection',
    [judgeUnreachable('no connection is left on the server (SQLSTATE 53300): sorry, too many clients already', false)],
    'problem',
    /53300.*too many clients/,
    /^as a superuser, .*application_name/,
  ],
  [
    'commits that wait for no standby',
    judgeStandbys({ ...standbys, synchronous_commit: 'local' }),
    'problem',
    /synchronous_commit is local/,
    /= on/,
  ],
  [
    'asynchronous standbys',
    judgeStandbys({ ...standbys, synchronous_standby_names: '' }),
    'warning',
    /none of 2 standbys/,
    /synchronous_mode/,
  ],
  [
    'an old schema',
    judgeSchema({ state: 'behind', release: null }, release('1.0.0')),
    'problem',
    /missing/,
    /jobferry migrate/,
  ],
  [
    'a new schema',
    judgeSchema({ state: 'newer', release: release('1.1.0', '1.0.0') }, release('1.0.0')),
    'problem',
    /later version of Jobferry, 1\.1\.0; the oldest release that may run beside it is 1\.0\.0/,
    /that version/,
  ],
  [
    'the schema of a build that does not say its release',
    judgeSchema({ state: 'newer', release: null }, release('1.0.0')),
    'problem',
    /later version/,
    /that version/,
  ],
  ['no index', judgeIndexes({ missing: ['a_idx'], invalid: [] }), 'problem', /a_idx is missing/, /concurrently/],
  [
    'half an index',
    judgeIndexes({ missing: [], invalid: ['b_idx'] }),
    'problem',
    /b_idx/,
    /reindex index concurrently b_idx/,
  ],
  [
    'dead rows',
    judgeVacuum({ ...vacuum, tables: [{ ...table, dead: 50_000 }] }),
    'warning',
    /33 % .* job/,
    /vacuum \(analyze\) job/,
  ],
  ['a slot', judgeVacuum({ ...vacuum, idleSlots: ['s'] }), 'problem', /slot s/, /pg_drop_replication_slot\('s'\)/],
  ['old rows', judgeVacuum({ ...vacuum, xidAge: 1_050_000_000 }), 'problem', /50 %/, /freeze/],
  [
    'a sequence',
    judgeSequence({ last: 6, used: 7 }),
    'problem',
    /behind/,
    /setval\('jobferry_claim_token_seq', 1000007\)/,
  ],
  ['a far clock', judgeClock(5100), 'warning', /5\.1 s ahead/, /NTP/],
  ['late search', judgeLags({ ...lags, searchSeconds: 301 }, true), 'warning', /search index is late by 5 min/, /CPU/],
  ['late statistics', judgeLags({ ...lags, statisticsSeconds: 400 }, true), 'warning', /statistics/, /CPU/],
  ['late wake-ups', judgeLags({ ...lags, wakeUpSeconds: 61 }, true), 'warning', /wake-ups/, /worker/],
  [
    'late work without a worker',
    judgeLags({ ...lags, searchSeconds: 301 }, false),
    'warning',
    /search/,
    /start a worker/,
  ],
  [
    'a database that is gone',
    [judgeUnreachable('connect ECONNREFUSED', false)],
    'problem',
    /ECONNREFUSED/,
    /DATABASE_URL/,
  ],
  ['a late sweep', judgeLags({ ...lags, sweepSeconds: 1801 }, true), 'warning', /sweep/, /worker/],
  [
    'late jobs',
    judgeLags({ ...lags, oldestDue: { ...due, seconds: 61 } }, true),
    'warning',
    /queue mails .* 61 s/,
    /queue show q1/,
  ],
  [
    'jobs that are days late',
    judgeLags({ ...lags, oldestDue: { ...due, seconds: 260_000 } }, true),
    'warning',
    /queue mails has been due for 3 d/,
    /queue show q1/,
  ],
  [
    'a full disk',
    judgeDisk({ databaseBytes: GIB, isFull: false, disk: { freeBytes: GIB, totalBytes: 9 * GIB } }),
    'problem',
    /1\.0 GiB are free/,
    /free space/,
  ],
  [
    'a full disk elsewhere',
    judgeDisk({ databaseBytes: GIB, isFull: true, disk: null }),
    'problem',
    /full, so it takes no writes; the database uses 1\.00 GiB/,
    /delete nothing in pg_wal/,
  ],
  ['no worker', judgeFleet([{ ...all, role: 'api' }], release('1.0.0'), null), 'problem', /no worker/, /--role worker/],
  [
    'a process with a wrong clock',
    judgeFleet([all, { ...all, role: 'worker', clockOffsetSeconds: -7200 }], release('1.0.0'), null),
    'warning',
    /a process \(worker, started at 2026-11-24T00:00:00.000Z on app1, pid 7\) is 7200\.0 s ahead of that of the database/,
    /NTP/,
  ],
  ['no API', judgeFleet([{ ...all, role: 'worker' }], release('1.0.0'), null), 'problem', /no API/, /--role api/],
  [
    'two versions',
    judgeFleet([all, { ...all, version: '1.1.0' }], release('1.1.0', '1.0.0'), release('1.1.0', '1.0.0')),
    'warning',
    /1\.0\.0, 1\.1\.0/,
    /upgrade/,
  ],
  [
    'a process that may not run beside this version',
    judgeFleet([all, { ...all, version: '1.2.0' }], release('1.2.0', '1.1.0'), release('1.0.0')),
    'problem',
    /release 1\.0\.0 \(1 API and worker\)/,
    /to 1\.1\.0 or later/,
  ],
  [
    'a process that may not run beside the version of the database',
    judgeFleet([all], release('1.1.0', '1.0.0'), release('1.2.0', '1.1.0')),
    'problem',
    /release 1\.0\.0/,
    /to 1\.1\.0 or later/,
  ],
  [
    'another version',
    judgeFleet([all], release('1.1.0', '1.0.0'), null),
    'warning',
    /1\.0\.0, and this command 1\.1\.0/,
    /their version/,
  ],
];

const twoProcesses = (settings: object) => [all, { ...all, role: 'worker', settings: { ...SETTINGS, ...settings } }];

describe('doctor', () => {
  it('finds some dead rows right', () => {
    const tables = [table, { ...table, live: 10, dead: 49_999 }];
    expect(judgeVacuum({ ...vacuum, tables })).toEqual([]);
  });

  it.each([
    [
      'lacks a key that stored texts need',
      { keys: [] },
      ['0000000a'],
      'problem',
      /worker, .* on app1, pid 7\) lacks the key 0000000a and delivers nothing/,
    ],
    [
      'lacks the new first key of another one',
      { keys: [] },
      [],
      'warning',
      /lacks the key 0000000a, so nothing is encrypted with it yet/,
    ],
    ['has other plans', { shared: { PLANS: 'p2' } }, [], 'warning', /^PLANS is not the same .*pid 7\): p1; .*: p2$/],
    [
      'has another retention',
      { shared: { JOB_RETENTION_SECONDS: '3600' } },
      [],
      'warning',
      /^JOB_RETENTION_SECONDS is not .*, so the shortest one removes the jobs of all: .*: 259200; .*: 3600$/,
    ],
    [
      'is another build',
      { commit: 'b'.repeat(40) },
      [],
      'warning',
      /builds of version 1\.0\.0 are running: aaaaaaaaaaaa, bbbbbbbbbbbb$/,
    ],
  ] as const)('names a process that %s', (_what, settings, needed, status, said) => {
    const found = judgeSettingsApart(twoProcesses(settings), needed);
    expect(found).toEqual([{ check: 'fleet', status, what: expect.stringMatching(said), fix: expect.any(String) }]);
    expect(judgeSettingsApart([all, all, { ...all, settings: null }], needed)).toEqual([]);
  });

  it('tells who holds a snapshot from 60 s on, and warns from 300 s on', () => {
    expect(judgeSnapshots({ ...snapshots, holders: [holder, { ...holder, seconds: 300 }] })).toEqual([
      {
        check: 'bloat',
        status: 'ok',
        fix: 'end it in that program, or: select pg_terminate_backend(123)',
        what: 'a session of ann (analyst-notebook, pid 123, idle in transaction) has had a transaction open for 80 s and keeps the rows that died in the last 12 transactions (27416 dead rows beside 31595 live ones)',
      },
      expect.objectContaining({ status: 'warning', what: expect.stringContaining(' for 5 min and ') }),
    ]);
    expect(judgeSnapshots({ ...snapshots, holders: [{ ...holder, ids: null }] })).toMatchObject([
      { status: 'ok', what: expect.stringMatching(/ for 80 s and keeps its locks, but no dead row at this moment$/) },
    ]);
  });

  it.each([
    [
      'prepared',
      { name: "it's", seconds: 300 },
      /^the prepared transaction it's of ann /,
      /^commit prepared 'it''s', or: rollback/,
    ],
    [
      'standby',
      { seconds: null, ids: 100_000 },
      /^the standby .*pid 123\) needs rows from before the last 100000/,
      /hot_standby_feedback/,
    ],
    [
      'slot',
      { name: 's1', seconds: null, ids: 100_000 },
      /^the replication slot s1 keeps rows/,
      /pg_drop_replication_slot\('s1'\)/,
    ],
  ] as const)('names a snapshot of the kind %s', (kind, change, what, fix) => {
    expect(judgeSnapshots({ ...snapshots, holders: [{ ...holder, ...change, kind }] })).toEqual([
      { check: 'bloat', status: 'warning', what: expect.stringMatching(what), fix: expect.stringMatching(fix) },
    ]);
  });

  it('is never content with what its role cannot see', () => {
    const fix = 'as a superuser: grant pg_read_all_stats to jobferry_run';
    const what = expect.stringMatching(/^the role jobferry_run cannot see the sessions of other roles, so /);
    expect(judgeLocks([], 'jobferry_run')).toEqual([{ check: 'locks', status: 'warning', what, fix }]);
    const bloat = judgeSnapshots({ ...snapshots, blindRole: 'jobferry_run' });
    expect(bloat).toEqual([{ check: 'bloat', status: 'warning', what, fix }]);
  });

  it.each(fine)('finds nothing wrong with %s', (_what, findings) => {
    expect(findings).toEqual([expect.objectContaining({ status: 'ok', fix: null })]);
  });

  it.each(wrong)('finds %s, and says what to do', (_what, findings, status, said, fix) => {
    expect(findings).toEqual([
      { check: expect.any(String), status, what: expect.stringMatching(said), fix: expect.stringMatching(fix) },
    ]);
  });
});
