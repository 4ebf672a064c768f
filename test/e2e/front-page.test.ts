import { spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformWithOxc } from 'vite';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtClient } from '../support/built.ts';
import { MODULES, ROOT } from '../support/checkout.ts';
import { atEndOfFile } from '../support/end-of-file.ts';
import { lastingPort } from '../support/lasting-port.ts';
import { startServiceProcess } from '../support/service.ts';
import { waitFor } from '../support/wait-for.ts';

/** A visitor pastes from README and the tour of REST, as printed: only ports and the address are others. */

const KEY = 'key-of-the-front-page';
const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;

async function blocksOf(path: string, language: string): Promise<string[]> {
  const text = await readFile(join(ROOT, path), 'utf8');
  return Array.from(
    text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm')),
    ([, block = '']) => block,
  );
}

interface Terminal {
  /** The text that was printed so far. */
  output: string;
  paste(text: string): void;
  /** Ends the program, and what it has left in the background. */
  end(): void;
}

let folder: string;
let terminal: Terminal;
let places: Readonly<Record<string, string>>;

/** The text with the ports and the address of this test. */
function here(text: string): string {
  return text.replaceAll(/http:\/\/127\.0\.0\.1:8080|\b900[012]\b/g, (place) => places[place] ?? place);
}

function open(command: string, args: string[], env: Record<string, string | undefined> = {}): Terminal {
  // A process group of its own, so that programs in its background end with it.
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    detached: true,
  });
  let isEnded = false;
  const opened: Terminal = {
    output: '',
    paste: (text) => void child.stdin.write(here(text)),
    end: () => {
      if (!isEnded && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      isEnded = true;
    },
  };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (opened.output += chunk.toString()));
  child.once('close', () => (isEnded = true));
  atEndOfFile(opened.end);
  return opened;
}

async function prints(where: Terminal, text: string): Promise<void> {
  const printed = () => where.output.includes(text);
  await waitFor(printed, { message: text }).catch((error: unknown) => {
    throw new Error(`${String(error)}\n${where.output}`);
  });
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-front-page-'));
  atEndOfFile(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }));
  const { jobferry } = await startServiceProcess({ BOOTSTRAP_API_KEY: KEY });
  const ports = await Promise.all(['9000', '9001', '9002'].map(async (port) => [port, String(await lastingPort())]));
  places = { 'http://127.0.0.1:8080': jobferry.baseUrl, ...Object.fromEntries(ports) };
  await mkdir(join(folder, '.data'));
  await writeFile(join(folder, '.data/api-key'), `${KEY}\n`);
  await symlink(MODULES, join(folder, 'node_modules'), 'junction');
  terminal = open('bash', []);
});

describe('README', () => {
  it('brings the first job', async () => {
    const [, first = ''] = await blocksOf('README.md', 'sh');
    terminal.paste(first);
    await prints(terminal, '"payload":{"hello":"world"}');
  });

  const programs: [language: string, start: (text: string) => Promise<[command: string, args: string[]]>][] = [
    ['py', async (text) => ['python3', ['-c', text]]],
    [
      'ts',
      async (contents) => {
        const program = join(folder, 'front-page.mjs');
        const { code } = await transformWithOxc(contents, 'front-page.ts');
        const built = (_: string, half = '') => `"${pathToFileURL(builtClient()).href}${half}/index.js"`;
        await writeFile(program, code.replaceAll(/['"]@jobferry\/client(\/webhook)?['"]/g, built));
        return [process.execPath, [program]];
      },
    ],
  ];

  it('makes a queue for a program', async () => {
    const [, , second = ''] = await blocksOf('README.md', 'sh');
    terminal.paste(`${second}\necho "exported:$API_KEY $SIGNING_SECRET."\n`);
    await prints(terminal, `exported:${KEY} whsec_`);
  });

  it.for(programs)('has a program in %s that publishes and receives', async ([language, start], { skip }) => {
    skip(language === 'py' && !HAS_PYTHON, 'there is no python3');
    const [, secret = ''] = /exported:\S+ (\S+)\.\n/.exec(terminal.output) ?? [];
    const [text = ''] = await blocksOf('README.md', language);
    await waitFor(async () => {
      const program = open(...(await start(here(text))), { API_KEY: KEY, SIGNING_SECRET: secret });
      // It does not repeat what a busy machine refuses.
      await waitFor(() => /mail to ada|503/.test(program.output), { message: 'a mail' }).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${program.output}`);
      });
      program.end();
      return program.output.includes('mail to ada');
    });
  });
});

it('the tour of REST leads through a job, and through one in ack mode', async () => {
  const [create = '', publish = '', read = ''] = await blocksOf('docs/rest.md', 'sh');
  const [receive = ''] = await blocksOf('docs/receivers.md', 'sh');
  const [change = '', ack = ''] = await blocksOf('docs/ack-mode.md', 'sh');
  terminal.paste(`${create}${receive}`);
  await prints(terminal, 'receiver is listening');
  terminal.paste(publish);
  await prints(terminal, 'received {');
  // The outcome is stored after the answer.
  const until = (status: string) => `until call $API/jobs/$JOB_ID | grep -q '"${status}"'; do sleep 0.1; done\n`;
  terminal.paste(`${until('completed')}${read}`);
  await prints(terminal, '"status":"completed"');
  terminal.paste(change);
  await prints(terminal, '"payload":{"video":"cat.mp4"}');
  terminal.paste(`${until('awaiting_ack')}${ack}${until('completed')}echo the tour is done\n`);
  await prints(terminal, '\nthe tour is done');
  expect(terminal.output).not.toMatch(/wrong signature|"error":["{]/);
});
