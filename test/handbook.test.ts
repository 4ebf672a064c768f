import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readArguments } from '../src/cli/commands/arguments.ts';
import { COMMANDS } from '../src/cli/commands/index.ts';
import { VARIABLES } from '../src/process/config.ts';
import { SECRETS } from '../src/process/variables.ts';
import { blockOf } from './support/handbook.ts';

/**
 * Text that people copy from the documents: each block of shell commands, as far as it can be tried without running it.
 */

const DAY_MS = 86_400_000;
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const DOCUMENTS = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'deploy/README.md'],
  ...readdirSync(join(ROOT, 'docs')).flatMap((name) => (name.endsWith('.md') ? [`docs/${name}`] : [])),
];

interface Block {
  /** Document and line. */
  at: string;
  text: string;
}

function blocksOf(path: string): Block[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  return Array.from(text.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm), ({ index, 1: block = '' }) => ({
    at: `${path}:${text.slice(0, index).split('\n').length + 1}`,
    text: block,
  }));
}

const blocks = DOCUMENTS.flatMap(blocksOf);

/** The commands of a block, without what the shell does with their output. */
function commandsIn({ text }: Block): string[] {
  return text
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .flatMap((line) => line.replace(/\s#.*$/, '').split(/&&|;|\|/))
    .map((command) => command.trim())
    .filter((command) => command !== '');
}

const all = blocks.flatMap((block) => commandsIn(block).map((command) => ({ at: block.at, command })));

it('has blocks of the handbook, the README and the documents of deploy/', () => {
  for (const path of ['docs/operations.md', 'README.md', 'deploy/README.md'])
    expect(blocks.filter(({ at }) => at.startsWith(path)).length, path).toBeGreaterThan(2);
});

it.each(blocks)('$at is understood by the shell', ({ text }) => {
  const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
});

describe('commands of Jobferry', () => {
  const OURS =
    /^(?:export )?(?:[A-Z_]+=(?:'[^']*'|\S*) )*(?:\S+ exec \S+ )?(?:node (?:\S*\/)?dist\/main\.js|(?:npx )?jobferry) ([a-z].*)$/;
  const ours = all.flatMap(({ at, command }) => {
    const [, args] = OURS.exec(command) ?? [];
    return args === undefined ? [] : [{ at, args: args.trim() }];
  });

  it.each(ours)('$at: jobferry $args', ({ args }) => {
    const words = args.split(/\s+/).filter((word) => !/^[<>]/.test(word));
    const command = COMMANDS.find(({ name }) => [words.slice(0, 2).join(' '), words[0]].includes(name));
    if (command === undefined) throw new Error('there is no such command');
    expect(() => readArguments(command, words.slice(command.name.split(' ').length))).not.toThrow();
  });
});

it('sets variables that exist', () => {
  // Variables of a receiver and a publisher, and of the file that loads an OpenTelemetry SDK.
  const others = ['API_KEY', 'SIGNING_SECRET', 'TRACE_RATIO'];
  const known = new Set([...VARIABLES, ...SECRETS.map((name) => `${name}_FILE`), ...others]);
  const ofCommands = all.filter(({ command }) =>
    /^(export )?[A-Z_]+=.*(dist\/main\.js|npm start)|^export /.test(command),
  );
  const set = ofCommands.flatMap(({ at, command }) =>
    Array.from(command.matchAll(/(?:^|\s)([A-Z][A-Z_]+)=/g), ([, name = '']) => ({ at, name })),
  );
  expect(set.filter(({ name }) => !known.has(name) && !name.startsWith('OTEL_'))).toEqual([]);
});

describe('the front page', () => {
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

  it('can be read at once, and names the two commands', () => {
    expect(readme.trimEnd().split('\n').length).toBeLessThanOrEqual(130);
    expect(readme).toMatch(/^```sh\nnpm ci && npm start\n```$/m);
    expect(readme).toContain('`npm ci && npm test`');
  });

  it('has no block after the first that could harm the service which that one has started', () => {
    const harmful = /\bnpm\b|\bnpx\b|\brm\b|\bkill\b|\bDELETE\b|dist\/main\.js/;
    const [first, ...later] = blocksOf('README.md');
    expect(first?.text).toBe('npm ci && npm start\n');
    expect(later.filter(({ text }) => harmful.test(text))).toEqual([]);
    expect(harmful.test('cd . && npm ci && npm test')).toBe(true);
  });

  it('has one picture, for light and for dark', () => {
    const pictures = Array.from(readme.matchAll(/\b(?:src|srcset)="([^"]+)"/g), ([, path = '']) => path);
    expect(pictures).toHaveLength(2);
    expect(pictures.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });

  it('leads to headings that are there', () => {
    const slugs = (path: string) =>
      Array.from(readFileSync(join(ROOT, path), 'utf8').matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\w\- ]/g, '')
          .replaceAll(' ', '-'),
      );
    const links = Array.from(readme.matchAll(/\]\(([\w./-]+)#([\w-]+)\)/g), ([, path = '', slug = '']) => ({
      path,
      slug,
    }));
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter(({ path, slug }) => !slugs(path).includes(slug))).toEqual([]);
  });
});

