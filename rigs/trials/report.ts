import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The findings of a run, by trial, for docs/evidence/operations.md. Trials that did not run keep those of the last run.
 */
const FILE = join(process.env.TRIALS_EVIDENCE ?? tmpdir(), 'jobferry-operations.json');

export async function report(trial: string, found: object): Promise<void> {
  const text = await readFile(FILE, 'utf8').catch(() => '{}');
  const all = JSON.parse(text) as Record<string, object>;
  const git = (...args: string[]) => execFileSync('git', args, { encoding: 'utf8' }).trim();
  const commit = `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', 'src') === '' ? '' : ' and changes'}`;
  const run = { at: new Date().toISOString(), commit, node: process.version, cores: cpus().length };
  all[trial] = { run, found };
  const sorted = Object.fromEntries(Object.entries(all).sort(([one], [other]) => one.localeCompare(other)));
  await writeFile(FILE, `${JSON.stringify(sorted, null, 2)}\n`);
}
