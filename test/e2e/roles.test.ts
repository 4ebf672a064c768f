import { type GraphQLInputType, getNamedType, isEnumType, isInputObjectType, isListType, isNonNullType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasRole, type MemberRole } from '../../src/domain/access.ts';
import { rightsFor } from '../../src/domain/operation-rights.ts';
import { PAYLOAD_FIELDS } from '../../src/graphql/access/payload-texts.ts';
import { schema } from '../../src/graphql/schema.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { createMember, OIDC_ENV, type TestMember } from '../support/members.ts';
import { openReceiver, startService } from '../support/service.ts';
import { UNKNOWN_ID } from '../support/shapes.ts';
import { waitFor } from '../support/wait-for.ts';

/** Members with each role, with and without the right to see payloads, do and see what they may over the wire. */

const KEY = 'key-of-the-bootstrap-account';
/** Is in everything that only some may see. */
const SECRET = 'hush';

const people = {} as Record<'viewer' | 'operator' | 'admin' | 'reader', TestMember & { graphql: GraphQL }>;
let owner: GraphQL;
let baseUrl: string;
let queueId: string;
let deadId: string;
let nackedId: string;
let waitingId: string;
let deadLetterId: string;

beforeAll(async () => {
  const receiver = await openReceiver({ status: 500, body: `${SECRET}-answer` });
  const acking = await openReceiver({ status: 200, body: `${SECRET}-receipt` });
  const env = { ...OIDC_ENV, BOOTSTRAP_API_KEY: KEY };
  // OIDC needs PUBLIC_URL, whose origin a browser would send. The test sends it to the real address.
  const { api, jobferry, databaseUrl } = await startService({ ...env, PUBLIC_URL: 'http://127.0.0.1:8080' });
  ({ baseUrl } = jobferry);
  owner = createGraphQLClient(baseUrl, KEY);
  const at = { databaseUrl, baseUrl: 'http://127.0.0.1:8080' };
  for (const [name, access] of Object.entries({
    viewer: { role: 'viewer' },
    reader: { role: 'viewer', mayViewPayloads: true },
    operator: { role: 'operator' },
    admin: { role: 'admin' },
  } as const)) {
    const member = await createMember(at, access);
    people[name as keyof typeof people] = { ...member, graphql: createGraphQLClient(baseUrl, member.headers) };
  }

  const queue = await api.createQueue({ name: 'failing', webhookUrl: receiver.url, maxAttempts: 1 });
  queueId = queue.id;
  deadId = (await api.publish('failing', { payload: { card: `${SECRET}-payload` } })).id;
  await api.waitForStatus(deadId, 'dead');
  await api.createQueue({ name: 'acking', webhookUrl: acking.url, mode: 'ack', maxAttempts: 1 });
  nackedId = (await api.publish('acking', { payload: { card: `${SECRET}-payload` } })).id;
  await api.waitForStatus(nackedId, 'awaiting_ack');
  await owner.query(
    `mutation { extendAck(id: "${nackedId}", seconds: 60, progress: "${SECRET}-progress") { __typename } }`,
  );
  await api.call('POST', `/v1/jobs/${nackedId}/nack`, { retryable: false, reason: `${SECRET}-reason` });
  await api.waitForStatus(nackedId, 'dead');
  const holding = (await api.publish('acking', { payload: {} })).id;
  await api.waitForStatus(holding, 'awaiting_ack');
  await api.call('POST', `/v1/jobs/${holding}/defer`, { retryAfter: 600, scope: 'queue', reason: `${SECRET}-hold` });
  waitingId = (await api.publish('acking', { payload: {} })).id;
  const letters = await owner.query('{ deadLetters { nodes { id job { id } } } }');
  deadLetterId = letters.deadLetters.nodes.find(({ job }: { job: { id: string } }) => job.id === deadId).id;
  await owner.query(
    `mutation { cancelJobs(filter: { payload: { path: "card", op: EQ, value: "${SECRET}-value" },
       errorContains: "${SECRET}-text", queueNames: ["failing"] }) { __typename } }`,
  );
  for (const [name, query] of SAVED_VIEWS) {
    await owner.query(`mutation S($input: SaveViewInput!) { saveView(input: $input) { __typename } }`, {
      input: { page: 'JOBS', name, query },
    });
  }
});