describe('the block of a daily backup', () => {
  /**
   * Runs it beside backups of so many days ago, with a program in place of Jobferry.
   * @returns the files that are there then
   */
  async function runBlock(daysAgo: readonly number[], program: string) {
    const folder = await mkdtemp(join(tmpdir(), 'jobferry-backups-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const names = daysAgo.map((days) => [`jobferry-${dayOf(Date.now() - days * DAY_MS)}`, days] as const);
    for (const [name, days] of names) {
      const at = Date.now() / 1000 - days * (DAY_MS / 1000);
      await writeFile(join(folder, name), 'a backup');
      await utimes(join(folder, name), at, at);
    }
    await mkdir(join(folder, 'dist'));
    await writeFile(join(folder, 'dist/main.js'), program);
    const block = blockOf('a backup that was not made', 'sh').replaceAll('/backups/', `${folder}/`);
    const script = block.replaceAll('/var/lib/node_exporter/', `${folder}/`);
    const env = { PATH: process.env.PATH, TZ: 'UTC' };
    const { status } = spawnSync('bash', ['-c', script], { cwd: folder, env, encoding: 'utf8' });
    const files = readdirSync(folder).filter((name) => name !== 'dist');
    return { status, files, names: names.map(([name]): string => name) };
  }

  it('keeps all earlier ones if the new one fails', async () => {
    const { status, files, names } = await runBlock([40, 3], 'process.exitCode = 1;');
    expect(status).not.toBe(0);
    expect(files.toSorted()).toEqual(names.toSorted());
  });

  it('keeps those of a week beside the new one', async () => {
    const { status, files, names } = await runBlock([40, 9, 6, 2], 'require("fs").writeFileSync(process.argv[3], "")');
    expect(status).toBe(0);
    const others = files.filter((name) => !names.includes(name));
    expect(others.toSorted()).toEqual([expect.stringMatching(/^jobferry-20\d\d-\d\d-\d\d$/), 'jobferry.prom']);
    expect(names.filter((name) => files.includes(name))).toEqual(names.slice(2));
  });
});

it('calls scripts of npm that exist', () => {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
  const called = all.flatMap(({ at, command }) => {
    const [, name] = /^(?:[A-Z_]+=\S* )*npm run ([\w:]+)/.exec(command) ?? [];
    return name === undefined ? [] : [{ at, name }];
  });
  expect(called.filter(({ name }) => !Object.hasOwn(scripts, name))).toEqual([]);
});

it('installs and builds before NODE_ENV is production, with which npm leaves out what a build needs', () => {
  const tooLate = blocks.filter(({ text }) => /NODE_ENV=production[\s\S]*npm (ci|install|run build)/.test(text));
  expect(tooLate.map(({ at }) => at)).toEqual([]);
});

it('a build without the development packages says what is missing, and how to get it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-production-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true });
  await mkdir(join(folder, 'node_modules'));
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  const built = spawnSync(process.execPath, ['scripts/generate.mjs'], { cwd: folder, encoding: 'utf8', env: {} });
  expect(built.status).toBe(1);
  expect(built.stderr).toMatch(
    /^Development packages are missing \(npm leaves them out with NODE_ENV=production .*`npm ci --include=dev`/,
  );
  expect(built.stderr.trim().split('\n')).toHaveLength(1);
});
