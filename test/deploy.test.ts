import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { namedVersions } from '../scripts/release/version.mjs';
import { parseConfig, VARIABLES } from '../src/process/config.ts';
import { withSecretFiles } from '../src/process/variables.ts';
import { renderChart } from './support/helm.ts';

/** The files of deploy/ can be read, and set variables that there are, to values that are accepted. */

const ROOT = join(import.meta.dirname, '..');
const DEPLOY = join(ROOT, 'deploy');
const CHART = join(DEPLOY, 'helm/jobferry');
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: documents of many kinds
type Document = any;

function documentsIn(text: string): Document[] {
  return parseAllDocuments(text).flatMap((document) => {
    expect([...document.errors, ...document.warnings]).toEqual([]);
    const value = document.toJS({ maxAliasCount: 1000 });
    return value === null ? [] : [value];
  });
}

/** The chart as Helm renders it, all templates together. */
function chart(change: (values: Document) => void = () => undefined): Document[] {
  const [values] = documentsIn(read('helm/jobferry/values.yaml'));
  const [about] = documentsIn(read('helm/jobferry/Chart.yaml'));
  change(values);
  const { name: Name, version: Version, appVersion: AppVersion } = about;
  const root = { Values: values, Chart: { Name, Version, AppVersion }, Release: { Name: 'mine', Service: 'Helm' } };
  const names = readdirSync(join(CHART, 'templates')).filter((name) => name !== 'NOTES.txt');
  const templates = names.map((name) => readFileSync(join(CHART, 'templates', name), 'utf8'));
  return renderChart(templates, root).flatMap(documentsIn);
}

const ofKind = (documents: Document[], kind: string) => documents.filter((document) => document.kind === kind);

/** Values that stand for the contents of secret files. */
const SECRETS: Record<string, string> = {
  DATABASE_URL_FILE: 'postgres://jobferry@db/jobferry',
  BOOTSTRAP_API_KEY_FILE: 'key-of-the-bootstrap-account',
  ENCRYPTION_KEY_FILE: 'ab'.repeat(32),
};

function expectAccepted(env: Record<string, string>): void {
  expect(Object.keys(env)).not.toEqual([]);
  const entries = Object.entries(env).map(([name, value]): [string, string] => {
    const secret = SECRETS[name];
    expect(secret === undefined && name.endsWith('_FILE'), `${name} is a secret that this test knows`).toBe(false);
    return secret === undefined ? [name, value] : [name.replace(/_FILE$/, ''), secret];
  });
  // As for a file: it is not there, but Jobferry reads the variable.
  for (const name of Object.keys(env).filter((key) => key.endsWith('_FILE'))) {
    expect(() => withSecretFiles({ [name]: join(ROOT, 'package.json') })).not.toThrow();
  }
  const plain = Object.fromEntries(entries);
  expect(Object.keys(plain).filter((name) => !VARIABLES.includes(name))).toEqual([]);
  expect(parseConfig(plain).environment).toBe(plain.NODE_ENV ?? 'development');
}

describe('every YAML file', () => {
  const files = readdirSync(DEPLOY, { recursive: true, encoding: 'utf8' })
    .map((file) => file.split(sep).join('/'))
    .filter((file) => /\.ya?ml$/.test(file) && !file.includes('/templates/'));

  it.each(files)('%s can be read', (file) => {
    expect(documentsIn(read(file)).length).toBeGreaterThan(0);
  });
});

/** With the defaults of its variables. An empty variable counts as none. */
function composeText(): string {
  const text = read('compose/compose.yaml').replaceAll('<<: *jobferry', 'common: *jobferry');
  return text.replace(/^ +\w+: \$\{\w+:-\}\n/gm, '');
}