/** Whatever could be, or hide, a condition on payloads has the secret. */
const SAVED_VIEWS = [
  ['a plain', 'q=state:dead+queue:failing,other+key:=a&order=oldest'],
  ['b bare', `q=${SECRET}-view`],
  ['c payload', `q=state:dead+payload.card:${SECRET}-view`],
  ['d error', `q=error:~${SECRET}-view`],
  ['e quoted', `q=queue:a%22+payload.card:${SECRET}-view`],
  ['f twice', `q=state:dead&q=text:~${SECRET}-view`],
  ['g other', `q=state:dead&more=${SECRET}-view`],
  ['h whole', `${SECRET}-view`],
] as const;

/** Arguments that GraphQL accepts, of things that do not exist. */
function argumentsOf(fields: readonly { name: string; type: GraphQLInputType; defaultValue?: unknown }[]): string {
  return fields
    .filter(({ type }) => isNonNullType(type))
    .map(({ name, type }) => `${name}: ${literalOf(type)}`)
    .join(', ');
}

function literalOf(type: GraphQLInputType): string {
  if (isNonNullType(type)) return literalOf(type.ofType);
  if (isListType(type)) return '[]';
  if (isEnumType(type)) return type.getValues()[0]?.name ?? '';
  if (isInputObjectType(type)) return `{${argumentsOf(Object.values(type.getFields()))}}`;
  const values: Record<string, string> = { ID: `"${UNKNOWN_ID}"`, Int: '1', Float: '1', Boolean: 'false' };
  return values[getNamedType(type).name] ?? '"none"';
}

function mutation(name: string): string {
  const field = schema.getMutationType()?.getFields()[name];
  const given = argumentsOf(field?.args ?? []);
  return `mutation { ${name}${given === '' ? '' : `(${given})`} { __typename } }`;
}

const MUTATIONS = Object.keys(schema.getMutationType()?.getFields() ?? {});
const FORBIDDEN = [expect.objectContaining({ extensions: expect.objectContaining({ code: 'FORBIDDEN' }) })];

describe.each<[MemberRole]>([['viewer'], ['operator'], ['admin']])('the role %s', (role) => {
  it.each(MUTATIONS.filter((name) => name !== 'createApiKey'))(
    `the table of roles decides whether the role ${role} may use the mutation %s`,
    async (name) => {
      const { errors, data } = await people[role].graphql.send(mutation(name));
      if (hasRole({ role, mayViewPayloads: false }, rightsFor(name).role)) {
        const isBlind = role !== 'admin';
        if (isBlind && PAYLOAD_FIELDS.has(`Mutation.${name}`)) expect([data, errors]).toEqual([null, FORBIDDEN]);
        else expect(errors).toBeUndefined();
      } else {
        expect([data, errors]).toEqual([null, FORBIDDEN]);
        expect(errors?.[0]?.message).toMatch(/^this needs the role [A-Z]+, and yours is [A-Z]+$/);
      }
    },
  );

  it('is what `me` says', async () => {
    const member = people[role];
    const { me } = await member.graphql.query(
      '{ me { label apiKeyId person { name email } role mayViewPayloads session { id isCurrent label } } }',
    );
    expect(me).toEqual({
      label: member.email,
      apiKeyId: null,
      person: { name: null, email: member.email },
      role: role.toUpperCase(),
      mayViewPayloads: role === 'admin',
      session: { id: member.sessionId, isCurrent: true, label: member.email },
    });
  });
});

it('an API key may do everything', async () => {
  expect((await owner.query('{ me { role mayViewPayloads person { name } session { id } } }')).me).toEqual({
    role: 'ADMIN',
    mayViewPayloads: true,
    person: null,
    session: null,
  });
});

