import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkOut, MODULES } from '../support/checkout.ts';

/** `npm run release` in a clone of the present files. */

const run = promisify(execFile);

let folder: string;
let clone: string;
let version: string;
let clean: string;

const inClone = (program: string, ...args: string[]) => run(program, args, { cwd: clone, maxBuffer: 2 ** 26 });
const release = (...args: string[]) => inClone(process.execPath, 'scripts/release.mjs', ...args);
const read = (...path: string[]) => readFile(join(clone, ...path), 'utf8');

/** Writes a file and returns why the release is refused then. */
async function refusal(file: string, change: (text: string) => string): Promise<string> {
  await writeFile(join(clone, file), change(await read(file)));
  const refused = await release('--unchecked').catch((error: { stderr: string }) => error.stderr);
  await inClone('git', 'checkout', '-q', '--', file);
  return String(refused);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-release-'));
  clone = join(folder, 'clone');
  await checkOut(clone, { whole: true });
  await inClone('git', 'init', '-q');
  // The link to node_modules is no folder, which is all that .gitignore excludes.
  await writeFile(join(clone, '.git/info/exclude'), 'node_modules\n');
  await inClone('git', 'add', '-A');
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@localhost'];
  await inClone('git', ...author, 'commit', '-q', '--no-verify', '-m', 'Add all');
  clean = (await inClone('git', 'rev-parse', 'HEAD')).stdout.trim();
  ({ version } = JSON.parse(await read('package.json')));
  // Between releases the list of changes has a section without a version, and functions may be new.
  const changes = (await read('CHANGELOG.md')).replace(/^## .*$/m, `## ${version} (2026-01-02)`);
  await writeFile(join(clone, 'CHANGELOG.md'), changes);
  const { stdout } = await inClone(process.execPath, 'scripts/function-signatures.mjs');
  await writeFile(join(clone, 'test/db/released-functions.txt'), `# Head\n${stdout}`);
  await inClone('git', ...author, 'commit', '-q', '--no-verify', '-am', 'Add the release');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

describe('a release', () => {
  it('is refused, with what to do, while the commit is not that release', async () => {
    const isChanged = 'there are changes that are not committed';
    expect(await refusal('CHANGELOG.md', (text) => text.replace(/^## .*$/m, '## Unreleased'))).toBe(
      `${version} cannot be released:\n  CHANGELOG.md: the newest section is "## Unreleased", and not "## ${version} (YYYY-MM-DD)"\n  ${isChanged}\n\n`,
    );
    const otherVersion = (text: string) => text.replace(/jobferry-client-[\d.]+\.tgz/, 'jobferry-client-99.1.2.tgz');
    expect(await refusal('packages/client/README.md', otherVersion)).toContain(
      `packages/client/README.md names 99.1.2: npm run release -- --set ${version}\n`,
    );
    expect(
      await refusal('prisma/functions/publish.sql', (text) => text.replace('jobferry_publish(', 'other(')),
    ).toContain('test/db/released-functions.txt has other functions than this release: see its head\n');
    await inClone('git', 'tag', `v${version}`, clean);
    expect(await refusal('README.md', (text) => text)).toContain(`the tag v${version} is another commit`);
    await inClone('git', 'tag', '-d', `v${version}`);
  });

  it('has both packages, the image context, the changes, the bill of materials and their checksums', async () => {
    const { stdout } = await release('--unchecked');
    expect(stdout).toContain('WITHOUT ANY CHECK');
    const files = join(clone, 'release', version);
    expect((await readdir(files)).sort()).toEqual([
      'CHANGES.md',
      'SHA256SUMS',
      `jobferry-${version}-image.tar.gz`,
      `jobferry-${version}.cdx.json`,
      `jobferry-${version}.tgz`,
      `jobferry-client-${version}.tgz`,
    ]);
    await run('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: files });
    const [head, ...others] = (await read('release', version, 'CHANGES.md')).match(/^## .*$/gm) ?? [];
    expect([head, others]).toEqual([`## ${version} (2026-01-02)`, []]);
    const { metadata, components } = JSON.parse(await read('release', version, `jobferry-${version}.cdx.json`));
    expect(metadata.component).toMatchObject({ name: 'jobferry', version });
    const names = components.map(({ name }: { name: string }) => name);
    expect(names).toContain('graphile-worker');
    expect(names).not.toContain('vitest');
    expect((await inClone('git', 'status', '--porcelain')).stdout).toBe('');
  });

  it('has a context in which the steps of the Dockerfile build a service', async () => {
    const context = join(folder, 'context');
    await mkdir(context);
    await run('tar', ['-xzf', join(clone, 'release', version, `jobferry-${version}-image.tar.gz`), '-C', context]);
    await symlink(MODULES, join(context, 'node_modules'), 'junction');
    await run('npm', ['run', 'build', '--', '--real'], { cwd: context });
    const { stdout } = await run(process.execPath, ['dist/main.js', '--version'], { cwd: context });
    expect(stdout).toContain(version);
  });

  it('writes another version wherever one stands', async () => {
    await release('--set', '99.1.2');
    const { stdout } = await inClone('git', 'diff', '--name-only');
    expect(stdout.split('\n')).toEqual(
      expect.arrayContaining(['package.json', 'package-lock.json', 'docs/receivers.md']),
    );
    const old = new RegExp(`jobferry(-client)?-${version.replaceAll('.', '\\.')}\\.tgz`);
    for (const file of stdout.trim().split('\n')) expect(await read(file), file).not.toMatch(old);
    expect(await read('deploy/helm/jobferry/Chart.yaml')).toMatch(/^version: 99\.1\.2\nappVersion: 99\.1\.2$/m);
    await inClone('git', 'checkout', '-q', '--', '.');
  });
});
