import { describe, expect, it } from 'vitest';
import { connect } from '../support/database.ts';
import { createGraphQLClient } from '../support/graphql.ts';
import { startInProcess } from '../support/in-process.ts';
import { startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** Hostile GraphQL (docs/invariants.md, G1 to G20): each is refused, and nothing is run. */

const KEY = 'key-of-the-bootstrap-account';
const { jobferry, databaseUrl } = await startService({ BOOTSTRAP_API_KEY: KEY });
const graphql = createGraphQLClient(jobferry.baseUrl, KEY);

const nested = (depth: number) =>
  `{ queues { nodes ${'{ jobs { nodes '.repeat(depth)}{ id }${' } }'.repeat(depth)} } }`;
const DOCUMENTS: [name: string, code: string, document: string, variables?: object][] = [
  ['G1 a document 5000 levels deep', 'TOO_COMPLEX', `{ queues ${'{ nodes '.repeat(5000)}${'}'.repeat(5000)} }`],
  ['G1 a document deeper than the limit', 'TOO_COMPLEX', nested(8)],
  [
    'G2 10 000 aliases',
    'TOO_COMPLEX',
    `{ ${Array.from({ length: 10_000 }, (_, i) => `a${i}: __typename`).join(' ')} }`,
  ],
  [
    'G2 more aliases than the limit',
    'TOO_COMPLEX',
    `{ ${Array.from({ length: 40 }, (_, i) => `a${i}: me { label }`).join(' ')} }`,
  ],
  ['G3 20 000 times the same field', 'TOO_COMPLEX', `{ ${'__typename '.repeat(20_000)} }`],
  ['G4 5000 directives', 'TOO_COMPLEX', `{ me { label ${'@skip(if: false) '.repeat(5000)} } }`],
  ['G4 more directives than the limit', 'TOO_COMPLEX', `{ me { label ${'@skip(if: false) '.repeat(60)} } }`],
  ['G5 more than 3000 tokens', 'TOO_COMPLEX', `{ ${'me { label } '.repeat(1000)} }`],
  [
    'G6 circular fragments',
    'GRAPHQL_VALIDATION_FAILED',
    '{ me { ...A } } fragment A on Me { ...B } fragment B on Me { ...A }',
  ],
  ['G16 no query', 'GRAPHQL_PARSE_FAILED', ''],
  ['G16 a malformed query', 'GRAPHQL_PARSE_FAILED', '{ me { label }'],
  ['G16 an unknown field', 'GRAPHQL_VALIDATION_FAILED', '{ unknown }'],
  ['G16 a missing variable', 'BAD_USER_INPUT', 'query Q($id: ID!) { job(id: $id) { id } }'],
  [
    'G16 a variable of the wrong type',
    'BAD_USER_INPUT',
    'query Q($first: Int) { queues(first: $first) { totalCount } }',
    { first: 'x' },
  ],
  ['G17 an Int that is none', 'GRAPHQL_VALIDATION_FAILED', '{ queues(first: 99999999999) { totalCount } }'],
  [
    'a query that costs too much',
    'TOO_COMPLEX',
    '{ queues(first: 100) { nodes { jobs(first: 100) { nodes { attempts { error } } } } } }',
  ],
];

describe('a hostile document', () => {
  it.each(DOCUMENTS)('%s is answered with 400', async (_name, code, document, variables) => {
    const answer = await graphql.send(document, variables);
    expect(answer.status).toBe(400);
    expect(answer.data ?? null).toBeNull();
    expect(answer.errors?.[0]?.message).toMatch(/\S/);
    expect(answer.errors?.map((error) => error.extensions?.code)).toEqual([code]);
  });

  it('G20 that makes keys by the dozen makes none', async () => {
    const document = `mutation { ${Array.from({ length: 100 }, (_, i) => `k${i}: createApiKey { __typename }`).join(' ')} }`;
    expect((await graphql.send(document)).status).toBe(400);
    const { account } = await graphql.query('{ account { apiKeys { id } } }');
    expect(account.apiKeys).toHaveLength(1);
  });
});

describe('a hostile value', () => {
  const SCALARS: [name: string, document: string, variables?: object][] = [
    ['NUL in a name', 'query Q($v: String) { queue(name: $v) { id } }', { v: 'a\0b' }],
    ['a lone surrogate in a name', 'query Q($v: String) { queue(name: $v) { id } }', { v: '\ud800' }],
    ['NUL in an id', 'query Q($v: ID!) { job(id: $v) { id } }', { v: 'a\0b' }],
    ['NUL in a search', 'query Q($v: String) { queues(search: $v) { totalCount } }', { v: '\0' }],
    ['NUL in the audit log', 'query Q($v: String) { auditLog(action: $v) { totalCount } }', { v: '\0' }],
  ];
  it.each(SCALARS)('%s matches nothing', async (_name, document, variables) => {
    const answer = await graphql.send(document, variables);
    expect(answer.errors).toBeUndefined();
    const [value] = Object.values(answer.data) as [null | { totalCount: number }];
    expect(value === null || value.totalCount === 0).toBe(true);
  });

  const REFUSED: [name: string, document: string, variables?: object][] = [
    ['NUL in a filter', 'query Q($f: JobFilter) { jobs(filter: $f) { totalCount } }', { f: { errorContains: '\0' } }],
    [
      'a payload condition of nothing',
      'query Q($f: JobFilter) { jobs(filter: $f) { totalCount } }',
      { f: { payload: {} } },
    ],
    [
      'a payload condition of everything',
      'query Q($f: JobFilter) { jobs(filter: $f) { totalCount } }',
      { f: { payload: { path: 'a', and: [] } } },
    ],
    [
      'a payload condition on an object',
      'query Q($f: JobFilter) { jobs(filter: $f) { totalCount } }',
      { f: { payload: { path: 'a', value: {} } } },
    ],
    ['a made-up cursor', '{ jobs(after: "nonsense") { nodes { id } } }'],
    ['first and last at once', '{ jobs(first: 1, last: 1) { nodes { id } } }'],
    ['a page above 100', '{ jobs(first: 101) { nodes { id } } }'],
    ['a negative page', '{ jobs(first: -1) { nodes { id } } }'],
    ['a timeline of odd spans', '{ jobTimeline(bucketSeconds: 7) { at } }'],
    ['a timeline of no spans', '{ jobTimeline(bucketSeconds: 0) { at } }'],
    [
      'a timeline of a million spans',
      '{ jobTimeline(bucketSeconds: 300, from: "2000-01-01T00:00:00Z", to: "2030-01-01T00:00:00Z") { at } }',
    ],
  ];
  it.each(REFUSED)('%s is refused and not masked', async (_name, document, variables) => {
    const answer = await graphql.send(document, variables);
    expect(answer.errors?.map((error) => error.extensions?.code)).toEqual(['BAD_USER_INPUT']);
  });
});

describe('the way in', () => {
  const url = `${jobferry.baseUrl}/graphql`;
  const auth = { authorization: `Bearer ${KEY}` };
  const json = { ...auth, 'content-type': 'application/json' };
  const mutation = 'mutation { createApiKey { __typename } }';
  const CALLS: [name: string, status: number, init: RequestInit & { query?: string }][] = [
    [
      'no key',
      401,
      { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"query":"{me{label}}"}' },
    ],
    [
      'a wrong key',
      401,
      { method: 'POST', headers: { ...json, authorization: 'Bearer wrong-key-of-no-account' }, body: '{}' },
    ],
    ['G7 a batch', 400, { method: 'POST', headers: json, body: '[{"query":"{me{label}}"}]' }],
    ['G11 a form', 415, { method: 'POST', headers: auth, body: new URLSearchParams({ query: mutation }) }],
    ['G12 multipart', 415, { method: 'POST', headers: auth, body: multipart(mutation) }],
    [
      'G13 application/graphql',
      415,
      { method: 'POST', headers: { ...auth, 'content-type': 'application/graphql' }, body: mutation },
    ],
    ['G14 a mutation by GET', 405, { method: 'GET', headers: auth, query: mutation }],
    ['a query by GET', 405, { method: 'GET', headers: auth, query: '{me{label}}' }],
    ['PUT', 405, { method: 'PUT', headers: json, body: '{"query":"{me{label}}"}' }],
    [
      'G15 a body of 2 MB',
      413,
      { method: 'POST', headers: json, body: JSON.stringify({ query: ' '.repeat(2_000_000) }) },
    ],
    ['G16 malformed JSON', 400, { method: 'POST', headers: json, body: '{"query":' }],
    ['G16 a body of null', 400, { method: 'POST', headers: json, body: 'null' }],
    ['G16 a query that is no text', 400, { method: 'POST', headers: json, body: '{"query":{}}' }],
    [
      'G16 variables that are no object',
      400,
      { method: 'POST', headers: json, body: '{"query":"{me{label}}","variables":7}' },
    ],
  ];
  it.each(CALLS)('%s', async (_name, status, { query, ...init }) => {
    const response = await fetch(query === undefined ? url : `${url}?query=${encodeURIComponent(query)}`, init);
    expect(response.status).toBe(status);
    expect(response.headers.get('content-type')).toMatch(/^application\/(graphql-response\+)?json/);
    await response.json();
  });

  it.each([
    ['{}', 'Must provide query string.'],
    ['{"variables":{}}', 'Must provide query string.'],
    ['{"query":null}', 'Must provide query string.'],
    ['{"query":"{me{label}}","q":1}', 'Unexpected parameter "q" in the request body.'],
  ])('G16 %s is told what is wrong with it', async (body, message) => {
    const response = await fetch(url, { method: 'POST', headers: json, body });
    expect(response.status).toBe(400);
    const requestId = response.headers.get('x-request-id');
    expect(await response.json()).toEqual({ errors: [{ message, extensions: { code: 'BAD_REQUEST', requestId } }] });
  });

  const SUBSCRIPTION = 'subscription { queueStats { queues { id } } }';
  it.each([
    ['a query for a picture', 'image/png', '{ me { label } }'],
    ['a change for a page', 'text/html;q=0.9, application/json;charset=latin1', mutation],
    ['a subscription for one document', 'application/json', SUBSCRIPTION],
    ['a subscription in parts', 'multipart/mixed', SUBSCRIPTION],
  ])('refuses %s with 406 in the shape of GraphQL, and runs nothing', async (_name, accept, query) => {
    const before = await graphql.query('{ account { apiKeys { id } } }');
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...json, accept },
      body: JSON.stringify({ query }),
    });
    expect(response.status).toBe(406);
    expect(await response.json()).toEqual({
      errors: [
        {
          message: expect.stringContaining('text/event-stream'),
          extensions: { code: 'NOT_ACCEPTABLE', requestId: expect.any(String) },
        },
      ],
    });
    expect(await graphql.query('{ account { apiKeys { id } } }')).toEqual(before);
  });

  it.each([
    'application/json',
    'application/graphql-response+json; charset=utf-8',
    'application/*;q=0.5',
    'image/png, */*;q=0.1',
  ])('takes a query with accept: %s', async (accept) => {
    const body = JSON.stringify({ query: '{ me { label } }' });
    const response = await fetch(url, { method: 'POST', headers: { ...json, accept }, body });
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveProperty('data.me.label');
  });

  it('G18 shows nothing of an error of ours', async () => {
    // The database is gone: the driver's error text stays in the log.
    const victim = await startService({ BOOTSTRAP_API_KEY: KEY });
    const client = createGraphQLClient(victim.jobferry.baseUrl, KEY);
    await client.query('{ me { label } }');
    const connection = await connect(victim.databaseUrl);
    await connection.query('alter table audit_entry rename to elsewhere');
    const answer = await client.send('{ auditLog { nodes { id } } }');
    expect(answer.errors).toEqual([expect.objectContaining({ message: 'internal error' })]);
    const requestId = answer.errors?.[0]?.extensions?.requestId;
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
    const isLine = (line: { msg: string; requestId?: unknown }) => line.requestId === requestId;
    await waitFor(() => victim.jobferry.logs.find(isLine), { message: 'a line with the id of the request' });
    expect(victim.jobferry.logs.filter(isLine)).toMatchObject([{ level: 'error', msg: 'a GraphQL field failed' }]);
    expect(answer.text).not.toMatch(/audit_entry|select|prisma|at /i);
  });

  it('G8, G9 and G10: in production without explorer, introspection and suggestions', async () => {
    const env = { BOOTSTRAP_API_KEY: KEY, NODE_ENV: 'production' };
    const quiet = await startInProcess({ databaseUrl, role: 'api', env });
    const page = await fetch(`${quiet.baseUrl}/graphql`, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(405);
    const client = createGraphQLClient(quiet.baseUrl, KEY);
    const introspection = await client.send('{ __schema { types { name } } }');
    expect(introspection.status).toBe(400);
    const typos: [document: string, variables?: object][] = [
      ['{ queuez { totalCount } }'],
      ['{ queues(orderBy: TROUBEL) { totalCount } }'],
      ['{ queues(firts: 1) { totalCount } }'],
      ['query ($f: JobFilters) { count(filter: $f) { count } }'],
      ['query ($f: JobFilter) { count(filter: $f) { count } }', { f: { statuses: ['DAED'] } }],
      ['query ($f: JobFilter) { count(filter: $f) { count } }', { f: { statusse: [] } }],
    ];
    for (const [document, variables] of typos) {
      const { status, text } = await client.send(document, variables);
      expect([status, text.includes('Did you mean')], document).toEqual([400, false]);
    }
  });

  it('shows the explorer to browsers, with nothing of another host', async () => {
    const page = await fetch(url, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(200);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/default-src 'none'/);
    expect(policy).not.toMatch(/https?:/);
    expect(await page.text()).toContain('id="api-key"');
  });
});

function multipart(query: string): FormData {
  const form = new FormData();
  form.set('operations', JSON.stringify({ query }));
  form.set('map', '{}');
  return form;
}