describe('the compose file', () => {
  const [compose] = documentsIn(composeText());
  const { services, secrets } = compose;

  it.each(['api', 'worker'])('sets variables of Jobferry for the %s', (name) => {
    expectAccepted({ ...services[name].environment, NODE_ENV: 'production' });
    expect(services[name].common).toMatchObject({ read_only: true, cap_drop: ['ALL'] });
  });

  it('has one API, two workers, and the secrets that it names', () => {
    expect(services.worker.deploy.replicas).toBe(2);
    const named = Object.values<Document>(services).flatMap((service) => service.secrets ?? []);
    expect([...new Set(named)].sort()).toEqual(Object.keys(secrets).sort());
    const paths = JSON.stringify(services).match(/\/run\/secrets\/[\w-]+/g) ?? [];
    expect(paths.filter((path) => secrets[path.slice('/run/secrets/'.length)] === undefined)).toEqual([]);
  });

  it('mounts files that are there', () => {
    const mounts = Object.values<Document>(services).flatMap((service) => service.volumes ?? []);
    const own = mounts.map((mount: string) => mount.split(':')[0] ?? '').filter((path: string) => path.startsWith('.'));
    expect(own).toEqual(expect.arrayContaining(['../prometheus', '../grafana']));
    expect(own.filter((path: string) => !existsSync(join(DEPLOY, 'compose', path)))).toEqual([]);
  });

  it('has a Prometheus that reads the rules, and the metrics of both roles', () => {
    const [prometheus] = documentsIn(read('compose/prometheus.yml'));
    const rules = prometheus.rule_files.map((path: string) => path.replace('/etc/prometheus/rules/', 'prometheus/'));
    expect(rules).toEqual(['prometheus/jobferry.rules.yml', 'prometheus/jobferry.alerts.yml']);
    expect(rules.filter((path: string) => !existsSync(join(DEPLOY, path)))).toEqual([]);
    const [{ names, port }] = prometheus.scrape_configs[0].dns_sd_configs;
    for (const name of names) expect(services[name].environment.METRICS_PORT).toBe(String(port));
  });
});

describe('the Dockerfile', () => {
  const text = read('Dockerfile');
  const [, last = ''] = text.split(/^FROM .*\n(?=LABEL)/m);

  it('sets variables of Jobferry, and runs without root', () => {
    const [, assignments = ''] = /^ENV (.*)$/m.exec(last) ?? [];
    expectAccepted(Object.fromEntries(assignments.split(' ').map((assignment) => assignment.split('='))));
    expect(last).toMatch(/^USER 65532:65532$/m);
    expect(last).toMatch(/^HEALTHCHECK [\s\S]*METRICS_PORT/m);
    expect(last).not.toMatch(/npm (ci|install|run)|apt-get/);
  });

  it('copies what the package contains, from what is not ignored', () => {
    const ignored = read('Dockerfile.dockerignore');
    const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { files: string[] };
    // The list of changes, docs/ and deploy/ are for people.
    const needed = files
      .filter((file) => !/^(deploy|docs|CHANGELOG)/.test(file))
      .map((file) => file.split('/')[0] ?? '');
    for (const path of new Set(needed)) {
      expect(last).toMatch(new RegExp(`/app/${path}\\b`));
      if (path !== 'dist') expect(ignored).toMatch(new RegExp(`^!${path}$`, 'm'));
    }
  });
});

