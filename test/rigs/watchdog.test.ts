import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'vite';
import { expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';

/** A trial that is killed leaves no cluster behind. */

const PROGRAMS = join(import.meta.dirname, '../../rigs/patroni/programs.ts');

/** A trial in a process of its own cannot import TypeScript. */
async function compiled(folder: string): Promise<string> {
  const define = { 'import.meta.url': JSON.stringify(pathToFileURL(PROGRAMS).href) };
  const rolldownOptions = { output: { entryFileNames: 'programs.mjs' } };
  const options = { ssr: PROGRAMS, outDir: folder, emptyOutDir: false, rolldownOptions };
  await build({ configFile: false, logLevel: 'error', define, build: options });
  return join(folder, 'programs.mjs');
}

/** How many processes the watchdog of a trial has seen. */
async function knownOf(trial: number): Promise<number> {
  for (const pid of await readdir('/proc')) {
    const title = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const known = new RegExp(`^jobferry watchdog of ${trial}: (\\d+) known`).exec(title)?.[1];
    if (known !== undefined) return Number(known);
  }
  return 0;
}

/** Not a zombie, which waits for a parent that may be slow to read its result. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  return stat !== null && !/\) Z /.test(stat);
}

it.skipIf(process.platform !== 'linux').each([
  ['a trial', false],
  ['the parent of a trial', true],
])('what a trial has launched ends with %s that is killed, and its folder is removed', async (_what, killsParent) => {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-watchdog-'));
  // One descends from the trial. The other one has another parent, as a PostgreSQL whose Patroni was killed,
  // and names the folder.
  const trial = `
    import { spawn } from 'node:child_process';
    import { writeFileSync } from 'node:fs';
    const { endWithThisProcess, launch } = await import(${JSON.stringify(await compiled(folder))});
    endWithThisProcess([${JSON.stringify(folder)}]);
    const launched = launch(null, '${folder}/log', 'sleep', ['600']);
const wait = "'${process.execPath}' -e 'setTimeout(() => {}, 600000)' '${folder}/'";
    writeFileSync('${folder}/orphan.sh', 'echo $$ > ${folder}/pid; exec ' + wait);
    spawn('sh', ['-c', 'setsid sh ${folder}/orphan.sh & '], { detached: true, stdio: 'ignore' });
    console.log(process.pid, launched);
    setInterval(() => undefined, 1000);`;
  const file = join(folder, 'trial.mjs');
  await writeFile(file, trial);
  // A shell with a second command stays the parent.
  const parent = spawn('sh', ['-c', `'${process.execPath}' '${file}'; true`], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(parent.stdout, 'data');
  const [trialPid, launched] = String(line).trim().split(' ').map(Number) as [number, number];
  const orphan = await waitFor(
    async () => Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => '')) || null,
    { message: 'the orphan' },
  );
  const pids = [trialPid, launched, orphan];
  expect(await Promise.all(pids.map(isRunning))).toEqual([true, true, true]);
  // `timeout` and `sleep` at least.
  await waitFor(async () => (await knownOf(trialPid)) >= 2, {
    message: 'the watchdog to know them',
  });
  process.kill(killsParent ? (parent.pid as number) : trialPid, 'SIGKILL');
  await waitFor(async () => !(await Promise.all(pids.map(isRunning))).includes(true), {
    message: 'the end of all',
  });
  await waitFor(() => !existsSync(folder), { message: 'the removal of the folder' });
});
