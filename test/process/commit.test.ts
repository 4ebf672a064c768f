import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

/** The commit that a build notes. */

const SCRIPT = new URL('../../scripts/note-commit.mjs', import.meta.url);

async function openFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'jobferry-commit-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const repository = join(folder, 'jobferry');
  await mkdir(join(repository, 'scripts'), { recursive: true });
  await mkdir(join(repository, 'dist'));
  await cp(SCRIPT, join(repository, 'scripts/note-commit.mjs'));
  await writeFile(join(repository, 'package.json'), '{"type":"module"}');
  const output = join(repository, 'dist/commit');
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd, encoding: 'utf8' }).trim();
  const note = (env: NodeJS.ProcessEnv = {}) => {
    execFileSync(process.execPath, ['scripts/note-commit.mjs'], {
      cwd: repository,
      env: { PATH: process.env.PATH, ...env },
      stdio: 'pipe',
    });
    return existsSync(output) ? readFileSync(output, 'utf8') : null;
  };
  return { folder, repository, git, note };
}

it('is that of git, and marked when a file differs from it', async () => {
  const { repository, git, note } = await openFolder();
  git(repository, 'init', '-q');
  git(repository, 'add', '.');
  git(repository, 'commit', '-qm', 'first');
  const commit = git(repository, 'rev-parse', 'HEAD');
  expect([note(), note()]).toEqual([`${commit}\n`, `${commit}\n`]);
  await writeFile(join(repository, 'package.json'), '{"type":"module","private":true}');
  expect(note()).toBe(`${commit}-changed\n`);
});

it('is absent outside of git, and within the repository of something else', async () => {
  const { folder, git, note } = await openFolder();
  const before = note({ COMMIT: 'abcdef0123' });
  expect([before, note()]).toEqual(['abcdef0123\n', null]);
  git(folder, 'init', '-q');
  git(folder, 'add', '.');
  git(folder, 'commit', '-qm', 'of something else');
  expect(note()).toBeNull();
  expect(() => note({ COMMIT: '$(git rev-parse HEAD)' })).toThrow('COMMIT is not the hash of a commit');
});
