import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, chromium } from 'playwright-core';
import { INSTALLED, NO_BROWSER } from './no-browser.ts';

/**
 * The Chromium that the tests of the dashboard drive: the one at `CHROMIUM_PATH`, or that of the package
 * `@sparticuz/chromium`, which `npm ci` brings and which runs on Linux x64 only.
 */

const CACHE = join(import.meta.dirname, '../../node_modules/.cache/jobferry');
/** Prints the program's path. The package unpacks everything into `TMPDIR`, and its libraries only on such a system. */
const UNPACK = `import chromium from '@sparticuz/chromium'; console.log(await chromium.executablePath());`;
const UNPACK_ENV = { AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs20.x' };

/**
 * The limits of the browser, and no more: it keeps its own rules about origins, content and isolated sites. Names
 * resolve to nothing, so that no request leaves this machine, whatever a page or the browser itself asks for.
 */
const ARGUMENTS = ['--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1', '--font-render-hinting=none'];

export interface Program {
  path: string;
  /** The variables with which it finds its libraries and fonts. */
  env: Record<string, string>;
}

export async function launchChromium(): Promise<Browser> {
  const { path, env } = await findProgram();
  const options = {
    executablePath: path,
    args: ARGUMENTS,
    // Nothing of the developer's own settings.
    env: { HOME: CACHE, PATH: process.env.PATH ?? '', ...env },
  };
  // On a busy machine it has crashed with SIGSEGV before its first window, which no test is about.
  return chromium.launch(options).catch(() => chromium.launch(options));
}

/** The program, unpacked into the cache if this is the first run. */
export async function findProgram(): Promise<Program> {
  if (INSTALLED !== null) return { path: INSTALLED, env: {} };
  if (NO_BROWSER !== null) throw new Error(NO_BROWSER);
  const folder = join(CACHE, `chromium-${await packageVersion()}`);
  if (!existsSync(folder)) await unpackInto(folder);
  return {
    path: join(folder, 'chromium'),
    env: { LD_LIBRARY_PATH: join(folder, 'al2023/lib'), FONTCONFIG_PATH: join(folder, 'fonts') },
  };
}

/** Unpacks beside the folder and renames, so that no other process ever sees half of it. */
async function unpackInto(folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true });
  const staging = await mkdtemp(join(CACHE, 'unpacking-'));
  try {
    await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', UNPACK], {
      cwd: import.meta.dirname,
      env: { PATH: process.env.PATH, TMPDIR: staging, ...UNPACK_ENV },
    });
    await writeFile(join(staging, 'fonts/fonts.conf'), fontsBelow(join(folder, 'fonts'), CACHE));
    await rename(staging, folder).catch((error: NodeJS.ErrnoException) => {
      // Another process was faster; its copy is the same.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** The fonts of the package, and those of the machine where it has some: the package has none of equal width. */
function fontsBelow(folder: string, cache: string): string {
  const alias = (family: string, fonts: string[]) =>
    `<alias><family>${family}</family><prefer>${fonts.map((font) => `<family>${font}</family>`).join('')}</prefer></alias>`;
  return [
    '<?xml version="1.0"?>',
    '<!DOCTYPE fontconfig SYSTEM "fonts.dtd">',
    '<fontconfig>',
    `<dir>${folder}</dir><dir>/usr/share/fonts</dir><dir>/usr/local/share/fonts</dir>`,
    `<cachedir>${join(cache, 'fonts')}</cachedir>`,
    alias('system-ui', ['Inter', 'Open Sans']),
    alias('sans-serif', ['Inter', 'Open Sans']),
    alias('monospace', ['JetBrains Mono', 'Liberation Mono', 'DejaVu Sans Mono']),
    '</fontconfig>',
    '',
  ].join('\n');
}

async function packageVersion(): Promise<string> {
  // The package does not export its manifest.
  const root = dirname(dirname(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium'))));
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  return version;
}