it('a refused mutation changes nothing, and a permitted one is in the audit log with the person', async () => {
  const pause = `mutation { pauseQueue(id: "${queueId}") { ... on QueuePayload { queue { pause { by } } } } }`;
  expect((await people.viewer.graphql.send(pause)).data).toBeNull();
  expect((await owner.query(`{ queue(id: "${queueId}") { paused } }`)).queue.paused).toBe(false);
  const { email, id, graphql } = people.operator;
  expect((await graphql.query(pause)).pauseQueue.queue.pause.by).toBe(email);
  await graphql.query(`mutation { resumeQueue(id: "${queueId}") { __typename } }`);
  const { auditLog } = await owner.query(
    `{ auditLog(first: 2, targetId: "${queueId}") { nodes { action actor memberId apiKeyId } } }`,
  );
  expect(auditLog.nodes).toEqual([
    { action: 'queue.resume', actor: email, memberId: id, apiKeyId: null },
    { action: 'queue.pause', actor: email, memberId: id, apiKeyId: null },
  ]);
});

const JOB = `
  payload payloadText lastError progress { text at } waiting { message reason }
  attempts { status error webhookStatusCode responseBody }
  deadLetter { error reason fingerprint } queue { hold { until reason } }`;

const everything = () => `{
  dead: job(id: "${deadId}") { ${JOB} }
  nacked: job(id: "${nackedId}") { ${JOB} }
  waiting: job(id: "${waitingId}") { ${JOB} }
  jobs(first: 5) { nodes { ${JOB} } }
  queues(first: 2) { nodes { hold { reason } jobs(first: 5) { nodes { ${JOB} } } errorGroups(first: 2) { error sample { error job { payload } } } } }
  deadLetters(first: 5) { nodes { error job { ${JOB} } } }
  errorGroups(first: 2) { error fingerprint count sample { error job { payloadText } } }
  bulkActions { nodes { selection } }
  auditLog(first: 50) { nodes { action before after } }
  savedViews { name query }
}`;

describe('without the right to see payloads', () => {
  it.each(['viewer', 'operator'] as const)('a member with the role %s gets none of it', async (role) => {
    const { data, errors, text } = await people[role].graphql.send(everything());
    expect(errors).toBeUndefined();
    expect(text).not.toContain(SECRET);
    expect(data.dead).toMatchObject({
      payload: null,
      payloadText: null,
      // Jobferry's own words stay.
      lastError: 'HTTP 500',
      attempts: [{ status: 'FAILED', error: 'HTTP 500', webhookStatusCode: 500, responseBody: null }],
      deadLetter: { error: 'HTTP 500', reason: 'ATTEMPTS_EXHAUSTED' },
    });
    expect(data.nacked).toMatchObject({
      lastError: null,
      progress: { text: null, at: expect.any(String) },
      attempts: [{ status: 'NACKED', error: null }],
    });
    expect(data.waiting.waiting).toMatchObject({
      reason: 'QUEUE_HELD',
      message: expect.stringMatching(/^The queue is held until \S+, as job [0-9a-f]{24} requested\.$/),
    });
    expect(data.bulkActions.nodes).toEqual([{ selection: { queueNames: ['failing'] } }]);
    const views = data.savedViews.filter(({ name }: { name: string }) => name !== 'none');
    expect(views).toEqual(SAVED_VIEWS.map(([name, query], n) => ({ name, query: n === 0 ? query : null })));
  });

  it.each([
    ['a member who may', () => people.reader.graphql],
    ['an admin', () => people.admin.graphql],
    ['an API key', () => owner],
  ])('%s gets all of it', async (_who, client) => {
    const { text, errors } = await client().send(everything());
    expect(errors).toBeUndefined();
    for (const what of ['payload', 'answer', 'reason', 'progress', 'hold', 'value', 'text', 'view']) {
      expect(text).toContain(`${SECRET}-${what}`);
    }
  });

  it.each([
    ['{ jobs(filter: { payload: { path: "card", op: EXISTS } }) { nodes { id } } }', 'filter.payload.path'],
    [
      '{ jobs(filter: { payload: { not: { path: "card", op: EXISTS } } }) { nodes { id } } }',
      'filter.payload.not.path',
    ],
    ['{ count(filter: { payload: { and: [{ path: "card", op: EXISTS }] } }) { count } }', 'filter.payload.and.path'],
    ['{ count(filter: { errorContains: "a" }) { count } }', 'filter.errorContains'],
    ['{ jobTimeline(filter: { errorContains: "a" }) { at } }', 'filter.errorContains'],
    [
      '{ queues(first: 2) { nodes { jobs(filter: { errorContains: "a" }) { nodes { id } } } } }',
      'filter.errorContains',
    ],
    ['{ deadLetters(filter: { errorContains: "a" }) { nodes { id } } }', 'filter.errorContains'],
    ['{ errorGroups(filter: { errorContains: "a" }) { count } }', 'filter.errorContains'],
    ['{ payloadPaths { value count } }', 'this'],
    ['{ payloadPaths { count } }', 'this'],
    ['{ payloadValues(path: "card") { value } }', 'this'],
    ['mutation { cancelJobs(filter: { errorContains: "a" }, dryRun: true) { __typename } }', 'filter.errorContains'],
  ])('%s is refused', async (operation, what) => {
    const { errors, text } = await people.operator.graphql.send(operation);
    expect(errors?.[0]).toMatchObject({
      message: `${what} needs the right to see payloads`,
      extensions: { code: 'FORBIDDEN' },
    });
    expect(text).not.toContain(SECRET);
    expect((await people.admin.graphql.send(operation)).errors).toBeUndefined();
  });

  it('a filter in a variable is refused, too', async () => {
    const { errors } = await people.viewer.graphql.send('query Q($f: JobFilter) { count(filter: $f) { count } }', {
      f: { payload: { path: 'card', op: 'EQ', value: 1 } },
    });
    expect(errors).toEqual(FORBIDDEN);
  });

  it('live updates have none of it', async () => {
    const document = `subscription { live(watch: { jobIds: ["${deadId}", "${nackedId}"], queueIds: ["${queueId}"] }) {
      ... on JobsUpdated { jobs { ${JOB} } } ... on QueueStats { queues { hold { reason } errorGroups { error } } } } }`;
    for (const [person, sees] of [
      [people.viewer, false],
      [people.reader, true],
    ] as const) {
      const stream = person.graphql.subscribe(document);
      const event = await stream.next();
      stream.close();
      expect(event.errors).toBeUndefined();
      expect(JSON.stringify(event).includes(SECRET)).toBe(sees);
    }
  });

  it('a job that was published and one that was replayed come back without payload', async () => {
    const { text, errors } = await people.operator.graphql.send(`mutation {
      publishJob(queue: "failing", input: { payload: { card: "${SECRET}-new" } }) { ... on PublishJobPayload { job { ${JOB} } } }
      replayDeadLetter(id: "${deadLetterId}") { ... on JobPayload { job { ${JOB} } } }
    }`);
    expect(errors).toBeUndefined();
    expect(text).toContain('"payload":null');
    expect(text).not.toContain(SECRET);
  });
});

