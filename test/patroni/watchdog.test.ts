import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { waitFor } from '../support/wait-for.ts';

/** A trial that is killed leaves no cluster behind. */

const PROGRAMS = join(import.meta.dirname, 'programs.ts');

/** A trial in a process of its own cannot import TypeScript. */
async function compiled(folder: string): Promise<string> {
  const outfile = join(folder, 'programs.mjs');
  const define = { 'import.meta.url': JSON.stringify(pathToFileURL(PROGRAMS).href) };
  await build({ entryPoints: [PROGRAMS], bundle: true, platform: 'node', format: 'esm', outfile, define });
  return outfile;
}

/** How many processes the watchdog of a trial has seen. */
async function knownOf(trial: number | undefined): Promise<number> {
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

it.skipIf(process.platform !== 'linux')(
  'what a killed trial has launched ends, and its folder is removed',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'jobferry-watchdog-'));
    // One descends from the trial. The other one has another parent, as a PostgreSQL whose Patroni was killed, and names the folder.
    const trial = `
    import { spawn } from 'node:child_process';
    import { writeFileSync } from 'node:fs';
    const { endWithThisProcess, launch } = await import(${JSON.stringify(await compiled(folder))});
    endWithThisProcess([${JSON.stringify(folder)}]);
    const launched = launch(null, '${folder}/log', 'sleep', ['600']);
    writeFileSync('${folder}/orphan.sh', 'echo $$ > ${folder}/pid; sleep 600; true');
    spawn('sh', ['-c', 'setsid sh ${folder}/orphan.sh & '], { detached: true, stdio: 'ignore' });
    console.log(launched);
    setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', trial], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = await once(child.stdout, 'data');
    const orphan = await waitFor(
      async () => Number(await readFile(join(folder, 'pid'), 'utf8').catch(() => '')) || null,
      { message: 'the orphan' },
    );
    const pids = [Number(String(line)), orphan];
    expect(await Promise.all(pids.map(isRunning))).toEqual([true, true]);
    // `timeout` and `sleep` at least.
    await waitFor(async () => (await knownOf(child.pid)) >= 2, {
      timeoutMs: 20_000,
      message: 'the watchdog to know them',
    });
    child.kill('SIGKILL');
    await waitFor(async () => !(await Promise.all(pids.map(isRunning))).includes(true), {
      ...{ timeoutMs: 20_000, message: 'the end of both' },
    });
    await waitFor(() => !existsSync(folder), { message: 'the removal of the folder' });
  },
);