describe('the chart', () => {
  it('has the version of the release', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const [about] = documentsIn(read('helm/jobferry/Chart.yaml'));
    expect(about).toMatchObject({ version, appVersion: version });
    // And so has each document and example, such as the README of the client.
    const named = namedVersions(ROOT);
    expect(named.map(({ file }) => file)).toContain('packages/client/README.md');
    expect(named.filter((one) => one.version !== version)).toEqual([]);
  });

  it('renders a deployment of each role with variables of Jobferry', () => {
    const deployments = ofKind(chart(), 'Deployment');
    expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['mine-api', 'mine-worker']);
    for (const { spec } of deployments) {
      const [container] = spec.template.spec.containers;
      expectAccepted(Object.fromEntries(container.env.map(({ name, value }: Document) => [name, value])));
      expect(container.env.every(({ value }: Document) => typeof value === 'string')).toBe(true);
      expect(container.securityContext).toMatchObject({
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(spec.template.metadata.labels).toMatchObject(spec.selector.matchLabels);
      expect(container.readinessProbe.httpGet.path).toBe('/readyz');
      expect(container.livenessProbe.httpGet.path).toBe('/healthz');
      // At the port of the API they would wait behind the connections of clients.
      for (const probe of [container.readinessProbe, container.livenessProbe])
        expect(probe.httpGet.port).toBe('metrics');
      const metricsPort = container.env.find(({ name }: Document) => name === 'METRICS_PORT').value;
      expect(container.ports).toContainEqual({ name: 'metrics', containerPort: Number(metricsPort) });
    }
  });

  it('gives a stopping process the time that it may take', () => {
    for (const { spec } of ofKind(chart(), 'Deployment')) {
      const { containers, terminationGracePeriodSeconds } = spec.template.spec;
      const delay = containers[0].env.find(({ name }: Document) => name === 'SHUTDOWN_DELAY_SECONDS')?.value ?? '0';
      expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(30 + Number(delay));
    }
  });

  it('computes that time from the variables, unless it is given', () => {
    const graces = (change: (values: Document) => void) =>
      ofKind(chart(change), 'Deployment').map(({ spec }) => spec.template.spec.terminationGracePeriodSeconds);
    const seconds = (values: Document) => {
      values.env.WEBHOOK_TIMEOUT_SECONDS = '119.5';
      values.api.env.SHUTDOWN_DELAY_SECONDS = 20;
    };
    expect(graces(() => undefined)).toEqual([50, 45]);
    expect(graces(seconds)).toEqual([170, 150]);
    const given = (values: Document) => {
      values.worker.terminationGracePeriodSeconds = 300;
    };
    expect(graces(given)).toEqual([50, 300]);
  });

  it('reaches a pooler and its server, and mounts the certificate of their authority', () => {
    const documents = chart((values) => {
      values.networkPolicy.databasePorts = [5432, 6432];
      values.databaseCa.configMap = 'postgres-ca';
    });
    for (const { spec } of ofKind(documents, 'NetworkPolicy')) {
      expect(spec.egress.map(({ ports }: Document) => ports)).toContainEqual([
        { port: 5432, protocol: 'TCP' },
        { port: 6432, protocol: 'TCP' },
      ]);
    }
    const mount = { name: 'database-ca', mountPath: '/run/database-ca', readOnly: true };
    for (const { spec } of ofKind(documents, 'Deployment')) {
      expect(spec.template.spec.volumes).toContainEqual({ name: 'database-ca', configMap: { name: 'postgres-ca' } });
      expect(spec.template.spec.containers[0].volumeMounts).toContainEqual(mount);
    }
    for (const { spec } of ofKind(chart(), 'Deployment')) expect(spec.template.spec.volumes).toHaveLength(1);
  });

  it('selects the pods of each role in budgets, policies and the service', () => {
    const documents = chart();
    const pods = ofKind(documents, 'Deployment').map(({ spec }) => spec.template.metadata.labels);
    const selectors = [
      ...ofKind(documents, 'PodDisruptionBudget').map(({ spec }) => spec.selector.matchLabels),
      ...ofKind(documents, 'NetworkPolicy').map(({ spec }) => spec.podSelector.matchLabels),
      ...ofKind(documents, 'Service').map(({ spec }) => spec.selector),
    ];
    expect(selectors).toHaveLength(5);
    for (const selector of selectors) {
      const selected = pods.filter((labels) =>
        Object.entries(selector).every(([name, value]) => labels[name] === value),
      );
      expect(selected).toHaveLength(1);
    }
  });

  it('lets no pod reach private addresses but those of the database and of name servers', () => {
    for (const { spec } of ofKind(chart(), 'NetworkPolicy')) {
      const open = spec.egress.filter(({ ports }: Document) => ports === undefined);
      expect(open).toHaveLength(1);
      const blocks = open[0].to.map(({ ipBlock }: Document) => ipBlock);
      expect(blocks.map(({ cidr }: Document) => cidr)).toEqual(['0.0.0.0/0', '2000::/3']);
      const needed = ['10.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.168.0.0/16'];
      expect(blocks[0].except).toEqual(expect.arrayContaining(needed));
    }
  });

  it('lets API pods hand jobs over to workers, and no other pod', () => {
    const port = { port: 9465, protocol: 'TCP' };
    const role = ({ spec }: Document) => spec.podSelector.matchLabels['app.kubernetes.io/component'];
    for (const policy of ofKind(chart(), 'NetworkPolicy')) {
      const rules = [...policy.spec.ingress, ...policy.spec.egress].filter(
        ({ ports }: Document) => ports?.[0].port === 9465,
      );
      expect(rules).toHaveLength(1);
      const [{ ports, from, to }] = rules;
      expect(ports).toEqual([port]);
      const [other] = role(policy) === 'api' ? to : from;
      const labels = other.podSelector.matchLabels;
      expect([role(policy), labels['app.kubernetes.io/component']].sort()).toEqual(['api', 'worker']);
    }
  });

  it('scales the workers by the age of the oldest due job when it is asked to', () => {
    const documents = chart((values) => {
      values.autoscaling.enabled = true;
      values.podAnnotations = { 'prometheus.io/scrape': 'true' };
      values.networkPolicy.egress = [{ to: [{ ipBlock: { cidr: '192.0.2.1/32' } }] }];
    });
    const [scaler] = ofKind(documents, 'HorizontalPodAutoscaler');
    expect(scaler.spec.metrics[0].external.metric.name).toBe('jobferry_queue_oldest_due_age_seconds');
    const [, worker] = ofKind(documents, 'Deployment');
    expect(worker.metadata.name).toBe(scaler.spec.scaleTargetRef.name);
    // Helm would set the number back at each upgrade.
    expect(worker.spec.replicas).toBeUndefined();
    expect(worker.spec.template.metadata.annotations).toEqual({ 'prometheus.io/scrape': 'true' });
    expect(ofKind(chart(), 'HorizontalPodAutoscaler')).toEqual([]);
  });
});

