/** A bug in the source, planted in a copy of the repository, and a test that has to fail because of it. */
export interface Mutant {
  id: string;
  what: string;
  /** Relative to the repository, and what is replaced there: exactly once. */
  file: string;
  from: string;
  to: string;
  /** The test file, and the beginning of the test's own name. */
  seenBy: { file: string; test: string };
}

const PICK = 'prisma/functions/pick.sql';

/** Invariants that a run under faults does not touch. Each has a test of its own. */
export const MUTANTS: Mutant[] = [
  {
    id: 'I-11',
    what: 'a claim takes jobs whose lifetime is over',
    file: PICK,
    from: 'where due.deliver_by > p_at)',
    to: ')',
    seenBy: { file: 'test/db/claim.test.ts', test: 'starts no delivery after the delivery lifetime' },
  },
  {
    id: 'I-15',
    what: 'changes of an account do not wait for each other',
    file: 'src/db/connection/transactions.ts',
    from: ' for no key update`;',
    to: '`;',
    seenBy: { file: 'test/e2e/plans.test.ts', test: 'waits with an update for any other change of the account' },
  },
  {
    id: 'I-16',
    what: 'when a hold ends, all go at once',
    file: PICK,
    from: 'v_room := least(v_room, 1);',
    to: '',
    seenBy: { file: 'test/db/claim.test.ts', test: 'gives nothing while the hold lasts, then exactly one' },
  },
  {
    id: 'I-27',
    what: 'a bulk replay of all takes all',
    file: 'src/services/dead-letters/replay.ts',
    from: 'max: LIMITS.bulkReplay',
    to: 'max: 2_147_483_647',
    seenBy: { file: 'test/e2e/bounds.test.ts', test: 'a replay of everything takes 1000 a call' },
  },
  {
    id: 'I-28',
    what: 'jobs of a deleted queue are delivered',
    file: PICK,
    from: 'is_deleted := q.deleted_at is not null;',
    to: 'is_deleted := false;',
    seenBy: { file: 'test/e2e/queue-edits.test.ts', test: 'makes undelivered jobs dead' },
  },
  {
    id: 'I-28',
    what: 'the name of a deleted queue stays taken',
    file: 'src/db/queues/queues.ts',
    from: `
      where: { accountId, name: queue.name, deletedAt: null },`,
    to: `
      where: { accountId, name: queue.name },`,
    seenBy: { file: 'test/e2e/queue-edits.test.ts', test: 'frees its name at once' },
  },
  {
    id: 'I-30',
    what: 'racing creates of an account all see the same count',
    file: 'src/db/connection/transactions.ts',
    from: ' for no key update`;',
    to: '`;',
    seenBy: { file: 'test/e2e/plans.test.ts', test: 'waits with a create for any other change' },
  },
  {
    id: 'I-31',
    what: "another account's queue is found",
    file: 'src/db/queues/queues.ts',
    from: 'prisma.queue.findFirst({ where: { id: queueId, accountId, deletedAt: null }, select: VISIBLE })',
    to: 'prisma.queue.findFirst({ where: { id: queueId, deletedAt: null }, select: VISIBLE })',
    seenBy: { file: 'test/e2e/tenancy.test.ts', test: 'answers byte for byte what was never made' },
  },
  {
    id: 'I-32',
    what: 'the audit log tells the signing secret',
    file: 'src/db/queues/queues.ts',
    from: `action: 'queue.create', ...target, after }`,
    to: `action: 'queue.create', ...target, after: { ...after, signingSecret: queue.signingSecret } }`,
    seenBy: { file: 'test/e2e/secrets.test.ts', test: 'no key and no secret is in the database' },
  },
  {
    id: 'I-33',
    what: 'keys are remembered for a minute',
    file: 'src/services/accounts/credential-cache.ts',
    from: 'const CACHE_MS = 900;',
    to: 'const CACHE_MS = 60_000;',
    seenBy: { file: 'test/e2e/operating.test.ts', test: 'is refused by every process within a second' },
  },
  {
    id: 'I-34',
    what: 'the sweep leaves dead jobs',
    file: 'src/db/retention/sweep.ts',
    from: 'from job j where j.id > $1',
    to: `from job j where j.status <> 'dead' and j.id > $1`,
    seenBy: { file: 'test/e2e/retention.test.ts', test: 'keeps everything until its deadline, and nothing after it' },
  },
  {
    id: 'I-36',
    what: 'no process looks for work that has no wake-up',
    file: 'src/worker/maintenance/maintenance.ts',
    from: 'const RECONCILE_MS = 5000;',
    to: 'const RECONCILE_MS = 3_600_000;',
    seenBy: { file: 'test/e2e/recovering.test.ts', test: 'may lose every wake-up' },
  },
  {
    id: 'I-38',
    what: 'a process that delivers claims for no other queue',
    file: 'src/worker/dispatch/dispatcher.ts',
    from: 'this.#runningClaims < MAX_CLAIMS',
    to: 'this.#deliveries.count === 0',
    seenBy: { file: 'test/e2e/bounds.test.ts', test: 'keeps no other queue waiting' },
  },
  {
    id: 'I-39',
    what: 'a NUL in a text goes to the database',
    file: 'src/domain/text.ts',
    from: `!text.includes('\\0') && `,
    to: '',
    seenBy: { file: 'test/e2e/hostile-values.test.ts', test: 'H63 H64 H65 400 for the idempotencyKey' },
  },
  {
    id: 'I-46',
    what: 'a batch of ended lifetimes reads the backlog of each queue',
    file: 'src/worker/maintenance/recover.ts',
    from: 'const QUEUES_AT_ONCE = 50;',
    to: 'const QUEUES_AT_ONCE = 1;',
    seenBy: { file: 'test/db/reconcile.test.ts', test: 'ends lifetimes of many queues in turn' },
  },
  {
    id: 'I-47',
    what: 'the index of payloads does not go back with the clock',
    file: 'prisma/functions/search.sql',
    from: "if v_after > jobferry_first_id(jobferry_now() - p_lag + interval '1 ms') then",
    to: 'if false then',
    seenBy: { file: 'test/db/search-index.test.ts', test: 'goes back with the clock' },
  },
  {
    id: 'I-48',
    what: 'a new connection is checked when a caller that may have left owns it',
    file: 'src/db/connection/connections.ts',
    from: 'onConnect: (client) => this.#check(client, guard),',
    to: 'verify: (client: pg.PoolClient, done: (error?: Error) => void) => void this.#check(client, guard).then(() => done(), done),',
    seenBy: { file: 'test/db/connections.test.ts', test: 'leaves that connection to others' },
  },
  {
    id: 'I-49',
    what: 'a late timer ends a delivery before the sockets are read',
    file: 'src/delivery/exchange.ts',
    from: 'if (!this.#wasHeldUp && performance.now() - this.#dueAt > HELD_UP_MS) {',
    to: 'if (performance.now() - this.#dueAt > 1e9) {',
    seenBy: { file: 'test/delivery/send.test.ts', test: 'counts, because it was sent in time' },
  },
  {
    id: 'I-49',
    what: 'a late timer decides before the sockets are read',
    file: 'src/pacing/decide-after.ts',
    from: 'if (performance.now() - dueAt > HELD_UP_MS) timer = setTimeout(decide, HELD_UP_MS);\n    else decide();',
    to: 'decide();',
    seenBy: { file: 'test/pacing/decide-after.test.ts', test: 'I-49: a late timer decides after' },
  },
  {
    id: 'I-50',
    what: 'a delivery that could not begin uses up an attempt',
    file: 'src/domain/transition.ts',
    from: 'const putBack = { attempts: job.attempts - 1, isBilled',
    to: 'const putBack = { attempts: job.attempts, isBilled',
    seenBy: { file: 'test/domain/transition.test.ts', test: 'D38: a delivery that could not begin' },
  },
  {
    id: 'I-51',
    what: 'a process works between any two connections that it accepts',
    file: 'src/pacing/arrivals.ts',
    from: 'const ACCEPTING_TURNS = 32;',
    to: 'const ACCEPTING_TURNS = 1;',
    seenBy: { file: 'test/http/arrivals.test.ts', test: 'I-51 accepts new connections before the work' },
  },
  {
    id: 'I-52',
    what: 'a person is called by the name that the person chose',
    file: 'src/domain/audit.ts',
    from: "if (email?.includes('@')) return email;",
    to: "if ((email ?? name) !== null) return email ?? name ?? '';",
    seenBy: { file: 'test/domain/audit.test.ts', test: 'labels never look alike' },
  },
  {
    id: 'I-53',
    what: 'a restore lets rules and actions refer to queues of another account',
    file: 'src/db/operator/backup/restoration.ts',
    from: "'not exists (select from queue q where q.id = r.queue_id and q.account_id <> r.account_id)'",
    to: "'true'",
    seenBy: { file: 'test/services/backup.test.ts', test: 'refers to no queue and no action of another account' },
  },
  {
    id: 'I-54',
    what: 'a probe of a breaker uses up an attempt',
    file: 'src/domain/breaker.ts',
    from: 'attempts: job.attempts - 1,',
    to: 'attempts: job.attempts,',
    seenBy: { file: 'test/domain/breaker.test.ts', test: 'uses up no attempt, not even the last one' },
  },
  {
    id: 'I-54',
    what: 'an open breaker lets its queue go when its probe is lost',
    file: 'prisma/functions/settle.sql',
    from: 'hold_until > p_now or breaker_opened_at is not null then',
    to: 'hold_until > p_now then',
    seenBy: { file: 'test/db/breaker.test.ts', test: 'goes on when its probe is lost with its worker' },
  },
];
