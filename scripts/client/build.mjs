// Builds packages/client/dist: the sources of src/client for `import` and for `require`, and the contract and the types
// of the API, which it generates from src/contract.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { transformSync } from 'esbuild';
import { writeContract } from './contract.mjs';
import { writeContractTypes, writeModels, writeRoutes } from './declarations.mjs';
import { namedTypes, readRoutes } from './wire-types.mjs';

const CLIENT = join(import.meta.dirname, '../../packages/client');
const DIST = join(CLIENT, 'dist');
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');

/** The files that the sources of the client import, by folder of src. Only the server uses the others. */
const SHARED = { contract: ['verbatim-json', 'ignored'], domain: ['spelling'] };

rmSync(DIST, { recursive: true, force: true });
for (const config of ['tsconfig.json', 'tsconfig.cjs.json']) {
  execFileSync(process.execPath, [tsc, '-p', join(CLIENT, config)], { stdio: 'inherit' });
}

const { contract } = await import(pathToFileURL(join(DIST, 'esm/contract/index.js')).href);
const groups = readRoutes(contract);
const named = namedTypes(groups);
const contractSource = writeContract(groups, named);

for (const format of ['esm', 'cjs']) {
  const folder = join(DIST, format);
  removeServerCode(folder);
  write(folder, 'contract/index.js', contractSource);
  for (const file of filesOf(folder, '.js')) withoutComments(file, format);
}
const declarations = join(DIST, 'cjs');
write(declarations, 'contract/index.d.ts', writeContractTypes(groups));
write(declarations, 'client/models.d.ts', writeModels(named));
write(declarations, 'client/routes.d.ts', writeRoutes(groups, named));
for (const file of filesOf(declarations, '.d.ts')) importJs(file);
// Both formats have the same declarations, so those of ESM refer to those of CommonJS.
for (const file of filesOf(join(DIST, 'esm'), '.d.ts')) rmSync(file);
for (const [entry, up] of Object.entries({ 'client/index': '../..', 'client/webhook/index': '../../..' })) {
  write(DIST, `esm/${entry}.d.ts`, `export * from '${up}/cjs/${entry}.js';\n`);
}
for (const format of ['esm', 'cjs']) removeUnused(join(DIST, format));
// The package has the type module. This file makes its CommonJS half an exception.
write(DIST, 'cjs/package.json', `${JSON.stringify({ type: 'commonjs' })}\n`);

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

/** Removes the comments of the code: editors show those of the declarations. */
function withoutComments(path, format) {
  const { code } = transformSync(readFileSync(path, 'utf8'), { format, platform: 'neutral', target: 'es2023' });
  writeFileSync(path, code);
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
  for (const entry of ['client/index', 'client/webhook/index']) {
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