describe('the command of systemd installations', () => {
  /** Runs it with these files in its folder. @returns the variables and the arguments of Jobferry */
  async function run(files: Record<string, string>, variables: Record<string, string> = {}, args: string[] = []) {
    const [etc, home] = [
      await mkdtemp(join(tmpdir(), 'jobferry-etc-')),
      await mkdtemp(join(tmpdir(), 'jobferry-home-')),
    ];
    onTestFinished(async () => {
      for (const folder of [etc, home]) await rm(folder, { recursive: true });
    });
    await mkdir(join(etc, 'credentials'));
    await mkdir(join(home, 'dist'));
    await writeFile(join(etc, 'credentials', 'database-url'), 'postgres://jobferry:s3cret@db7:5433/other');
    for (const [name, text] of Object.entries(files)) await writeFile(join(etc, name), text);
    const program = 'console.log(JSON.stringify([process.env, process.argv.slice(2), process.cwd()]))';
    await writeFile(join(home, 'dist', 'main.js'), program);
    await writeFile(join(home, 'package.json'), '{"type":"module"}');
    const given = { PATH: process.env.PATH, JOBFERRY_ETC: etc, JOBFERRY_HOME: home, JOBFERRY_NODE: process.execPath };
    const script = join(ROOT, 'deploy/systemd/jobferry');
    const options = { env: { ...given, ...variables }, encoding: 'utf8', cwd: tmpdir() } as const;
    const { status, stdout, stderr } = spawnSync(script, args, options);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [env, passed, folder] = JSON.parse(stdout) as [Record<string, string>, string[], string];
    return { etc, env, passed, folder };
  }

  it('has the variables and secrets of the units', async () => {
    const files = {
      'jobferry.env': '# A comment.\nPUBLIC_URL=https://jobs.example.org/a b\nPORT=1\nPLANS={"free":{"queues":7}}',
      'api.env': 'PORT=2',
      'worker.env': 'PORT=3',
    };
    const { etc, env, passed, folder } = await run(files, {}, ['apply', './a b.yaml']);
    expect(passed).toEqual(['apply', './a b.yaml']);
    // A path in an argument is that of the caller's folder.
    expect(folder).toBe(await realpath(tmpdir()));
    expect(env).toMatchObject({
      DATABASE_URL_FILE: join(etc, 'credentials', 'database-url'),
      PUBLIC_URL: 'https://jobs.example.org/a b',
      PLANS: '{"free":{"queues":7}}',
      PORT: '2',
    });
    expect(env.ENCRYPTION_KEY_FILE).toBeUndefined();
    const ofWorker = await run(files, { JOBFERRY_ROLE: 'worker' });
    expect(ofWorker.env.PORT).toBe('3');
    const without = await run({});
    expect(without.env.PORT).toBeUndefined();
    const pooled = await run({ 'credentials/direct-database-url': 'x', 'credentials/smtp-url': 'y' });
    expect(pooled.env).toMatchObject({
      DIRECT_DATABASE_URL_FILE: join(pooled.etc, 'credentials', 'direct-database-url'),
      SMTP_URL_FILE: join(pooled.etc, 'credentials', 'smtp-url'),
    });
  });

  // By the section EnvironmentFile= of systemd.exec(5).
  it.each([
    ['single quotes', `A='{"free":{"queues":7}}'`, '{"free":{"queues":7}}'],
    ['double quotes', 'A="a \\"b\\" \\$HOME \\\\ \\n"', 'a "b" $HOME \\ \\n'],
    ['quotes within a value', `A=it's "b"`, `it's "b"`],
    ['several quoted parts', `A='a ' "b" c`, 'a bc'],
    ['spaces around a value', ' A =  a b \t', 'a b'],
    ['an escape', 'A=a\\"b\\ ', 'a"b '],
    ['a value that goes on in the next line', 'A=one\\\ntwo\nB=c', 'onetwo'],
    ['a quoted value of two lines', 'A="one\ntwo"\nB=c', 'one\ntwo'],
    ['comments', '; A=1\n  # A="2\nA=3 # 4', '3 # 4'],
    ['the last of two values', 'A=1\nA=2\n', '2'],
    ['no value', 'A=', ''],
    ['lines that are no variables', 'A=1\nA-B=2\n3A=3\nA', '1'],
    ['what a shell would run', 'A=$(exit 3) `exit 4` $HOME', '$(exit 3) `exit 4` $HOME'],
  ])('reads %s as systemd does', async (_what, file, value) => {
    const { env } = await run({ 'jobferry.env': file });
    expect(env.A).toBe(value);
  });
});

