import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, sep } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Express } from 'express';
import { OWN_PATHS } from '../../domain/paths.ts';

/** The page loads everything from this server, and has neither scripts nor styles in the document. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
};

const PAGE = 'index.html';
/** The build puts a hash of the content into the names of the files in this folder. */
const HASHED = 'assets/';
const FOREVER = 'public, max-age=31536000, immutable';
const REVALIDATE = 'no-cache';
/** Refuses to load more into memory: the dashboard has less than 1 MiB. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Encodings of a file in the order of preference, and the names of their precompressed files. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;
type Encoding = (typeof ENCODINGS)[number][0];

interface Served {
  plain: Buffer;
  encoded: Partial<Record<Encoding, Buffer>>;
  headers: Record<string, string>;
}

/** The files of the dashboard by their path below the base path. */
export type Dashboard = ReadonlyMap<string, Served>;

/** Whether the path belongs to another route. An unknown path below it is 404, also for browsers. */
function isReserved(path: string): boolean {
  return OWN_PATHS.includes(path.split('/')[1] ?? '');
}

/**
 * Reads the built dashboard into memory. A request is looked up by its exact path, so it cannot reach another file.
 * @param basePath path of the dashboard in the browser, with a slash at its end
 * @returns null if the folder has no dashboard
 */
export function readDashboard(folder: string, basePath: string): Dashboard | null {
  if (!existsSync(join(folder, PAGE))) return null;
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length).split(sep).join('/').replace(/^\//, ''));
  const files = new Map(paths.map((path) => [path, readFileSync(join(folder, path))]));
  const bytes = [...files.values()].reduce((sum, file) => sum + file.length, 0);
  if (bytes > MAX_BYTES) throw new Error(`${folder} has ${bytes} bytes, more than a dashboard: build it again`);
  const served = new Map<string, Served>();
  for (const [path, content] of files) {
    if (path === PAGE) served.set(path, page(content.toString('utf8'), basePath));
    else if (!/\.(br|gz)$/.test(path)) served.set(path, asset(path, content, files));
  }
  return served;
}

/** Serves the files of the dashboard, and its page for every other path that a browser opens. To be mounted last. */
export function mountDashboard(app: Express, dashboard: Dashboard): void {
  app.use((req, res, next) => {
    const file = req.method === 'GET' || req.method === 'HEAD' ? fileOf(dashboard, req) : undefined;
    if (file === undefined) {
      next();
      return;
    }
    res.locals.route = 'dashboard';
    send(req, res, file);
  });
}

function fileOf(dashboard: Dashboard, { path, headers }: { path: string; headers: IncomingMessage['headers'] }) {
  const file = dashboard.get(path.slice(1));
  if (file !== undefined) return file;
  const isPage = !isReserved(path) && headers.accept?.includes('text/html') === true;
  return isPage ? dashboard.get(PAGE) : undefined;
}

function page(html: string, basePath: string): Served {
  const base = `<base href="${escaped(basePath)}">`;
  const withBase = /<base\b[^>]*>/i.test(html)
    ? html.replace(/<base\b[^>]*>/i, base)
    : html.replace(/<head\b[^>]*>/i, (head) => `${head}${base}`);
  const plain = Buffer.from(withBase);
  const headers = {
    ...headersOf(PAGE, plain),
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cross-origin-opener-policy': 'same-origin',
    'x-frame-options': 'DENY',
  };
  return { plain, encoded: { br: brotliCompressSync(plain), gzip: gzipSync(plain) }, headers };
}

function asset(path: string, plain: Buffer, files: ReadonlyMap<string, Buffer>): Served {
  const encoded: Served['encoded'] = {};
  for (const [encoding, extension] of ENCODINGS) {
    const compressed = files.get(path + extension);
    if (compressed !== undefined) encoded[encoding] = compressed;
  }
  return { plain, encoded, headers: headersOf(path, plain) };
}

function headersOf(path: string, content: Buffer): Record<string, string> {
  return {
    'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
    'cache-control': path.startsWith(HASHED) ? FOREVER : REVALIDATE,
    // All encodings have one tag, so it is a weak one.
    etag: `W/"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`,
    vary: 'accept-encoding',
    'referrer-policy': 'same-origin',
  };
}

function send(req: IncomingMessage, res: ServerResponse, { plain, encoded, headers }: Served): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if (req.headers['if-none-match']?.includes(headers.etag ?? '') === true) {
    res.writeHead(304).end();
    return;
  }
  const encoding = ENCODINGS.map(([name]) => name).find((name) => encoded[name] !== undefined && accepts(req, name));
  const body = (encoding === undefined ? undefined : encoded[encoding]) ?? plain;
  if (encoding !== undefined) res.setHeader('content-encoding', encoding);
  res.setHeader('content-length', body.length);
  res.writeHead(200).end(req.method === 'HEAD' ? undefined : body);
}

function accepts({ headers }: IncomingMessage, encoding: Encoding): boolean {
  return String(headers['accept-encoding'] ?? '')
    .toLowerCase()
    .split(',')
    .some((entry) => {
      const [name = '', ...parameters] = entry.split(';').map((part) => part.trim());
      return name === encoding && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    });
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
}
