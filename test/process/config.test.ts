import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Cipher } from '../../src/db/connection/cipher.ts';
import { DEFAULT_PLANS } from '../../src/domain/plan.ts';
import { SHARED_SETTINGS } from '../../src/domain/release.ts';
import { ConfigError, parseConfig } from '../../src/process/config.ts';
import { settingsOf } from '../../src/process/start/settings.ts';

function complaintOf(env: Record<string, string>): string {
  try {
    parseConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('defaults (docs/configuration.md)', () => {
  it('limits requests if it is told to', () => {
    const variables = { REQUESTS_PER_SECOND_OF_KEY: '5', REQUESTS_PER_SECOND_OF_ACCOUNT: '9' };
    expect(parseConfig(variables).requestRates).toEqual({ ofKey: 5, ofAccount: 9 });
  });

  it('needs no variable at all', () => {
    expect(parseConfig({})).toEqual({
      role: 'all',
      autoMigrate: true,
      listenWhen: 'starting',
      queuesFile: null,
      host: '127.0.0.1',
      port: 8080,
      shutdownDelayMs: 0,
      corsOrigins: [],
      accessLog: false,
      databaseUrl: undefined,
      replica: null,
      dataDir: '.data',
      allowUnsafeDurability: false,
      bootstrapApiKey: undefined,
      bootstrapPlan: 'pro',
      encryptionKeys: [],
      webhookAllowCidrs: ['127.0.0.0/8', '::1/128'],
      webhookDnsServers: null,
      webhookProxyUrl: undefined,
      webhookTimeoutMs: 15_000,
      jobRetentionMs: 259_200_000,
      jobLifetimeMs: 86_400_000,
      retentionSweepMs: 60_000,
      maxClockJumpMs: 300_000,
      plans: DEFAULT_PLANS,
      reportUrl: null,
      signatureHeader: 'x-service-signature',
      templates: {
        anthropic: { mode: 'ack', ackTimeout: 600, backoffType: 'exponential' },
        openai: { mode: 'ack', ackTimeout: 300, backoffType: 'exponential' },
      },
      maxBodyBytes: 1_048_576,
      workerCapacity: 1000,
      workerLinkPort: 0,
      requestRates: { ofKey: null, ofAccount: null },
      logLevel: 'info',
      alertIntervalMs: 15_000,
      smtp: null,
      pagerDutyUrl: 'https://events.pagerduty.com/v2/enqueue',
      metrics: { host: '127.0.0.1', port: null, token: null, maxQueues: 0 },
      graphiql: true,
      dashboard: true,
      publicUrl: null,
      trustedProxies: [],
      sessionMaxMs: 43_200_000,
      oidc: null,
      environment: 'development',
    });
  });

  it('takes a variable set to nothing for one not set', () => {
    expect(parseConfig({ PORT: '', DATABASE_URL: '', PLANS: '', BOOTSTRAP_API_KEY: '' })).toEqual(parseConfig({}));
  });

  it('is open to other machines only with a database of its own', () => {
    expect(parseConfig({ DATABASE_URL: 'postgresql://db/jobferry' }).host).toBe('0.0.0.0');
    expect(parseConfig({ DATABASE_URL: 'postgresql://db/jobferry', HOST: '::1' }).host).toBe('::1');
  });

  it('closes loopback and GraphiQL in production, unless configured otherwise', () => {
    expect(parseConfig({ NODE_ENV: 'production' })).toMatchObject({ webhookAllowCidrs: [], graphiql: false });
    const told = parseConfig({ NODE_ENV: 'production', WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8', GRAPHIQL: '1' });
    expect(told).toMatchObject({ webhookAllowCidrs: ['10.0.0.0/8'], graphiql: true });
  });

  it('closes loopback everywhere when the list is set to nothing', () => {
    expect(parseConfig({ WEBHOOK_ALLOW_CIDRS: '' }).webhookAllowCidrs).toEqual([]);
  });
});

describe('metrics', () => {
  it('name queues only if they have a port of their own or need a token', () => {
    const token = 'token-of-the-metrics';
    expect(parseConfig({ METRICS_TOKEN: token }).metrics).toMatchObject({ port: null, token, maxQueues: 100 });
    expect(parseConfig({ METRICS_PORT: '9464' }).metrics).toMatchObject({ port: 9464, token: null, maxQueues: 100 });
    expect(parseConfig({ METRICS_PORT: '0', METRICS_MAX_QUEUES: '7' }).metrics).toMatchObject({
      port: 0,
      maxQueues: 7,
    });
    expect(parseConfig({ METRICS_MAX_QUEUES: '7' }).metrics.maxQueues).toBe(0);
  });

  it.each([
    ['METRICS_PORT', '70000'],
    ['METRICS_TOKEN', 'short'],
    ['METRICS_MAX_QUEUES', '1001'],
  ])('%s: %s is refused, without its value', (name, value) => {
    const refused = complaintOf({ [name]: value });
    expect(refused).toContain(name);
    expect(refused).not.toContain(value);
  });
});

describe('the OpenID provider', () => {
  const OIDC = {
    PUBLIC_URL: 'https://example.com/jobferry',
    OIDC_ISSUER: 'https://id.example.com',
    OIDC_CLIENT_ID: 'jobferry',
    OIDC_ROLES: '{"groups":{"ops":"operator+payloads"}}',
  };

  it('needs a client, roles and the address of the dashboard', () => {
    const { oidc, publicUrl } = parseConfig({ ...OIDC, OIDC_CLIENT_SECRET: 'x' });
    expect(publicUrl?.href).toBe('https://example.com/jobferry/');
    expect(oidc).toEqual({
      issuer: new URL('https://id.example.com/'),
      clientId: 'jobferry',
      clientSecret: 'x',
      scopes: 'openid profile email',
      roles: new Map([['groups', new Map([['ops', { role: 'operator', mayViewPayloads: true }]])]]),
      only: false,
    });
  });

  it.each([
    [{ PUBLIC_URL: '' }, 'PUBLIC_URL: must be given with OIDC_ISSUER, which sends people back to it'],
    [{ OIDC_CLIENT_ID: '' }, 'OIDC_CLIENT_ID: must be given with OIDC_ISSUER'],
    [{ OIDC_ROLES: '' }, 'OIDC_ROLES: must be given with OIDC_ISSUER, because without it no person may sign in'],
    [{ OIDC_ISSUER: '' }, 'OIDC_CLIENT_ID: needs OIDC_ISSUER'],
    [{ OIDC_ISSUER: '', OIDC_CLIENT_ID: '', OIDC_ROLES: '', OIDC_ONLY: '1' }, 'OIDC_ONLY: needs OIDC_ISSUER'],
    [{ OIDC_ISSUER: 'http://id.example.com' }, /^OIDC_ISSUER: must be an https:\/\/ address/],
    [{ OIDC_ISSUER: 'http://127.evil.example' }, /^OIDC_ISSUER: must be an https:\/\/ address/],
    [{ OIDC_ISSUER: 'id.example.com' }, /^OIDC_ISSUER: must be an https:\/\/ address/],
    [{ OIDC_ROLES: 'viewer' }, /^OIDC_ROLES: must be JSON such as/],
    [{ OIDC_ROLES: '{"groups":{"ops":"boss"}}' }, /^OIDC_ROLES: groups.ops: must be viewer/],
    [{ OIDC_SCOPES: 'profile' }, 'OIDC_SCOPES: must contain openid'],
  ])('%j is refused', (change, complaint) => {
    expect(complaintOf({ ...OIDC, ...change })).toMatch(complaint);
  });

  it.each(['http://localhost:4000', 'http://127.0.0.1:4000/x', 'http://[::1]:4000'])('may be at %s', (OIDC_ISSUER) => {
    expect(parseConfig({ ...OIDC, OIDC_ISSUER }).oidc?.issuer.href).toMatch(OIDC_ISSUER);
  });
});

describe('TRUSTED_PROXIES', () => {
  it.each([
    ['', []],
    ['10.0.0.1', ['10.0.0.1']],
    [' 10.0.0.0/8, fd00::/8 ,192.0.2.7,', ['10.0.0.0/8', 'fd00::/8', '192.0.2.7']],
  ])('%j is %j', (TRUSTED_PROXIES, list) => {
    expect(parseConfig({ TRUSTED_PROXIES }).trustedProxies).toEqual(list);
  });

  it('is empty by default', () => {
    expect(parseConfig({}).trustedProxies).toEqual([]);
  });
});

describe('listening', () => {
  it.each(['/run/jobferry/api.sock', '::', '::1', 'jobs.example.com', `/${'a'.repeat(102)}`])(
    'listening on %s is possible',
    (HOST) => {
      expect(parseConfig({ HOST }).host).toBe(HOST);
    },
  );

  it('a unix socket may have a trusted proxy without an address', () => {
    const trusted = { TRUSTED_PROXIES: 'unix:,10.0.0.1' };
    expect(parseConfig({ ...trusted, HOST: '/run/x' }).trustedProxies).toEqual(['unix:', '10.0.0.1']);
    // A connection that has just been closed has no address, too, and must not pass for a proxy.
    expect(complaintOf(trusted)).toMatch(/^TRUSTED_PROXIES: unix: needs/);
  });
});

describe('the address of METRICS_PORT', () => {
  it.each([
    ['that of the API', '10.0.0.1', '10.0.0.1'],
    ['this machine beside a unix socket, which Prometheus cannot read', '/run/x', '127.0.0.1'],
  ])('is %s', (_what, HOST, host) => {
    expect(parseConfig({ HOST, METRICS_PORT: '9464' }).metrics).toMatchObject({ host, port: 9464 });
  });
});

describe('CORS_ORIGINS', () => {
  it('is a list of origins', () => {
    const list = ['https://app.example.com', 'http://localhost:3000'];
    expect(parseConfig({ CORS_ORIGINS: list.join(', ') }).corsOrigins).toEqual(list);
  });
});

it.each([
  ['https://jobs.example.com', 'https://jobs.example.com'],
  ['http://10.0.0.7:8080/jobferry/', 'http://10.0.0.7:8080/jobferry'],
])('REPORT_URL %s begins report URLs as %s', (REPORT_URL, reportUrl) => {
  expect(parseConfig({ REPORT_URL }).reportUrl).toBe(reportUrl);
  expect(() => parseConfig({ REPORT_URL: 'jobs.example.com' })).toThrow('REPORT_URL: must be an address such as');
});

describe('SMTP_URL', () => {
  const SMTP_FROM = 'Jobferry <alerts@example.com>';
  const from = { name: 'Jobferry', address: 'alerts@example.com' };

  it.each([
    ['smtp://mail', { host: 'mail', port: 587, isSecure: false, login: null }],
    ['smtps://[::1]/', { host: '::1', port: 465, isSecure: true, login: null }],
    [
      'smtp://u%40x:p%2Fw@mail:25',
      { host: 'mail', port: 25, isSecure: false, login: { user: 'u@x', password: 'p/w' } },
    ],
  ])('%s is a server', (SMTP_URL, server) => {
    expect(parseConfig({ SMTP_URL, SMTP_FROM }).smtp).toEqual({ ...server, from });
  });

  it.each([
    ['mail.example.com:25', SMTP_FROM, 'SMTP_URL: must be smtp://'],
    ['smtp://user@mail', SMTP_FROM, 'SMTP_URL: must be'],
    ['smtp://mail?tls.rejectUnauthorized=false', SMTP_FROM, 'SMTP_URL: must be'],
    ['smtp://%ff:secret@mail', SMTP_FROM, 'SMTP_URL: must be'],
    ['smtp://mail', undefined, 'SMTP_FROM: must be given with SMTP_URL'],
    [undefined, SMTP_FROM, 'SMTP_FROM: needs SMTP_URL'],
    ['smtp://mail', 'Jobferry', 'SMTP_FROM: must be an address'],
    ['smtp://mail', 'x\r\nBcc: a@b.c <a@b.c>', 'SMTP_FROM: must be an address'],
  ])('%s with SMTP_FROM %j is refused, without its password', (SMTP_URL, sender, message) => {
    const parse = () => parseConfig({ SMTP_URL, SMTP_FROM: sender });
    expect(parse).toThrow(message);
    expect(parse).not.toThrow('secret');
  });
});

describe('PUBLIC_URL', () => {
  it.each([
    ['https://jobs.example.com', 'https://jobs.example.com/'],
    ['http://localhost:8080/', 'http://localhost:8080/'],
    ['https://example.com/a/b', 'https://example.com/a/b/'],
  ])('%s is %s', (PUBLIC_URL, href) => {
    expect(parseConfig({ PUBLIC_URL }).publicUrl?.href).toBe(href);
  });

  it.each([
    ['jobs.example.com', /must be an address/],
    ['ftp://example.com', /must be an address/],
    ['https://user:secret@example.com', /must be an address/],
    ['https://example.com/?x', /must be an address/],
    ['https://example.com/a//b', /must be an address/],
    ['https://example.com/a%2f', /must be an address/],
    ['https://example.com/v1', /must not begin with \/v1/],
    ['https://example.com/session/x', /must not begin with \/session/],
  ])('%s is refused', (PUBLIC_URL, complaint) => {
    expect(complaintOf({ PUBLIC_URL })).toMatch(complaint);
    expect(complaintOf({ PUBLIC_URL })).not.toContain('secret');
  });
});

describe('settings that a fleet shares', () => {
  const sharedBy = (env: NodeJS.ProcessEnv) =>
    settingsOf(parseConfig(env), { cipher: { keyIds: [] as readonly string[] } as Cipher }).shared;

  it('are reported with their values, and long ones as hashes', () => {
    expect(sharedBy({ WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8', WEBHOOK_TIMEOUT_SECONDS: '0.5' })).toEqual({
      PLANS: expect.stringMatching(/^[0-9a-f]{8}$/),
      TEMPLATES: expect.stringMatching(/^[0-9a-f]{8}$/),
      MAX_BODY_BYTES: '1048576',
      JOB_RETENTION_SECONDS: '259200',
      JOB_LIFETIME_SECONDS: '86400',
      WEBHOOK_TIMEOUT_SECONDS: '0.5',
      WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8',
      SIGNATURE_HEADER: 'x-service-signature',
      REPORT_URL: 'none',
    });
    expect(sharedBy({ REPORT_URL: `https://${'a'.repeat(60)}.example` }).REPORT_URL).toMatch(/^[0-9a-f]{8}$/);
  });

  it('are all of them, and for a worker those that it uses', () => {
    const ofApi = Object.keys(sharedBy({ ROLE: 'api' }));
    expect(ofApi.sort()).toEqual(Object.keys(SHARED_SETTINGS).sort());
    const isForApi = (name: string) => ['TEMPLATES', 'MAX_BODY_BYTES'].includes(name);
    expect(Object.keys(sharedBy({ ROLE: 'worker' })).sort()).toEqual(ofApi.filter((name) => !isForApi(name)));
  });

  it.each([
    ['plans', { PLANS: '{"free":{"queues":1,"window":9}}' }, { PLANS: '{"free":{"window":9,"queues":1}}' }],
    ['networks', { WEBHOOK_ALLOW_CIDRS: '10.0.0.0/8,::1/128' }, { WEBHOOK_ALLOW_CIDRS: '::1/128,10.0.0.0/8' }],
    ['headers', { SIGNATURE_HEADER: 'X-Signed' }, { SIGNATURE_HEADER: 'x-signed' }],
  ])('are the same for %s in another order or case', (_what, one, other) => {
    expect(sharedBy(one)).toEqual(sharedBy(other));
    expect(sharedBy(one)).not.toEqual(sharedBy({}));
  });
});

describe('values', () => {
  it('keeps durations in milliseconds, decimals included', () => {
    expect(parseConfig({ ALERT_INTERVAL_SECONDS: '0' }).alertIntervalMs).toBe(0);
    const config = parseConfig({ WEBHOOK_TIMEOUT_SECONDS: '0.25', RETENTION_SWEEP_SECONDS: '1.5' });
    expect(config).toMatchObject({ webhookTimeoutMs: 250, retentionSweepMs: 1500 });
  });

  it('takes whole numbers as a Helm chart writes those from a million', () => {
    expect(parseConfig({ MAX_BODY_BYTES: '2.097152e+06' }).maxBodyBytes).toBe(2_097_152);
  });

  it.each([
    ['hexadecimal', (key: Buffer) => key.toString('hex')],
    ['hexadecimal in capitals', (key: Buffer) => key.toString('hex').toUpperCase()],
    ['base64', (key: Buffer) => key.toString('base64')],
    ['base64 without padding', (key: Buffer) => key.toString('base64').replace('=', '')],
    ['base64url', (key: Buffer) => key.toString('base64url')],
  ])('takes encryption keys as %s', (_form, write) => {
    const keys = [randomBytes(32), randomBytes(32)];
    expect(parseConfig({ ENCRYPTION_KEY: keys.map(write).join(', ') }).encryptionKeys).toEqual(keys);
  });

  it('names the position of a wrong encryption key, and never the key', () => {
    const secret = 'ef'.repeat(31);
    expect(complaintOf({ ENCRYPTION_KEY: `${'ab'.repeat(32)},${secret}` })).toBe(
      'ENCRYPTION_KEY: key 2 must be 32 bytes as base64 or as 64 hexadecimal digits',
    );
  });

  it('takes port 0, for any free one', () => {
    expect(parseConfig({ PORT: '0' }).port).toBe(0);
  });

  it('merges PLANS over the built-in plans, field by field', () => {
    const { plans } = parseConfig({ PLANS: '{"free":{"monthlyAttempts":3}}' });
    expect(plans).toEqual({ ...DEFAULT_PLANS, free: { ...DEFAULT_PLANS.free, monthlyAttempts: 3 } });
  });

  it('takes a new plan when it is complete', () => {
    const team = { ...DEFAULT_PLANS.pro, queues: 20 };
    const config = parseConfig({ PLANS: JSON.stringify({ team }), BOOTSTRAP_PLAN: 'team' });
    expect(config.plans.team).toEqual(team);
    expect(config.bootstrapPlan).toBe('team');
  });

  it('compares header names without case', () => {
    expect(parseConfig({ SIGNATURE_HEADER: 'X-Acme-Signature' }).signatureHeader).toBe('x-acme-signature');
  });

  it.each(['constructor', '__proto__', 'toString'])('has no plan and no template called %s', (name) => {
    const { plans, templates } = parseConfig({});
    expect(plans[name]).toBeUndefined();
    expect(templates[name]).toBeUndefined();
  });

  it('cannot be changed afterwards', () => {
    const config = parseConfig({});
    for (const part of [config, config.plans, config.templates, config.webhookAllowCidrs, config.encryptionKeys]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});

describe('refusals', () => {
  it.each([
    ['ROLE', 'boss'],
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['PORT', 'http'],
    ['DATABASE_URL', 'mysql://localhost/jobferry'],
    ['ALLOW_UNSAFE_DURABILITY', 'maybe'],
    ['BOOTSTRAP_API_KEY', 'fifteen-letters'],
    ['BOOTSTRAP_API_KEY', 'k'.repeat(256)],
    ['BOOTSTRAP_API_KEY', 'a key with blanks in it'],
    ['BOOTSTRAP_PLAN', 'gold'],
    ['BOOTSTRAP_PLAN', 'constructor'],
    ['ENCRYPTION_KEY', 'secret'],
    ['ENCRYPTION_KEY', 'ab'.repeat(31)],
    ['ENCRYPTION_KEY', 'ab'.repeat(33)],
    ['ENCRYPTION_KEY', `${'a'.repeat(42)}=`],
    ['ENCRYPTION_KEY', `${'ab'.repeat(32)},`],
    ['ENCRYPTION_KEY', `${'ab'.repeat(32)} ${'cd'.repeat(32)}`],
    ['DATABASE_URL', 'postgres://a,/jobferry'],
    ['DIRECT_DATABASE_URL', 'postgres://db.example/jobferry'],
    ['DATABASE_REPLICA_URL', 'postgres://db.example/jobferry'],
    ['REPLICA_MAX_LAG_SECONDS', '0.5'],
    ['WEBHOOK_ALLOW_CIDRS', '127.0.0.1'],
    ['WEBHOOK_ALLOW_CIDRS', '10.0.0.0/33'],
    ['WEBHOOK_ALLOW_CIDRS', '127.0.0.0/8,localhost/8'],
    ['TRUSTED_PROXIES', 'proxy.example.com'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', '10.0.0.1,10.0.0.2:8080'],
    ['TRUSTED_PROXIES', 'fe80::1%eth0'],
    ['TRUSTED_PROXIES', '0.0.0.0/0'],
    ['TRUSTED_PROXIES', '0.0.0.0/1,128.0.0.0/1'],
    ['TRUSTED_PROXIES', '::/1'],
    ['TRUSTED_PROXIES', '::ffff:0.0.0.0/97'],
    ['PORT', ' '],
    ['METRICS_PORT', '8080'],
    ['DATABASE_URL', 'postgres://localhost/x?sslmode=foo'],
    ['TRUSTED_PROXIES', '::/0'],
    ['WEBHOOK_DNS_SERVERS', 'ns.example.com'],
    ['WEBHOOK_DNS_SERVERS', '127.0.0.1:0'],
    ['WEBHOOK_DNS_SERVERS', '127.0.0.1,'],
    ['WEBHOOK_PROXY_URL', 'proxy:3128'],
    ['WEBHOOK_PROXY_URL', 'socks5://proxy:1080'],
    ['WEBHOOK_PROXY_URL', 'http://proxy:3128/path'],
    ['WEBHOOK_TIMEOUT_SECONDS', '0'],
    ['WEBHOOK_TIMEOUT_SECONDS', '15s'],
    ['JOB_RETENTION_SECONDS', '-1'],
    ['JOB_LIFETIME_SECONDS', 'forever'],
    ['RETENTION_SWEEP_SECONDS', '0'],
    ['ALERT_INTERVAL_SECONDS', '0.05'],
    ['ALERT_INTERVAL_SECONDS', '-1'],
    ['ALERT_INTERVAL_SECONDS', '3601'],
    ['PLANS', '{free'],
    ['PLANS', '{"free":{"maxAttempts":26}}'],
    ['PLANS', '{"free":{"attempts":3}}'],
    ['PLANS', '{"team":{"queues":20}}'],
    ['SIGNATURE_HEADER', 'x signature'],
    ['SIGNATURE_HEADER', 'Content-Type'],
    ['SIGNATURE_HEADER', 'traceparent'],
    ['SIGNATURE_HEADER', 'X-Jobferry-Attempt'],
    ['SIGNATURE_HEADER', 'Webhook-Signature'],
    ['TEMPLATES', '[]'],
    ['TEMPLATES', '{"a":{"mode":"other"}}'],
    ['TEMPLATES', '{"a":{"webhookUrl":"http://localhost"}}'],
    ['MAX_BODY_BYTES', '0'],
    ['WORKER_CAPACITY', '0'],
    ['REQUESTS_PER_SECOND_OF_KEY', '-1'],
    ['REQUESTS_PER_SECOND_OF_ACCOUNT', '0.5'],
    ['LOG_LEVEL', 'loud'],
    ['GRAPHIQL', 'perhaps'],
    ['ACCESS_LOG', 'yes'],
    ['HOST', `/${'a'.repeat(103)}`],
    ['HOST', 'http://localhost'],
    ['HOST', '[::1]'],
    ['SHUTDOWN_DELAY_SECONDS', '301'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'null'],
    ['CORS_ORIGINS', 'https://app.example.com/'],
    ['CORS_ORIGINS', 'app.example.com'],
    ['CORS_ORIGINS', 'https://APP.example.com'],
  ])('%s=%s is refused by name', (name, value) => {
    expect(complaintOf({ [name]: value })).toMatch(new RegExp(`^${name}\\b`));
  });

  it('names the plan and the field in every line about PLANS', () => {
    const plans = { team: { queues: 20, maxDefers: 10 }, free: {}, gold: {} };
    const lines = complaintOf({ PLANS: JSON.stringify(plans) }).split('\n');
    const missing = ['monthlyAttempts', 'includedAttempts', 'maxAttempts', 'window'];
    const ofTeam = missing.map(
      (field) => `PLANS.team.${field}: must be given, because the plan is not built in (free, pro)`,
    );
    expect(lines.slice(0, 4)).toEqual(ofTeam);
    expect(lines.slice(4).map((line) => /^PLANS\.gold\.(\w+): /.exec(line)?.[1])).toEqual(
      Object.keys(DEFAULT_PLANS.free ?? {}),
    );
    expect(complaintOf({ PLANS: '{"free":{"maxAttempts":26,"attempts":3}}' }).split('\n')).toEqual([
      expect.stringMatching(/^PLANS\.free\.maxAttempts: /),
      'PLANS.free: has fields that Jobferry does not know: attempts',
    ]);
  });

  it('lists every wrong variable, one a line', () => {
    const lines = complaintOf({ PORT: 'x', ROLE: 'boss', LOG_LEVEL: 'loud' }).split('\n');
    expect(lines.map((line) => line.split(':')[0]).sort()).toEqual(['LOG_LEVEL', 'PORT', 'ROLE']);
  });

  it('repeats no secret', () => {
    const complaint = complaintOf({ BOOTSTRAP_API_KEY: 'hush hush', DATABASE_URL: 'mysql://me:hush@host/db' });
    expect(complaint).not.toContain('hush');
  });
});
