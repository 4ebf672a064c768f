// `npm run release`: everything of a release but its publication, which needs accounts (CONTRIBUTING.md, "A release").
// It runs all checks, which takes hours, and writes release/VERSION/.
//
//   npm run release -- --set 1.2.3     only writes a version into both packages and wherever else it stands
//   npm run release -- --unchecked     only makes the files
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sectionOf } from './release/changelog.mjs';
import { packBoth, writeBillOfMaterials, writeChecksums, writeImageContext } from './release/files.mjs';
import { namedVersions, setVersion, versionOf } from './release/version.mjs';

const ROOT = join(import.meta.dirname, '..');
const CHECKS = [
  ...['check', 'test', 'test:long'].map((script) => ['run', script]),
  ...['matrix', 'packages', 'fuzz', 'upgrade'].map((rig) => ['run', 'rig', rig]),
];
const { set, unchecked } = parseArgs({ options: { set: { type: 'string' }, unchecked: { type: 'boolean' } } }).values;

if (set !== undefined) {
  if (!/^\d+\.\d+\.\d+$/.test(set)) throw new Error('--set takes a version of three numbers, such as 1.2.3');
  setVersion(ROOT, set);
} else {
  const version = versionOf(ROOT);
  const problems = problemsOf(version);
  if (problems.length > 0) {
    console.error(`${version} cannot be released:\n${problems.map((problem) => `  ${problem}\n`).join('')}`);
    process.exit(1);
  }
  if (unchecked !== true) {
    for (const args of CHECKS) {
      const { status } = spawnSync('npm', args, { cwd: ROOT, stdio: 'inherit' });
      if (status !== 0) process.exit(status ?? 1);
    }
  }
  write(version);
}

/** @returns {string[]} what keeps the present commit from being this release */
function problemsOf(version) {
  const problems = [];
  const client = versionOf(ROOT, 'packages/client');
  for (const named of [{ file: 'packages/client/package.json', version: client }, ...namedVersions(ROOT)]) {
    if (named.version !== version)
      problems.push(`${named.file} names ${named.version}: npm run release -- --set ${version}`);
  }
  try {
    sectionOf(changelog(), version);
  } catch (error) {
    problems.push(error.message);
  }
  const signatures = execFileSync(process.execPath, ['scripts/function-signatures.mjs'], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const released = readFileSync(join(ROOT, 'test/db/released-functions.txt'), 'utf8').replace(/^#.*\n/gm, '');
  if (released !== signatures) {
    problems.push('test/db/released-functions.txt has other functions than this release: see its head');
  }
  if (git('status', '--porcelain') !== '') problems.push('there are changes that are not committed');
  const tag = `v${version}`;
  if (git('tag', '--list', tag) !== '' && git('tag', '--list', tag, '--points-at', 'HEAD') === '') {
    problems.push(`the tag ${tag} is another commit: a release is never changed`);
  }
  return problems;
}

function write(version) {
  const folder = join(ROOT, 'release', version);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  packBoth(ROOT, folder);
  writeImageContext(ROOT, join(folder, `jobferry-${version}-image.tar.gz`));
  writeBillOfMaterials(ROOT, join(folder, `jobferry-${version}.cdx.json`));
  writeFileSync(join(folder, 'CHANGES.md'), sectionOf(changelog(), version));
  writeChecksums(folder);
  console.log(
    `release/${version} has the files of ${git('rev-parse', 'HEAD')}${unchecked === true ? ', WITHOUT ANY CHECK' : ''}.`,
  );
  console.log('CONTRIBUTING.md, "A release", says how to publish them.');
}

function changelog() {
  return readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
}

function git(...args) {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
}