describe('the webhook of an alert rule', () => {
  const shown = async (client: GraphQL) => {
    const { alertRules, alerts, auditLog } = await client.query(
      `{ alertRules { webhookUrl } alerts(first: 5) { nodes { rule { webhookUrl } } }
         auditLog(first: 3) { nodes { action before after } } }`,
    );
    return JSON.stringify({ alertRules, alerts, auditLog });
  };

  it('is whole only for those who may change the rule', async () => {
    const { createAlertRule } = await owner.query(
      `mutation { createAlertRule(input: { kind: USAGE, webhookUrl: "http://hooks.example:9/services/${SECRET}-first" }) {
         ... on CreateAlertRulePayload { rule { id } } } }`,
    );
    const { id } = createAlertRule.rule;
    await owner.query(
      `mutation { updateAlertRule(id: "${id}", input: { webhookUrl: "http://hooks.example:9/services/${SECRET}-rule?a=1" }) { __typename } }`,
    );
    const keyOf = async (scopes: string) => {
      const { createApiKey } = await owner.query(
        `mutation { createApiKey(scopes: [${scopes}]) { ... on CreateApiKeyPayload { key } } }`,
      );
      return createGraphQLClient(baseUrl, createApiKey.key);
    };
    for (const client of [people.viewer.graphql, people.operator.graphql, await keyOf('READ')]) {
      const { alertRules } = await client.query('{ alertRules { webhookUrl } }');
      expect(alertRules).toEqual([{ webhookUrl: 'http://hooks.example:9/…' }]);
      const { auditLog } = await client.query(`{ auditLog(targetId: "${id}") { nodes { before after } } }`);
      expect(auditLog.nodes).toMatchObject([
        { before: { webhookUrl: 'http://hooks.example:9/…' }, after: { webhookUrl: 'http://hooks.example:9/…' } },
        { before: null, after: { webhookUrl: 'http://hooks.example:9/…', kind: 'usage' } },
      ]);
      expect(await shown(client)).not.toContain(SECRET);
    }
    const silenced = `mutation { silenceAlertRule(id: "${id}") { ... on AlertRulePayload { rule { webhookUrl } } } }`;
    expect((await people.operator.graphql.query(silenced)).silenceAlertRule.rule.webhookUrl).not.toContain(SECRET);
    for (const client of [people.admin.graphql, owner, await keyOf('READ, MANAGE')]) {
      const { alertRules } = await client.query('{ alertRules { webhookUrl } }');
      expect(alertRules).toEqual([{ webhookUrl: `http://hooks.example:9/services/${SECRET}-rule?a=1` }]);
      expect(await shown(client)).toContain(`${SECRET}-rule`);
    }
    const stream = people.viewer.graphql.subscribe(
      'subscription { live(watch: { auditLog: true }) { ... on AuditLogChanged { entries { action before after } } } }',
    );
    const event = await stream.next();
    stream.close();
    expect(JSON.stringify(event)).toContain('alert_rule.');
    expect(JSON.stringify(event)).not.toContain(SECRET);
  });
});

