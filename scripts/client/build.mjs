// Builds packages/client/dist, unless nothing has changed: packages/client/src for `import` and for `require`, and the
// contract and the types of the API, which it generates from src/contract.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { alone } from '../alone.mjs';
import { hashOf } from '../builds.mjs';
import { writeContract } from './contract.mjs';
import { writeContractTypes, writeModels, writeRoutes } from './declarations.mjs';
import { namedTypes, readRoutes } from './wire-types.mjs';

const ROOT = join(import.meta.dirname, '../..');
const CLIENT = join(ROOT, 'packages/client');
/** The package is built here, and then put in place as a whole. */
const DIST = join(ROOT, `.builds/making-client-${process.pid}`);
/** The inputs of the package; the lock file names the version of each package. */
const INPUTS = [
  ...['packages/client/src', 'src/contract', 'src/domain', 'scripts/client', 'tsconfig.json', 'package-lock.json'],
  ...['packages/client/tsconfig.json'],
];
/** Has the hash of what packages/client/dist is made from. */
const STAMP = join(ROOT, '.builds/client-of');
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/** The files that the sources of the client import, by folder of src. Only the server uses the others. */
const SHARED = {
  contract: ['verbatim-json', 'ignored'],
  domain: [
    'spelling',
    'envelope-text',
    'duration',
    'parsed-url',
    'queue',
    'queue-settings',
    'report-url',
    'signing-secret',
    'tags-problem',
    'webhook-url',
  ],
};
/** Each entry point, and the way from its folder to dist. */
const ENTRIES = { 'client/index': '../..', 'client/webhook/index': '../../..', 'client/testing/index': '../../..' };

if (!isCurrent()) await alone(join(ROOT, '.builds/client-lock'), async () => isCurrent() || (await build()));

function isCurrent() {
  if (!existsSync(STAMP) || !existsSync(join(CLIENT, 'dist'))) return false;
  return readFileSync(STAMP, 'utf8') === hashOf(ROOT, INPUTS);
}

async function build() {
  const hash = hashOf(ROOT, INPUTS);
  const gone = join(ROOT, `.builds/gone-client-${process.pid}`);
  try {
    await make();
    rmSync(STAMP, { force: true });
    if (existsSync(join(CLIENT, 'dist'))) renameSync(join(CLIENT, 'dist'), gone);
    renameSync(DIST, join(CLIENT, 'dist'));
    writeFileSync(STAMP, hash);
  } finally {
    rmSync(DIST, { recursive: true, force: true });
    rmSync(gone, { recursive: true, force: true });
  }
}

async function make() {
  const compiled = join(DIST, 'compiled');
  compile({
    extends: join(CLIENT, 'tsconfig.json'),
    // Users see no declaration of what only the package calls.
    compilerOptions: { outDir: compiled, stripInternal: true },
    files: Object.keys(ENTRIES).map((entry) => join(CLIENT, entry.replace('client', 'src').concat('.ts'))),
  });
  flatten(compiled);

  const { contract } = await import(pathToFileURL(join(compiled, 'contract/index.js')).href);
  const groups = readRoutes(contract);
  const named = namedTypes(groups);
  removeServerCode(compiled);
  write(compiled, 'contract/index.js', writeContract(groups, named));
  write(compiled, 'contract/index.d.ts', writeContractTypes(groups));
  write(compiled, 'client/models.d.ts', writeModels(named));
  write(compiled, 'client/routes.d.ts', writeRoutes(groups, named));
  for (const file of filesOf(compiled, '.d.ts')) importJs(file);
  removeUnused(compiled);

  for (const [format, module] of Object.entries({ esm: 'esnext', cjs: 'commonjs' }))
    transform(compiled, format, module);
  // Both formats have the same declarations, so those of ESM refer to those of CommonJS.
  for (const file of filesOf(compiled, '.d.ts')) {
    renameSync(file, join(DIST, 'cjs', relative(compiled, file)));
  }
  for (const [entry, up] of Object.entries(ENTRIES)) {
    write(DIST, `esm/${entry}.d.ts`, `export * from '${up}/cjs/${entry}.js';\n`);
  }
  // The package has the type module. This file makes its CommonJS half an exception.
  write(DIST, 'cjs/package.json', `${JSON.stringify({ type: 'commonjs' })}\n`);
  rmSync(compiled, { recursive: true });
}

/** Writes compiled files in another format of modules, and without comments: editors show those of the declarations. */
function transform(compiled, format, module) {
  compile({
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      module,
      moduleResolution: 'bundler',
      verbatimModuleSyntax: false,
      types: [],
      allowJs: true,
      noEmit: false,
      allowImportingTsExtensions: false,
      rootDir: compiled,
      outDir: join(DIST, format),
      removeComments: true,
    },
    files: filesOf(compiled, '.js'),
    include: [],
  });
}

/** `npm run check` checks the types. */
function compile(config) {
  const path = join(DIST, 'tsconfig.json');
  mkdirSync(DIST, { recursive: true });
  writeFileSync(path, JSON.stringify(config));
  execFileSync(process.execPath, [tsc, '-p', path, '--noCheck', '--incremental', 'false'], { stdio: 'inherit' });
  rmSync(path);
}

/**
 * Puts the client, the contract and the domain beside one another, as the package has them: the compiler keeps the
 * folders of the sources.
 */
function flatten(folder) {
  for (const room of Object.keys(SHARED)) renameSync(join(folder, 'src', room), join(folder, room));
  renameSync(join(folder, 'packages/client/src'), join(folder, 'client'));
  for (const file of [...filesOf(join(folder, 'client'), '.js'), ...filesOf(join(folder, 'client'), '.d.ts')]) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"](?:\.\.\/)*)\.\.\/\.\.\/src\//g, '$1'));
  }
}

function removeServerCode(folder) {
  for (const [room, names] of Object.entries(SHARED)) {
    for (const file of readdirSync(join(folder, room))) {
      if (!names.some((name) => file.startsWith(`${name}.`))) rmSync(join(folder, room, file), { recursive: true });
    }
  }
}

/** Replaces `.ts` in the imports of declarations, which the compiler keeps and older compilers refuse. */
function importJs(path) {
  writeFileSync(path, readFileSync(path, 'utf8').replace(/( from '\.[^']+)\.ts'/g, "$1.js'"));
}

/** Removes the files that no entry point imports, directly or indirectly. */
function removeUnused(folder) {
  const used = new Set();
  const visit = (path) => {
    if (used.has(path) || !existsSync(path)) return;
    used.add(path);
    const imports = readFileSync(path, 'utf8').matchAll(/\b(?:from|require\(|import\()\s*["'](\.[^"']+)["']/g);
    for (const [, target] of imports) {
      const file = join(dirname(path), target);
      visit(path.endsWith('.d.ts') ? file.replace(/\.js$/, '.d.ts') : file);
    }
  };
  for (const entry of Object.keys(ENTRIES)) {
    visit(join(folder, `${entry}.js`));
    visit(join(folder, `${entry}.d.ts`));
  }
  for (const file of [...filesOf(folder, '.js'), ...filesOf(folder, '.ts')]) if (!used.has(file)) rmSync(file);
}

function filesOf(folder, ending) {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
}

function write(folder, file, text) {
  writeFileSync(join(folder, file), text);
}