describe('the units of systemd', () => {
  const unit = read('systemd/jobferry@.service');
  const assignments = (text: string) =>
    Object.fromEntries(
      [...text.matchAll(/^(?:Environment=)?([A-Z][A-Z_]*)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    );

  it.each(['api', 'worker'])('set variables of Jobferry for the %s', (role) => {
    const own = [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]);
    const files = ['jobferry.env', `${role}.env`].map((name) => assignments(read(`systemd/${name}`)));
    expectAccepted(Object.assign(Object.fromEntries(own), ...files));
  });

  it('pass each secret that they name', () => {
    const loaded = [...unit.matchAll(/^LoadCredential=([\w-]+):/gm)].map(([, name]) => name);
    const used = [...unit.matchAll(/=%d\/([\w-]+)$/gm)].map(([, name]) => name);
    expect(used).toEqual(loaded);
  });
});

describe('rules and dashboards', () => {
  const rulesIn = (file: string) => {
    const [{ groups }] = documentsIn(read(`prometheus/${file}`));
    return groups.flatMap(({ rules }: Document) => rules) as { record?: string; alert?: string; expr: string }[];
  };

  it('never aggregate installations that share a Prometheus', () => {
    const rules = [...rulesIn('jobferry.rules.yml'), ...rulesIn('jobferry.alerts.yml')];
    const mixed = /(?<!:)\b(?:sum|max|min|avg|count|absent)\b(?! by \(cluster\b)/;
    expect(rules.map(({ expr }) => expr).filter((expr) => mixed.test(expr))).toEqual([]);
    for (const name of ['service', 'queues']) {
      const texts = [...read(`grafana/jobferry-${name}.json`).matchAll(/"expr": "(.*)"/g)].map(([, text = '']) => text);
      expect(texts.length).toBeGreaterThan(10);
      const metrics = texts.flatMap((text) => [
        ...text.matchAll(/(?<![\w:])(?:jobferry|process|nodejs)_\w+(.{0,22})/g),
      ]);
      expect(metrics.filter(([, selector]) => !selector?.startsWith('{cluster=~')).map(([text]) => text)).toEqual([]);
    }
  });
});
