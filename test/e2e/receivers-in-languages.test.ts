import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { unsignedReportUrl } from '../../src/domain/report-url.ts';
import { createAccount } from '../support/account.ts';
import { type Api, type ApiQueue, createApi } from '../support/api.ts';
import { ROOT } from '../support/checkout.ts';
import { atEndOfFile } from '../support/end-of-file.ts';
import { createGraphQLClient, type GraphQL } from '../support/graphql.ts';
import { lastingPort } from '../support/lasting-port.ts';
import { openReceiver, startService } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/**
 * The programs of docs/receivers, taken out of the pages and started with the commands of the pages. A language whose
 * tools this machine does not have is skipped.
 */

interface Language {
  name: string;
  page: string;
  /** Marks of the code blocks that are files. */
  blocks: string[];
  /** Paths of these files in the order of the page; the first is the receiver. */
  files: string[];
  /** A shell command that succeeds where the tools are there; it runs beside the files. */
  check: string;
  /** Whether its JSON library refuses half of a surrogate pair. */
  isStrict?: true;
  /** The line by which the receiver says that it listens. */
  listening: RegExp;
}

const LANGUAGES: Language[] = [
  {
    name: 'Python',
    page: 'python',
    blocks: ['py'],
    files: ['receive.py', 'publish.py'],
    listening: /^listening$/m,
    check: 'python3 -c "import sys; sys.exit(sys.version_info < (3, 8))"',
  },
  {
    name: 'Python with FastAPI',
    page: 'fastapi',
    blocks: ['py'],
    files: ['receive.py'],
    check: 'python3 -c "import fastapi, uvicorn"',
    listening: /Uvicorn running/,
  },
  {
    name: 'Go',
    page: 'go',
    blocks: ['go'],
    files: ['receive.go', 'publish.go'],
    listening: /^listening$/m,
    check: 'go version',
  },
  {
    name: 'Ruby',
    page: 'ruby',
    blocks: ['rb'],
    files: ['receive.rb', 'publish.rb'],
    listening: /^listening$/m,
    check: 'ruby -rwebrick -ropenssl -e ""',
    isStrict: true,
  },
  {
    name: 'PHP',
    page: 'php',
    blocks: ['php'],
    files: ['receive.php', 'publish.php'],
    check: `php -r 'exit((int) !(PHP_VERSION_ID >= 80000 && function_exists("pcntl_fork") && function_exists("posix_kill")));'`,
    listening: /Development Server .* started/,
    isStrict: true,
  },
  {
    name: 'Java',
    page: 'java',
    blocks: ['java'],
    files: ['Receiver.java', 'Publisher.java'],
    check: 'java --add-modules jdk.compiler,jdk.httpserver --version',
    listening: /^listening$/m,
  },
  {
    name: 'Rust',
    page: 'rust',
    blocks: ['rust', 'toml'],
    listening: /^listening$/m,
    isStrict: true,
    files: ['src/bin/receive.rs', 'src/bin/publish.rs', 'Cargo.toml'],
    check: 'cargo fetch --offline || (cargo --version && timeout 10 cargo fetch)',
  },
];

/** The crates of Debian, from which cargo can build without a registry. */
const DEBIAN_CRATES = '/usr/share/cargo/registry';
/** A machine may have Python twice, and FastAPI only for that of the system. */
const PATHS = [process.env.PATH ?? '', `/usr/bin:${process.env.PATH}`];
/** The first start of a compiler; that of cargo builds all crates. */
const START_MS = 220_000;

const environment = (path: string) => ({ PATH: path, HOME: process.env.HOME, CARGO_NET_RETRY: '0' });

function blocksOf(page: string, marks: string[]): string[] {
  const text = readFileSync(join(ROOT, `docs/receivers/${page}.md`), 'utf8');
  const fences = new RegExp(`^\`\`\`(?:${marks.join('|')})\\n([\\s\\S]*?)^\`\`\`$`, 'gm');
  return Array.from(text.matchAll(fences), ([, block = '']) => block);
}

