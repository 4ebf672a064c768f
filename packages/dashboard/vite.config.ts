import { readFileSync } from 'node:fs';
import { basename, extname } from 'node:path';
import { defineConfig, type Plugin, type Rolldown } from 'vite';

/** The server that `npx vite packages/dashboard` passes requests to. */
const SERVER = process.env.JOBFERRY_URL ?? 'http://127.0.0.1:8080';
/** Development only: sent as a bearer key with every request, which takes the place of signing in. */
const API_KEY = process.env.JOBFERRY_API_KEY;

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/**
 * Browsers with `light-dark()`, nesting and `popover`: what runs is what is written, without prefixes and fallbacks.
 */
const BROWSERS = ['chrome123', 'firefox125', 'safari17.5'];

/**
 * Nothing is painted before the script has set the theme, so a page that is dark by choice never flashes white. Such a
 * script would otherwise stand inline in the page, which the Content-Security-Policy forbids.
 */
const paintAfterTheme: Plugin = {
  name: 'paint-after-theme',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => html.replace('<script type="module"', '<script type="module" blocking="render"'),
  },
};

/**
 * Scripts that are loaded late need a helper of the bundler, which stands in the page's script only if that needs it,
 * too: for the exports of a module as one object. Else it is a script of its own, and one request more before a screen
 * is shown.
 */
const helperInPage: Plugin = {
  name: 'helper-in-page',
  apply: 'build',
  transform: {
    filter: { id: /\/main\.tsx$/ },
    handler: (code) => `${code}\nimport * as exported from "./base/leave.ts";\nObject.freeze(exported);`,
  },
};

/** The dashboard's actions are no mutations of the library, whose cache of them would need a kilobyte for one. */
const withoutMutations: Plugin = {
  name: 'without-mutations',
  apply: 'build',
  transform: {
    filter: { id: /\/query-core\/build\/modern\/mutation\.js$/ },
    handler: () => 'export const Mutation = undefined, getDefaultState = undefined;',
  },
};

/** Operations without the blanks that make them readable: a kilobyte of all scripts, and of each request. */
const shortOperations: Plugin = {
  name: 'short-operations',
  apply: 'build',
  transform: {
    filter: { id: /\/(operations(\/[\w-]+)?|schema\/(fragments|suggest))\.ts$/ },
    handler: (code) =>
      code.replaceAll(/(graphql\(\s*)`([^`]+)`/g, (_, call: string, text: string) => {
        const short = text.replaceAll(/\s+/g, ' ').replaceAll(/ ?([{}():,[\]!]|\.\.\.) ?/g, '$1');
        return `${call}\`${short.trim()}\``;
      }),
  },
};

/**
 * Modules that are loaded late, and together: a script of its own for each would compress badly, as gzip knows only
 * what is in the same file. Modules that are not named here have scripts by their own names.
 */
const TOGETHER: readonly (readonly [script: string, modules: RegExp])[] = [
  ['queue-settings', /\/queue-(settings|changes)\.tsx$/],
  ['queues', /\/(overview|queues|receivers?)\.tsx$/],
  ['job', /\/(job|peek|compare)\.tsx$/],
  ['send', /\/(send|first-run)\.tsx$/],
  ['actions', /\/(actions|action|my-actions|dead-letters)\.tsx$/],
  ['service', /\/(activity|alerts|attempts|rule-dialog|system)\.tsx$/],
  ['bulk', /\/(bulk-dialog|replay-dialog)\.tsx$/],
  ['queue-dialogs', /\/(several-dialog|(check|examine)-receiver)\.tsx?$/],
  ['find', /\/(palette|help|nothing|saved-views|filter-input|export-dialog)\.tsx$/],
];

/** Scripts that only another one loads, so that what it has is there. */
const WITHIN: readonly (readonly [inner: string, outer: string])[] = [
  ['charts', 'queue'],
  ['purge-dialog', 'queue-settings'],
  ['queue-dialogs', 'queues'],
];

/** Where modules go that all of these scripts need, or two of these and one more. */
const SHARED: readonly (readonly [script: string, ...users: string[]])[] = [
  ['page', 'actions', 'queue', 'queues'],
  ['page', 'queue', 'send', 'job'],
  ['sent', 'job', 'send'],
  ['limits', 'queue', 'queues'],
  ['repair', 'actions', 'bulk'],
  ['bulk', 'bulk', 'purge-dialog'],
  ['repair', 'actions', 'queue', 'queue-settings', 'service'],
  ['repair', 'actions', 'queue'],
];

/**
 * The script that a module goes into. What most screens need is in that of the page; and all that the list of jobs
 * shares with others, so that its rows need one request less.
 */
function scriptOf(id: string, graph: { getModuleInfo(id: string): Rolldown.ModuleInfo | null }): string {
  const users = new Set<string>();
  const seen = new Set<string>();
  const climb = (from: string) => {
    const module = seen.has(from) ? null : graph.getModuleInfo(from);
    seen.add(from);
    if (module === null) return;
    if (module.isEntry) users.add('page');
    if (module.dynamicImporters.length > 0) {
      users.add(TOGETHER.find(([, modules]) => modules.test(from))?.[0] ?? basename(from, extname(from)));
    }
    for (const importer of module.importers) climb(importer);
  };
  climb(id);
  for (const [inner, outer] of WITHIN) if (users.has(outer)) users.delete(inner);
  const [only] = users;
  if (users.size === 1 && only !== undefined) return only;
  const [shared = 'page', ...of] = SHARED.find(([, ...all]) => all.every((user) => users.has(user))) ?? [];
  return users.size > Math.max(3, of.length) || users.has('page') || users.has('jobs') ? 'page' : shared;
}

export default defineConfig({
  root: import.meta.dirname,
  // Files are found relative to the page's <base>, so one build works behind every path prefix.
  base: './',
  plugins: [paintAfterTheme, helperInPage, withoutMutations, shortOperations],
  define: { __VERSION__: JSON.stringify(version) },
  build: {
    target: BROWSERS,
    cssTarget: BROWSERS,
    // scripts/dashboard/build.mjs passes the folder, measures what the manifest lists, and removes the manifest.
    manifest: true,
    // The policy allows no data: URL.
    assetsInlineLimit: 0,
    // One style sheet: in pieces it is larger, and each piece is a request before a screen can be shown.
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // On a busy machine every plugin is slow, and a warning at each first start would look like a failure.
      checks: { pluginTimings: false },
      output: {
        codeSplitting: {
          includeDependenciesRecursively: false,
          groups: [{ debugName: 'scripts', name: scriptOf }],
        },
      },
    },
    reportCompressedSize: false,
  },
  server: {
    proxy: Object.fromEntries(
      // Patterns of whole names: a plain path would also match every path that only begins with it.
      ['^/graphql(\\?|$)', '^/session([/?]|$)', '^/v1/'].map((path) => [
        path,
        {
          target: SERVER,
          changeOrigin: true,
          headers: { origin: SERVER, ...(API_KEY === undefined ? {} : { authorization: `Bearer ${API_KEY}` }) },
        },
      ]),
    ),
  },
});