describe('sessions and members', () => {
  it('are listed for an admin, and only the own sessions for others', async () => {
    const list =
      '{ sessions { totalCount nodes { id label isCurrent member { email role } apiKey { id } expiresAt } } }';
    const all = (await people.admin.graphql.query(list)).sessions;
    expect(all.totalCount).toBe(4);
    const own = (await people.viewer.graphql.query(list)).sessions;
    expect(own.nodes).toMatchObject([{ id: people.viewer.sessionId, isCurrent: true, member: { role: 'VIEWER' } }]);

    const members = '{ members { totalCount nodes { id email role mayViewPayloads issuer subject sessionCount } } }';
    const { nodes } = (await people.admin.graphql.query(members)).members;
    expect(nodes.map(({ email }: { email: string }) => email).sort()).toEqual(
      Object.values(people)
        .map(({ email }) => email)
        .sort(),
    );
    expect(nodes.map(({ sessionCount }: { sessionCount: number }) => sessionCount)).toEqual([1, 1, 1, 1]);
    expect((await people.operator.graphql.send(members)).errors).toEqual(FORBIDDEN);
  });

  it('end by the own hand or by an admin’s, and not by another member’s', async () => {
    const end = (id: string) => `mutation { endSession(id: "${id}") { __typename ... on EndSessionPayload { id } } }`;
    const { viewer, reader, operator, admin } = people;
    const foreign = await viewer.graphql.query(end(reader.sessionId));
    expect(foreign.endSession.__typename).toBe('NotFoundError');
    expect((await reader.graphql.query(end(reader.sessionId))).endSession.id).toBe(reader.sessionId);
    await waitFor(async () => (await ended(reader)) === 401);
    expect((await admin.graphql.query(end(viewer.sessionId))).endSession.id).toBe(viewer.sessionId);
    await waitFor(async () => (await ended(viewer)) === 401);

    const ofMember = `mutation { endSessionsOfMember(id: "${operator.id}") { ... on EndSessionsOfMemberPayload { ended } } }`;
    expect((await admin.graphql.query(ofMember)).endSessionsOfMember.ended).toBe(1);
    await waitFor(async () => (await ended(operator)) === 401);
    const { auditLog } = await owner.query('{ auditLog(first: 3) { nodes { action actor targetName } } }');
    expect(auditLog.nodes).toEqual([
      { action: 'sessions.end', actor: admin.email, targetName: operator.email },
      { action: 'session.end', actor: admin.email, targetName: viewer.email },
      { action: 'session.end', actor: reader.email, targetName: reader.email },
    ]);
  });

  /** The answer's text is of HTTP, not of GraphQL. */
  async function ended({ graphql }: { graphql: GraphQL }): Promise<number> {
    return (await graphql.send('{ me { role } }')).status;
  }
});
