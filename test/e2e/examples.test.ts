import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { parseEnv, promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { createClient, type JobferryClient, unwrap } from '../../packages/client/src/index.ts';
import { createAccount } from '../support/account.ts';
import type { ApiJob } from '../support/api.ts';
import { builtClient, builtService } from '../support/built.ts';
import { MODULES, packBuilt, ROOT } from '../support/checkout.ts';
import { atEndOfFile } from '../support/end-of-file.ts';
import { lastingPort } from '../support/lasting-port.ts';
import { openReceiver, type Service, startService } from '../support/service.ts';
import { always, waitFor } from '../support/wait-for.ts';

/** The examples as their users run them: copied, with the packed client, as processes beside a real service. */

const run = promisify(execFile);
const EXAMPLES = join(ROOT, 'examples');
const NAMES = ['emails', 'images', 'imports', 'llm-calls', 'next-app', 'schedules'];
/** Packages that an example installs. The tests that need them are skipped where they are not installed. */
const installed = (name: string, module: string) => existsSync(join(EXAMPLES, name, 'node_modules', module));
/** Only ends a program that hangs. */
const GIVE_UP_MS = 60_000;

let folder: string;
let main: string;
let service: Service;
let client: JobferryClient;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-examples-'));
  atEndOfFile(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  await copyExamples();
  // Before the service starts: a build stops this process, which it is part of.
  main = builtService();
  await installClient();
  const port = String(await lastingPort());
  service = await startService({ PORT: port, REPORT_URL: `http://127.0.0.1:${port}` });
  client = createClient({ baseUrl: service.jobferry.baseUrl, apiKey: service.apiKey });
});