/** Returns the command of a page that begins with this variable, without the variable. */
function commandOf({ page }: Language, variable: string): string | null {
  const [commands = ''] = blocksOf(page, ['sh']);
  return new RegExp(`^${variable}=\\S+ (.+)$`, 'm').exec(commands)?.[1] ?? null;
}

/** Writes the programs of a page into a new folder. */
function writePrograms({ page, blocks, files }: Language): string {
  const folder = mkdtempSync(join(tmpdir(), `jobferry-${page}-`));
  const texts = blocksOf(page, blocks);
  const crates = `[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "${DEBIAN_CRATES}"\n`;
  const all = files.map((file, at): [string, string] => [file, texts[at] ?? '']);
  if (existsSync(DEBIAN_CRATES)) all.push(['.cargo/config.toml', crates]);
  for (const [file, text] of all) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

/** Returns the PATH with which the tools of a language are found, or null. */
function pathTo(language: Language): string | null {
  const cwd = writePrograms(language);
  // With a socket as its input, bash would read ~/.bashrc, which can change PATH.
  const options = { cwd, timeout: 30_000, stdio: 'ignore' } as const;
  const isThere = (path: string) =>
    spawnSync('bash', ['-c', language.check], { ...options, env: environment(path) }).status === 0;
  try {
    return PATHS.find(isThere) ?? null;
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** A command of a page, with all processes that it starts. */
class Program {
  output = '';
  readonly ended: Promise<unknown>;
  readonly #child: ChildProcess;

  constructor(command: string, cwd: string, env: Record<string, string | undefined>) {
    this.#child = spawn('bash', ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk: Buffer) => (this.output += chunk.toString()));
    this.ended = new Promise((resolve) => this.#child.once('close', resolve));
  }

  async prints(pattern: RegExp, timeoutMs = 60_000): Promise<void> {
    const printed = () => pattern.test(this.output);
    await waitFor(printed, { timeoutMs, message: String(pattern) }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.output}`);
    });
  }

  /** Ends its process group, which still exists while a process of it runs. */
  async end(): Promise<void> {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
    } catch {}
    await this.ended;
  }
}

let databaseUrl: string;
let baseUrl: string;

beforeAll(async () => {
  const port = await lastingPort();
  baseUrl = `http://127.0.0.1:${port}`;
  ({ databaseUrl } = await startService({ PORT: String(port), REPORT_URL: baseUrl }));
});

const EXAMINE = `mutation ($id: ID!) {
  examineReceiver(queueId: $id, payload: "{\\"jobferry\\":\\"check\\"}") {
    ... on ExamineReceiverPayload { findings { name status text } }
  }
}`;

const tested = LANGUAGES.map((language) => ({ language, path: pathTo(language) }));

describe.each(tested)('the page of $language.name', ({ language, path }) => {
  const { name } = language;
  const test = it.skipIf(path === null);
  let apiKey: string;
  let api: Api;
  let graphql: GraphQL;
  let queue: ApiQueue;
  let receiver: Program;
  let run: (variable: string, env: Record<string, string>) => Program;

  beforeAll(async () => {
    if (path === null) return;
    ({ key: apiKey } = await createAccount(databaseUrl));
    api = createApi(baseUrl, apiKey);
    graphql = createGraphQLClient(baseUrl, apiKey);
    const port = await lastingPort();
    queue = await api.createQueue({ name: 'welcome', webhookUrl: `http://127.0.0.1:${port}/jobs`, concurrency: 20 });
    const folder = writePrograms(language);
    atEndOfFile(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
    run = (variable, env) => {
      const program = new Program(commandOf(language, variable) ?? 'false', folder, { ...environment(path), ...env });
      atEndOfFile(() => program.end());
      return program;
    };
    const secrets = `whsec_of_a_rotation,${queue.signingSecret}`;
    receiver = run('SIGNING_SECRET', { SIGNING_SECRET: secrets, PORT: String(port) });
    await receiver.prints(language.listening, START_MS);
    return () => receiver.end();
  });

  const sign = (text: string) => createHmac('sha256', queue.signingSecret).update(text).digest('hex');

  const reportUrl = (base: string, jobId: string, attempt: number) => {
    const target = { jobId, queueId: queue.id, attempt, expiresAt: Date.now() + 60_000 };
    const unsigned = unsignedReportUrl(base, target);
    return `${unsigned}.${sign(`jobferry-report-url:${unsigned}`)}`;
  };

  /** Sends a delivery of ack mode. Returns the status of the answer. */
  async function deliverJob(job: { id: string; to: string; ackTimeout: number; reportUrl: string }) {
    const envelope = { id: job.id, queue: queue.name, payload: { to: job.to }, attempt: 1, maxAttempts: 1 };
    const body = JSON.stringify({ ...envelope, createdAt: new Date().toISOString() });
    const headers = {
      'content-type': 'application/json',
      'x-service-signature': `sha256=${sign(body)}`,
      'x-jobferry-ack-timeout': String(job.ackTimeout),
      'x-jobferry-report-url': job.reportUrl,
    };
    return (await fetch(queue.webhookUrl, { method: 'POST', headers, body })).status;
  }

  test(`the receiver in ${name} passes the examination`, async () => {
    const { examineReceiver } = await graphql.query(EXAMINE, { id: queue.id });
    const findings: { name: string; status: string }[] = examineReceiver.findings;
    // A receiver that has the former secret only needs the header that it signs.
    const others = findings.filter(({ status }) => status !== 'OK');
    expect(others).toEqual([{ name: 'next signature', status: 'WARNING', text: expect.any(String) }]);
    expect(findings.length).toBeGreaterThanOrEqual(9);
  });

  test(`the receiver in ${name} has one path and one method`, async () => {
    const { origin } = new URL(queue.webhookUrl);
    const statusOf = async (method: string, at: string) => (await fetch(`${origin}${at}`, { method })).status;
    expect(await statusOf('POST', '/other')).toBe(404);
    expect(await statusOf('POST', '/jobs/1')).toBe(404);
    expect(await statusOf('GET', '/jobs')).toBe(405);
    expect(await statusOf('PUT', '/jobs')).toBe(405);
    expect(await statusOf('POST', '/jobs')).toBe(401);
  });

  test(`the receiver in ${name} reports to no URL that Jobferry has not signed for the attempt`, async () => {
    const reports = await openReceiver();
    const id = 'a'.repeat(24);
    const url = (jobId: string, attempt: number) => reportUrl(reports.url, jobId, attempt);
    const deliver = (to: string) => deliverJob({ id, to: 'ada', ackTimeout: 60, reportUrl: to });
    const forged = `${url(id, 1).slice(0, -64)}${'0'.repeat(64)}`;
    for (const wrong of ['', `${reports.url}/`, forged, url('b'.repeat(24), 1), url(id, 2)])
      expect(await deliver(wrong)).toBe(500);
    const signed = url(id, 1);
    expect(await deliver(signed)).toBe(202);
    await waitFor(() => reports.requests.length > 0, { message: 'the report' });
    expect(reports.requests.map((request) => request.path)).toEqual([`${new URL(signed).pathname}/ack`]);
  });

  test(`the receiver in ${name} extends again before the deadline when an extension gets no answer`, async () => {
    const unanswered = new Set<string>();
    const reports = await openReceiver(({ path: at }) => {
      if (!at.endsWith('/extend') || unanswered.has(at)) return { body: {} };
      unanswered.add(at);
      return new Promise(() => undefined);
    });
    const ids = Array.from('123456', (digit) => digit.repeat(24));
    for (const id of ids) {
      // The work takes as long as the ack timeout, so the report comes at the deadline.
      const job = { id, to: 'slow', ackTimeout: 3, reportUrl: reportUrl(reports.url, id, 1) };
      expect(await deliverJob(job)).toBe(202);
    }
    const sentFor = (id: string) => {
      const paths = reports.requests.map((request) => request.path).filter((at) => at.includes(`/${id}.`));
      return paths.map((at) => at.slice(at.lastIndexOf('/') + 1));
    };
    const isDone = () => ids.every((id) => sentFor(id).includes('ack'));
    await waitFor(isDone, { message: 'the reports' });
    for (const id of ids) expect(sentFor(id).slice(0, 2)).toEqual(['extend', 'extend']);
  });

  test(`a job is published, and received in ${name}`, async () => {
    const publish = async () => {
      const publisher = run('API_KEY', { API_KEY: apiKey, JOBFERRY_URL: baseUrl });
      await publisher.ended;
      const [id] = /\b[0-9a-f]{24}\b/.exec(publisher.output) ?? [];
      if (id === undefined) throw new Error(publisher.output);
      return id;
    };
    const body = { payload: { to: 'ada' }, idempotencyKey: 'welcome-ada' };
    // A busy machine may refuse the publish, which the key makes safe to repeat.
    const hasPublisher = commandOf(language, 'API_KEY') !== null;
    const id = hasPublisher ? await waitFor(publish) : (await api.publish(queue.name, body)).id;
    expect(await api.waitForStatus(id, 'completed')).toMatchObject(body);
    await receiver.prints(/mail to ada/);
  });

  test(`the receiver in ${name} keeps a job of ack mode for longer than its ack timeout`, async () => {
    await api.updateQueue(queue.id, { mode: 'ack', ackTimeout: 2, maxAttempts: 10, backoffDelay: 0 });
    const { id } = await api.publish(queue.name, { payload: { to: 'slow' } });
    // Without heartbeats no attempt would complete: the work takes 3 s.
    const { history } = await api.waitForStatus(id, 'completed');
    expect(history.map(({ status }) => status)).toContain('success');
  });

  test(`the receiver in ${name} reports a failure of ack mode`, async () => {
    await api.updateQueue(queue.id, { mode: 'ack', ackTimeout: 20, maxAttempts: 1 });
    const surrogate = language.isStrict === true ? '' : '\ud800';
    // Errors quote what they are about. Jobferry refuses a reason with such characters, or above 1000 of them.
    for (const customer of ['ada', 'a\0b', `a${surrogate}b`, 'é'.repeat(1500), '\u{1F600}'.repeat(1500)]) {
      const { id } = await api.publish(queue.name, { payload: { to: 'fail', customer } });
      const { lastError, history } = await api.waitForStatus(id, 'dead');
      expect(lastError).toContain('no such customer');
      expect(history).toMatchObject([{ status: 'nacked' }]);
    }
  });

  test(`the receiver in ${name} fails a job of standard mode, and has one held when it is busy`, async () => {
    await api.updateQueue(queue.id, { mode: 'standard' });
    const { id: failing } = await api.publish(queue.name, { payload: { to: 'fail' } });
    expect(await api.waitForStatus(failing, 'dead')).toMatchObject({ lastError: 'HTTP 500' });
    const { id: busy } = await api.publish(queue.name, { payload: { to: 'busy' } });
    const held = await api.waitForJob(busy, ({ deferCount }) => deferCount === 1);
    expect(held).toMatchObject({ status: 'pending', history: [{ status: 'deferred', webhookStatusCode: 429 }] });
    // 30 s, and not the 60 s of an answer without Retry-After.
    const deferredAt = Date.parse(held.history[0]?.timestamp ?? '');
    expect(Date.parse(held.scheduledFor) - deferredAt).toBeLessThan(40_000);
  });
});
