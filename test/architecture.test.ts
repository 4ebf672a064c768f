import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

/** Reads the sources and checks them against the arrows and confinements of docs/architecture.md. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PRISMA = join(ROOT, 'prisma');
const MAX_LINES = 350;
const MAX_SQL_FUNCTION_LINES = 80;
/** Functions that defaults of columns need, so migrations create them. */
const IN_MIGRATIONS = ['jobferry_now', 'jobferry_id'];

/** A feature of the dashboard imports these rooms: no other feature, and nothing of the shell. */
const BELOW_FEATURES = [
  'packages/dashboard/parts',
  'packages/dashboard/api',
  'packages/dashboard/base',
  'packages/dashboard/words',
  'packages/query',
];

/** Part of the source tree: a folder, or a root file such as `config`. What each may import, besides itself. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  domain: [],
  pacing: ['domain'],
  'telemetry/counts': ['domain'],
  'telemetry/log': ['telemetry/log-pretty', 'telemetry/log-repeats', 'domain'],
  'telemetry/log-pretty': [],
  'telemetry/log-repeats': [],
  'telemetry/tracing': ['domain'],
  'telemetry/metrics': ['db', 'telemetry/counts', 'telemetry/log', 'domain'],
  db: ['pacing', 'telemetry/counts', 'process/root', 'process/version', 'domain'],
  delivery: ['pacing', 'domain'],
  'delivery/tunnel': ['db', 'delivery', 'pacing', 'domain'],
  live: ['db', 'domain'],
  'services/oidc': ['domain'],
  services: [
    'services/oidc',
    'db',
    'live',
    'delivery/tunnel',
    'pacing',
    'telemetry/counts',
    'telemetry/tracing',
    'domain',
  ],
  contract: ['domain'],
  http: ['services', 'pacing', 'contract', 'telemetry/counts', 'telemetry/log', 'process/root', 'domain'],
  graphql: [
    'services',
    'live',
    'delivery/tunnel',
    'pacing',
    'contract',
    'db/connection/prisma',
    'db/generated',
    'telemetry/counts',
    'telemetry/log',
    'domain',
  ],
  worker: ['services', 'live', 'pacing', 'db', 'delivery', 'telemetry', 'domain'],
  alerts: ['db', 'delivery', 'pacing', 'telemetry/counts', 'telemetry/log', 'domain'],
  'packages/client': [
    'contract',
    'domain/duration',
    'domain/envelope-text',
    'domain/parsed-url',
    'domain/queue',
    'domain/queue-settings',
    'domain/report-url',
    'domain/signing-secret',
    'domain/tags-problem',
    'domain/webhook-url',
    'packages/client/src/verbs/document',
  ],
  'packages/client/src/verbs/document': ['packages/query/schema'],
  'process/root': [],
  'process/version': ['process/root'],
  'process/config': ['contract', 'telemetry/log', 'domain'],
  'process/variables': ['process/config', 'domain'],
  process: ['*'],
  'cli/declared': ['packages/client/src/models', 'packages/client/src/verbs/queues', 'contract', 'domain'],
  'cli/ask': ['packages/client', 'packages/query/schema'],
  'cli/dev': [
    'cli/ask',
    'packages/client',
    'packages/query/schema',
    'process/config',
    'services/accounts/api-key',
    'db',
    'delivery',
    'domain',
  ],
  'cli/listen': ['delivery/egress', 'delivery/exchange', 'delivery/send', 'delivery/signature', 'cli/dev/attempts'],
  'cli/commands': ['*'],
  main: ['cli/commands', 'process/root'],
  // The filter language, the exports and their operations: the dashboard and commands share them.
  'packages/query/schema': ['packages/query/generated'],
  'packages/query/words': ['packages/query/schema', 'domain/access', 'domain/operation-rights'],
  'packages/query/filter': ['packages/query/schema', 'packages/query/words', 'domain/spelling'],
  'packages/query/export': ['packages/query/schema', 'packages/query/words', 'packages/query/filter'],
  // The dashboard knows the service only by schema.graphql, and nothing of the service knows it.
  // Each of its rooms is a part.
  'packages/dashboard/words': ['packages/query', 'domain/backoff', 'domain/queue-settings'],
  'packages/dashboard/base': ['packages/dashboard/words', 'packages/query'],
  'packages/dashboard/api': ['packages/dashboard/base', 'packages/dashboard/words', 'packages/query'],
  'packages/dashboard/parts': [
    'packages/dashboard/api',
    'packages/dashboard/base',
    'packages/dashboard/words',
    'packages/query',
  ],
  'packages/dashboard/features/actions': BELOW_FEATURES,
  'packages/dashboard/features/activity': BELOW_FEATURES,
  'packages/dashboard/features/alerts': BELOW_FEATURES,
  'packages/dashboard/features/dead-letters': BELOW_FEATURES,
  'packages/dashboard/features/first-run': BELOW_FEATURES,
  'packages/dashboard/features/jobs': BELOW_FEATURES,
  // It shares words with the CLI and alerts.
  'packages/dashboard/features/queues': [
    ...BELOW_FEATURES,
    'domain/queue-condition',
    'domain/queue-settings',
    'domain/queue-slots',
  ],
  'packages/dashboard/features/settings': BELOW_FEATURES,
  'packages/dashboard/features/sign-in': BELOW_FEATURES,
  'packages/dashboard/features/system': BELOW_FEATURES,
  'packages/dashboard/routes': ['packages/dashboard/features'],
  'packages/dashboard/shell': ['packages/dashboard/routes', ...BELOW_FEATURES],
  'packages/dashboard/app': ['packages/dashboard/shell', 'packages/dashboard/features/sign-in', ...BELOW_FEATURES],
  'packages/dashboard/main': ['packages/dashboard/app', 'packages/dashboard/styles', ...BELOW_FEATURES],
  'packages/dashboard/globals.d': [],
  'packages/dashboard/vite.config': [],
};

/** Paths in the dashboard that have no Preact, no browser and no clock. */
const PURE =
  /^packages\/(query\/|dashboard\/words\/|dashboard\/features\/[a-z-]+\/model\/|dashboard\/parts\/chart\/geometry)/;