/** Without what the programs of a developer have written there. */
async function copyExamples(): Promise<void> {
  const listed = ['ls-files', '-z', '-co', '--exclude-standard', '--', 'examples'];
  const { stdout } = await run('git', listed, { cwd: ROOT });
  for (const file of stdout.split('\0').filter((name) => name !== '')) {
    const copy = join(folder, file.replace(/^examples\//, ''));
    await mkdir(dirname(copy), { recursive: true });
    await copyFile(join(ROOT, file), copy);
  }
}

/** In place of `npm install`, for all examples. */
async function installClient(): Promise<void> {
  builtClient();
  const tarball = await packBuilt(join(ROOT, 'packages/client'), folder);
  await run('tar', ['-xzf', tarball, '-C', folder]);
  const home = join(folder, 'node_modules/@jobferry/client');
  await mkdir(dirname(home), { recursive: true });
  await rename(join(folder, 'package'), home);
  const { dependencies } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of [...Object.keys(dependencies), '@types/node']) await link(join(MODULES, name), name);
}

async function link(target: string, name: string): Promise<void> {
  const path = join(folder, 'node_modules', name);
  await mkdir(dirname(path), { recursive: true });
  await symlink(target, path, 'junction');
}

interface Example {
  path: string;
  /** Runs a program to its end, and returns the lines that it prints. */
  run(file: string, args?: string[]): Promise<string[]>;
  /** Starts a server, and returns the lines that it prints, the first of which says that it listens. */
  start(file: string, env?: Record<string, string>): Promise<string[]>;
}

/** Runs the `setup.mjs` of an example. Its programs get the settings and the secrets that this one prints. */
async function setUp(name: string, settings: Record<string, string> = {}): Promise<Example> {
  const path = join(folder, name);
  const env: Record<string, string> = {
    PATH: process.env.PATH ?? '',
    PORT: String(await lastingPort()),
    JOBFERRY_URL: service.jobferry.baseUrl,
    JOBFERRY_API_KEY: service.apiKey,
    ...settings,
  };
  const example: Example = {
    path,
    run: async (file, args = []) => {
      const options = { cwd: path, env, timeout: GIVE_UP_MS, killSignal: 'SIGKILL' as const };
      const { stdout } = await run(process.execPath, [file, ...args], options);
      return stdout.trim().split('\n');
    },
    start: (file, more = {}) => start(path, file, { ...env, ...more }),
  };
  Object.assign(env, parseEnv((await example.run('setup.mjs')).join('\n')));
  // A second run changes nothing, and prints no secret.
  expect(await example.run('setup.mjs')).toEqual(['']);
  return example;
}

async function start(cwd: string, file: string, env: Record<string, string>): Promise<string[]> {
  const child = spawn(process.execPath, [file], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  atEndOfFile(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on('line', (line) => lines.push(line));
  const isListening = () => {
    always(() => {
      if (child.exitCode !== null) throw new Error(`${cwd}/${file} ended:\n${lines.join('\n')}`);
    });
    return lines.some((line) => line.startsWith('listening on '));
  };
  await waitFor(isListening, { message: `${file} to listen` });
  return lines;
}

/** Waits until a server has printed so many lines after its first one, and returns all of these. */
async function printedBy(lines: string[], count: number): Promise<string[]> {
  await waitFor(() => lines.length > count, { message: `${count} lines after the first` });
  return lines.slice(1);
}

/** Waits until the jobs have ended whose ids are at the beginning of the lines. */
async function outcomesOf(lines: string[]): Promise<ApiJob[]> {
  const hasEnded = ({ status }: ApiJob) => status === 'completed' || status === 'dead';
  return await Promise.all(lines.map((line) => service.api.waitForJob(line.slice(0, 24), hasEnded)));
}

async function queueIdOf(name: string): Promise<string> {
  const queues = await unwrap(client.queues.list());
  return queues.find((queue) => queue.name === name)?.id ?? '';
}

describe.concurrent('the example', () => {
  it('llm-calls holds the whole queue for a 429 of the LLM, and asks once for each prompt', async ({ expect }) => {
    const port = String(await lastingPort());
    const settings = { CONCURRENCY: '1', LLM_PORT: port, LLM_URL: `http://127.0.0.1:${port}` };
    const example = await setUp('llm-calls', settings);
    const answered = await example.start('fake-llm.mjs');
    await example.start('receiver.mjs');
    const prompts = ['one', 'two', 'three', 'four'];
    const published = await example.run('publish.mjs', prompts);
    const jobs = await outcomesOf(published);
    expect(jobs.map(({ status, attempts }) => [status, attempts])).toEqual(prompts.map(() => ['completed', 1]));
    const holds = jobs.flatMap(({ history }) => history).filter(({ status }) => status === 'deferred');
    expect(holds).toMatchObject([{ error: 'the LLM answered 429' }]);
    const answers = jobs.map(({ id }) => JSON.parse(readFileSync(join(example.path, `answers/${id}.json`), 'utf8')));
    expect(answers).toEqual(prompts.map((prompt) => ({ prompt, answer: `The answer to: ${prompt}` })));

    const again = published.map((line) => line.replace('is published', 'was published before'));
    expect(await example.run('publish.mjs', prompts)).toEqual(again);
    // No call came while the queue was held, and none for the second publish.
    expect(await printedBy(answered, 5)).toEqual(['200', '200', '429', '200', '200']);
  });

  it('images shows its progress, outlives its ack timeout, and needs no key to report', async () => {
    // Ten steps take longer than the ack timeout, which is long enough for the first delivery on a busy machine.
    const example = await setUp('images', { ACK_TIMEOUT: '5', STEP_MS: '600' });
    await example.start('receiver.mjs', { JOBFERRY_API_KEY: '' });
    const lines = await example.run('publish.mjs', ['80', '0']);
    const [job, refused] = await outcomesOf(lines);
    expect(lines).toEqual([`${job?.id} is completed`, `${refused?.id} is dead: the width is 0`]);
    expect(job).toMatchObject({ attempts: 1, history: [{ status: 'success', webhookStatusCode: 202 }] });
    expect(refused).toMatchObject({ attempts: 1, history: [{ status: 'nacked', error: 'the width is 0' }] });
    expect(await client.jobs.progress(job?.id ?? '')).toMatchObject({ text: '100 % of sunset.ppm' });
    const picture = await readFile(join(example.path, 'out/80-sunset.ppm'));
    const header = 'P6\n80 60\n255\n';
    expect(picture.subarray(0, header.length).toString()).toBe(header);
    expect(picture).toHaveLength(header.length + 80 * 60 * 3);
  });

  it('emails keeps to its rate limit, and ends a job whose address does not exist', async () => {
    const example = await setUp('emails');
    const printed = await example.start('receiver.mjs');
    const addresses = Array.from({ length: 11 }, (_, n) => `ada-${n}@example.org`);
    const jobs = await outcomesOf(await example.run('publish.mjs', [...addresses, 'missing@example.invalid']));
    const refused = jobs.pop();
    expect(jobs.map(({ status, attempts }) => [status, attempts])).toEqual(addresses.map(() => ['completed', 1]));
    expect(refused).toMatchObject({ status: 'dead', attempts: 1, lastError: 'HTTP 422' });
    const queueId = await queueIdOf('emails');
    expect(await service.api.listDeadLetters(queueId)).toMatchObject({ jobs: [{ originalJobId: refused?.id }] });

    const mails = addresses.map((to) => `mail to ${to}: Welcome`);
    expect((await printedBy(printed, mails.length)).sort()).toEqual(mails.sort());
    const query = 'query ($ids: [ID!]) { attempts(first: 100, filter: { queueIds: $ids }) { nodes { startedAt } } }';
    type Data = { attempts: { nodes: { startedAt: string }[] } };
    const { nodes } = (await client.graphql<Data>(query, { ids: [queueId] })).attempts;
    const seconds = nodes.map(({ startedAt }) => Math.floor(Date.parse(startedAt) / 1000));
    expect(seconds).toHaveLength(12);
    const crowded = seconds.filter((second) => seconds.filter((other) => other === second).length > 5);
    expect(crowded).toEqual([]);
  });

  it.skipIf(!installed('emails', 'nodemailer'))('emails sends over SMTP', async () => {
    await link(join(EXAMPLES, 'emails/node_modules/nodemailer'), 'nodemailer');
    const { url, mails } = await startSmtpServer();
    // The queue of the other test belongs to another account.
    const { key } = await createAccount(service.databaseUrl);
    const example = await setUp('emails', { JOBFERRY_API_KEY: key, SMTP_URL: url });
    await example.start('receiver.mjs');
    const other = createClient({ baseUrl: service.jobferry.baseUrl, apiKey: key });
    const lines = await example.run('publish.mjs', ['ada@example.org', 'missing@example.org', 'busy@example.org']);
    const [sent, missing, busy] = lines.map((line) => line.slice(0, 24));
    expect(await other.jobs.waitForOutcome(sent ?? '')).toMatchObject({ status: 'completed' });
    expect(await other.jobs.waitForOutcome(missing ?? '')).toMatchObject({ status: 'dead', attempts: 1 });
    const isHeld = async () => (await unwrap(other.jobs.get({ params: { id: busy ?? '' } }))).deferCount === 1;
    await waitFor(isHeld, { message: 'the hold of the mail to a busy mailbox' });
    expect(mails).toHaveLength(1);
    expect(mails[0]).toContain(`Message-ID: <${sent}@example.org>`);
  });

  it('imports publishes a job for each row once, and replays the one that failed', async () => {
    const example = await setUp('imports');
    await example.start('receiver.mjs');
    const printed = await example.run('start.mjs', ['customers.csv']);
    expect(printed).toMatchObject([
      expect.stringMatching(/^[0-9a-f]{24} is completed: 5 of 6 rows are imported, 1 failed$/),
    ]);
    const queueId = await queueIdOf('import-rows');
    const importId = printed[0]?.slice(0, 24);
    const rows = (await service.api.listJobs(queueId)).jobs;
    expect(rows.map(({ idempotencyKey }) => idempotencyKey).sort()).toEqual(
      [1, 2, 3, 4, 5, 6].map((line) => `${importId}-${line}`),
    );
    expect(await example.run('start.mjs', ['customers.csv'])).toEqual(printed);

    const [letter, ...others] = (await service.api.listDeadLetters(queueId)).jobs;
    expect(letter?.payload).toEqual({ id: '5', name: 'Arta', country: 'XK' });
    expect(others).toEqual([]);
    const countries = join(example.path, 'countries.json');
    await writeFile(countries, (await readFile(countries, 'utf8')).replace('{', '{ "XK": "Kosovo",'));
    expect(await example.run('replay.mjs')).toEqual(['rows that match: 1', 'rows that are replayed: 1 (COMPLETED)']);
    const [replayed] = (await service.api.listDeadLetters(queueId, '?includeReplayed=true')).jobs;
    expect(await outcomesOf([replayed?.replayedJobId ?? ''])).toMatchObject([{ status: 'completed', attempts: 1 }]);
    expect(readdirSync(join(example.path, 'customers'))).toHaveLength(6);
    expect((await service.api.listJobs(queueId)).total).toBe(7);
    expect(await example.run('replay.mjs')).toContain('rows that match: 0');
  });

  it('schedules publishes one job for a tick, by curl and by the command', async () => {
    const { url } = await openReceiver();
    const { id: queueId } = await service.api.createQueue({ name: 'reports', webhookUrl: url });
    const tools = join(folder, 'tools');
    await mkdir(join(folder, 'jobferry'));
    await mkdir(tools);
    // A `jobferry` that is installed on this machine is not among them.
    const { stdout } = await run('sh', ['-c', 'command -v curl; command -v date']);
    for (const path of stdout.trim().split('\n')) await symlink(path, join(tools, basename(path)));
    const command = join(folder, 'jobferry/jobferry');
    await writeFile(command, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`);
    await chmod(command, 0o755);

    const publish = async (path: string, args: string[], more: Record<string, string> = {}) => {
      const address = { JOBFERRY_URL: service.jobferry.baseUrl, JOBFERRY_API_KEY: service.apiKey };
      const options = { cwd: join(folder, 'schedules'), timeout: GIVE_UP_MS, killSignal: 'SIGKILL' as const };
      const script = ['publish.sh', 'reports', 'sales-report', ...args];
      return (await run('/bin/sh', script, { ...options, env: { PATH: path, ...address, ...more } })).stdout;
    };
    const args = ['day', '{"report":"sales"}'];
    const tick = { TICK: '2020-02-29' };
    const { id } = JSON.parse(await publish(tools, args, tick)) as { id: string };
    expect(JSON.parse(await publish(tools, args, tick))).toMatchObject({ id });
    expect(await publish(`${dirname(command)}:${tools}`, args, tick)).toBe(`${id}\n`);
    const [job] = await outcomesOf([id]);
    expect(job).toMatchObject({ idempotencyKey: 'sales-report-2020-02-29', payload: { report: 'sales' } });
    expect((await service.api.listJobs(queueId)).total).toBe(1);

    for (const period of ['day', 'hour', 'minute']) await publish(tools, [period]);
    const [minute, hour, day] = (await service.api.listJobs(queueId)).jobs;
    expect(day).toMatchObject({ idempotencyKey: expect.stringMatching(/^sales-report-[\d-]{10}$/), payload: {} });
    expect(hour?.idempotencyKey).toMatch(/^sales-report-[\d-]{10}T\d\dZ$/);
    expect(minute?.idempotencyKey).toMatch(/^sales-report-[\d-]{10}T\d\d:\d\dZ$/);
    await expect(publish(tools, ['week'])).rejects.toMatchObject({ code: 2 });
  });
});

/** Takes mail to ada@example.org, and has no other mailbox that can be used. */
async function startSmtpServer(): Promise<{ url: string; mails: string[] }> {
  const mails: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.write('220 test\r\n');
    let mail: string[] | null = null;
    createInterface({ input: socket }).on('line', (line) => {
      if (mail !== null && line !== '.') return void mail.push(line);
      if (mail !== null) mails.push(mail.join('\n'));
      const wasMail = mail !== null;
      mail = line === 'DATA' ? [] : null;
      if (line === 'DATA') socket.write('354 go on\r\n');
      else if (line.startsWith('RCPT TO:<missing@')) socket.write('550 no such mailbox\r\n');
      else if (line.startsWith('RCPT TO:<busy@')) socket.write('451 try later\r\n');
      else socket.write(wasMail || !line.startsWith('QUIT') ? '250 ok\r\n' : '221 bye\r\n');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEndOfFile(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  return { url: `smtp://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`, mails };
}

const read = (path: string) => readFileSync(join(EXAMPLES, path), 'utf8');

describe('the files of the examples', () => {
  it('are those that README.md lists', () => {
    const folders = readdirSync(EXAMPLES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).sort()).toEqual(NAMES);
    const listed = [...read('README.md').matchAll(/^\| \[([\w-]+)\]\(\1\/README\.md\) \|/gm)].map(([, name]) => name);
    expect(listed.sort()).toEqual(NAMES);
  });

  it('are short', async () => {
    const { stdout } = await run('git', ['ls-files', '-co', '--exclude-standard', '--', 'examples'], { cwd: ROOT });
    const tooLong = stdout
      .trim()
      .split('\n')
      .filter((file) => {
        const lines = readFileSync(join(ROOT, file), 'utf8').trimEnd().split('\n').length;
        return lines > (file.endsWith('.md') ? 40 : 80);
      });
    expect(tooLong).toEqual([]);
  });

  it('name the packed client, and exact versions', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'packages/client/package.json'), 'utf8'));
    for (const name of NAMES.filter((one) => one !== 'schedules')) {
      const { dependencies, devDependencies = {}, private: isPrivate } = JSON.parse(read(`${name}/package.json`));
      const { '@jobferry/client': tarball, ...others } = { ...dependencies, ...devDependencies };
      expect({ tarball, isPrivate }).toEqual({ tarball: `file:../jobferry-client-${version}.tgz`, isPrivate: true });
      for (const other of Object.values(others)) expect(other).toMatch(/^\d+\.\d+\.\d+$/);
    }
  });

  it('have the types of the client', async () => {
    const compilerOptions = {
      target: 'es2023',
      module: 'nodenext',
      types: ['node'],
      strict: true,
      allowJs: true,
      checkJs: true,
      noEmit: true,
      skipLibCheck: true,
    };
    const include = [...NAMES.map((name) => `${name}/*.mjs`), 'nodemailer.d.ts'];
    // Its types are not installed here.
    await writeFile(join(folder, 'nodemailer.d.ts'), "declare module 'nodemailer';\n");
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
    const compiler = [join(MODULES, 'typescript/bin/tsc'), '-p', folder];
    const { stdout } = await run(process.execPath, compiler).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  });

  it.skipIf(!installed('next-app', 'next'))('have the types of Next.js', async () => {
    const project = join(EXAMPLES, 'next-app');
    const compiler = [join(project, 'node_modules/typescript/bin/tsc'), '-p', project, '--incremental', 'false'];
    const { stdout } = await run(process.execPath, compiler).catch((error: { stdout: string }) => error);
    expect(stdout).toBe('');
  });
});

describe('the schedules', () => {
  const ARGS = ['reports', 'sales-report', 'day', '{"report":"sales"}'];

  it('cronjob.yaml can be read', () => {
    const document = parseDocument(read('schedules/cronjob.yaml'));
    expect([...document.errors, ...document.warnings]).toEqual([]);
    const { kind, spec } = document.toJS();
    expect([kind, spec.schedule, spec.timeZone]).toEqual(['CronJob', '0 6 * * *', 'Etc/UTC']);
    const { containers, volumes } = spec.jobTemplate.spec.template.spec;
    expect(containers[0]).toMatchObject({ command: ['sh', '/scripts/publish.sh'], args: ARGS });
    const mounted = containers[0].volumeMounts.map(({ name }: { name: string }) => name);
    expect(mounted).toEqual(volumes.map(({ name }: { name: string }) => name));
  });

  it.each(['service', 'timer'])('jobferry-report.%s can be read', (kind) => {
    const unit = read(`schedules/jobferry-report.${kind}`);
    const wrong = unit
      .split('\n')
      .filter((line) => !/^$|^#|^\[(Unit|Service|Timer|Install)\]$|^[A-Z]\w+=\S/.test(line));
    expect(wrong).toEqual([]);
    const [report, sales, day, payload] = ARGS;
    if (kind === 'service') expect(unit).toContain(`/publish.sh ${report} ${sales} ${day} '${payload}'\n`);
    else expect(unit).toMatch(/^OnCalendar=\*-\*-\* 06:00:00 UTC$/m);
  });

  it('crontab can be read', () => {
    const lines = read('schedules/crontab')
      .split('\n')
      .filter((line) => /^[^#A-Z]/.test(line));
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      // cron reads a percent sign as the end of the command.
      const [, payload = ''] =
        /^(?:[\d*/,-]+ ){5}[^%]* publish\.sh [a-z]+ [a-z-]+ (?:minute|hour|day) '([^'%]*)'$/.exec(line) ?? [];
      expect(JSON.parse(payload)).toBeTypeOf('object');
    }
  });
});