/** Libraries that only some parts may know. */
const CONFINED: readonly [library: RegExp, parts: readonly string[]][] = [
  [/^express$/, ['http', 'contract']],
  [/^@ts-rest\/express$/, ['http', 'contract']],
  [/^@ts-rest\/open-api$/, ['http']],
  [/^@ts-rest\/core$/, ['http', 'contract', 'packages/client']],
  [/^(graphql(?!-sse)|dataloader|@pothos|@graphql-yoga|@escape\.tech)/, ['graphql']],
  [/^graphile-worker$/, ['worker']],
  [/^pg$|^@prisma\//, ['db']],
  [/^undici$/, ['delivery', 'cli/listen']],
  [/^ipaddr\.js$/, ['delivery']],
  [/^openid-client$/, ['services/oidc']],
  [/^nodemailer(\/|$)/, ['alerts']],
  [/^@opentelemetry\//, ['telemetry/tracing']],
  [/^pino$/, ['telemetry/log']],
  [/^prom-client$/, ['telemetry/metrics']],
  [/^(preact|wouter-preact|vite|gql\.tada|@tanstack)(\/|$)/, ['packages/dashboard', 'packages/query']],
];

const SQL = /\b(select|insert into|update|delete from)\b.*\b(from|set|values)\b/is;

interface Source {
  /** From the root, with slashes, and from `src/` what is in there. */
  path: string;
  part: string;
  text: string;
}

const GENERATED = /(^|\/)generated\//;
const sources: Source[] = ['src', 'packages/client/src', 'packages/query', 'packages/dashboard'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((file) => `${folder}/${file.split(sep).join('/')}`)
    .filter((file) => /\.tsx?$/.test(file) && !GENERATED.test(file))
    .map((file) => ({ path: nameOf(file), part: partOf(nameOf(file)), text: readFileSync(join(ROOT, file), 'utf8') })),
);

function nameOf(file: string): string {
  return file.replace(/^src\//, '');
}

/** The path from the root of a source. */
function fileOf({ path }: Source): string {
  return path.startsWith('packages/') ? path : `src/${path}`;
}

function isOf(part: string, folder: string): boolean {
  return part === folder || part.startsWith(`${folder}/`);
}

/** The longest name in ARROWS that the path begins with; the path itself if there is none. */
function partOf(path: string): string {
  const name = path.replace(/\.tsx?$/, '');
  const parts = Object.keys(ARROWS).filter((part) => isOf(name, part));
  return parts.sort((a, b) => b.length - a.length)[0] ?? name;
}

function importsOf(text: string): string[] {
  const code = text.replace(/\/\*.*?\*\/|^\s*\/\/.*$/gms, '');
  const forms = /\bfrom\s+'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g;
  return [...code.matchAll(forms)].map((match) => match[1] ?? match[2] ?? '');
}

/** Name of what a relative import names, without extension. */
function targetOf(source: Source, specifier: string): string {
  const target = relative(ROOT, join(ROOT, dirname(fileOf(source)), specifier));
  return nameOf(target.split(sep).join('/')).replace(/\.tsx?$/, '');
}

function isAllowed(from: string, target: string): boolean {
  if (partOf(target) === from) return true;
  return (ARROWS[from] ?? []).some((arrow) => arrow === '*' || isOf(target, arrow));
}

/**
 * Returns the first chain of files found in which each imports the next, and the last the first; null if there is none.
 */
function circleIn(imports: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const walk = (path: string, chain: readonly string[]): string[] | null => {
    if (chain.includes(path)) return [...chain.slice(chain.indexOf(path)), path];
    if (done.has(path)) return null;
    for (const target of imports.get(path) ?? []) {
      const circle = walk(target, [...chain, path]);
      if (circle !== null) return circle;
    }
    done.add(path);
    return null;
  };
  for (const path of imports.keys()) {
    const circle = walk(path, []);
    if (circle !== null) return circle;
  }
  return null;
}

function violations(find: (source: Source) => string[]): string[] {
  return sources.flatMap((source) => find(source).map((what) => `${source.path}: ${what}`));
}

describe('architecture', () => {
  it('knows every part of the source tree', () => {
    expect([...new Set(sources.map(({ part }) => part))].filter((part) => !(part in ARROWS))).toEqual([]);
  });

  it('has arrows from top to bottom only', () => {
    const wrong = violations((source) =>
      importsOf(source.text)
        .filter((specifier) => specifier.startsWith('.'))
        .map((specifier) => targetOf(source, specifier))
        .filter((target) => !isAllowed(source.part, target)),
    );
    expect(wrong).toEqual([]);
  });

  it('has no files that import each other in a cycle', () => {
    const imports = new Map(
      sources.map((source) => [
        source.path.replace(/\.tsx?$/, ''),
        importsOf(source.text)
          .filter((specifier) => specifier.startsWith('.'))
          .map((specifier) => targetOf(source, specifier)),
      ]),
    );
    expect(circleIn(imports)).toBeNull();
    // A target under another name than its file would hide every circle through it.
    const unknown = [...imports.values()].flat().filter((target) => !imports.has(target));
    expect(unknown.filter((target) => !/\.css$/.test(target) && !GENERATED.test(target))).toEqual([]);
  });

  it('keeps libraries where they belong', () => {
    const wrong = violations((source) =>
      importsOf(source.text).filter((name) =>
        CONFINED.some(([library, parts]) => library.test(name) && !parts.some((part) => isOf(source.part, part))),
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('keeps the models and words of the dashboard pure: no Preact, no browser, no clock', () => {
    const wrong = violations((source) => {
      if (!PURE.test(source.path)) return [];
      // A template may hold a program for people to copy.
      const text = source.text.replace(/`(?:\\.|[^`\\])*`/gs, '``');
      // Types are gone when the page runs.
      const imports = importsOf(text.replace(/^(import|export) type .*?;$/gms, ''));
      const outside = (name: string) =>
        !name.startsWith('.') || !(PURE.test(targetOf(source, name)) || isOf(targetOf(source, name), 'domain'));
      return [
        ...imports.filter(outside),
        ...(text.match(/Date\.now|Math\.random|performance\.now|\bdocument\.|\bwindow\.|localStorage/g) ?? []),
      ];
    });
    expect(wrong).toEqual([]);
  });

  it('keeps the domain pure: no library, no clock, no chance', () => {
    const wrong = violations(({ part, text }) =>
      part === 'domain'
        ? [...importsOf(text).filter((name) => !name.startsWith('.')), ...(text.match(/Date\.now|Math\.random/g) ?? [])]
        : [],
    );
    expect(wrong).toEqual([]);
  });

  it('parses URLs by domain/parsed-url, which says why', () => {
    const wrong = violations(({ path, text }) =>
      path === 'domain/parsed-url.ts' || !text.includes('URL.canParse') ? [] : ['URL.canParse'],
    );
    expect(wrong).toEqual([]);
  });

  it('has SQL only in db/', () => {
    const wrong = violations(({ part, text }) =>
      part === 'db' || part.startsWith('packages/')
        ? []
        : (text.match(/`[^`]*`/g) ?? []).filter((template) => SQL.test(template)),
    );
    expect(wrong).toEqual([]);
  });

  it('has no class of two screens with styles of their own: all are in one stylesheet', () => {
    const folder = join(ROOT, 'packages/dashboard');
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.css'));
    const classes = files.map((file) => ({
      isShared: !file.startsWith('features'),
      names: new Set(
        [...readFileSync(join(folder, file), 'utf8').matchAll(/^ {2}\.([\w-]+)/gm)].map(([, name]) => name),
      ),
    }));
    const shared = new Set(classes.flatMap(({ isShared, names }) => (isShared ? [...names] : [])));
    const own = classes.flatMap(({ isShared, names }) => (isShared ? [] : [...names]));
    expect(own.length).toBeGreaterThan(50);
    expect(own.filter((name, index) => own.indexOf(name) < index && !shared.has(name))).toEqual([]);
  });

  it(`has no file longer than ${MAX_LINES} lines`, () => {
    const wrong = violations(({ text }) => {
      const lines = text.split('\n').length;
      return lines > MAX_LINES ? [`${lines} lines`] : [];
    });
    expect(wrong).toEqual([]);
  });
});

/** Every `create function` of the files below a folder of `prisma/`, with the lines up to the end of its body. */
function sqlFunctions(folder: string) {
  return readdirSync(join(PRISMA, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.sql'))
    .flatMap((file) => {
      const text = readFileSync(join(PRISMA, folder, file), 'utf8');
      return [...text.matchAll(/^create( or replace)? function (\w+)(.*?)\$\$;$/gms)].map(
        ([whole, replaces, name = '']) => ({
          file,
          name,
          replaces: replaces !== undefined,
          lines: whole.split('\n').length,
        }),
      );
    });
}

describe('SQL functions (decision 0024)', () => {
  const functions = sqlFunctions('functions');

  it('are in prisma/functions, but for those that tables need', () => {
    expect(sqlFunctions('migrations').map(({ name }) => name)).toEqual(IN_MIGRATIONS);
    expect(functions.map(({ name }) => name).filter((name) => IN_MIGRATIONS.includes(name))).toEqual([]);
  });

  it('can be applied again, and are defined once', () => {
    expect(functions.filter(({ replaces }) => !replaces)).toEqual([]);
    const names = functions.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
  });

  it(`have no more than ${MAX_SQL_FUNCTION_LINES} lines`, () => {
    expect(functions.filter(({ lines }) => lines > MAX_SQL_FUNCTION_LINES)).toEqual([]);
  });

  it('are all that their files have', () => {
    const files = [...new Set(functions.map(({ file }) => file))];
    const rest = files.map((file) => {
      const text = readFileSync(join(PRISMA, 'functions', file), 'utf8');
      return text.replace(/^create or replace function .*?\$\$;$/gms, '').replace(/^--.*$/gm, '');
    });
    expect(rest.filter((text) => text.trim() !== '')).toEqual([]);
  });
});
