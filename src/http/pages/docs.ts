import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { Express, RequestHandler } from 'express';
import { type OpenApiOptions, openApiDocument } from './openapi/index.ts';

/** The page loads everything from this server, and no page or script from another host. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  // The stylesheet contains its icons.
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The files that the page needs. The package also has others, and source maps of megabytes. */
const ASSETS = { 'swagger-ui.css': 'text/css', 'index.css': 'text/css', 'swagger-ui-bundle.js': 'text/javascript' };

/** Browsers check these files on every use, which costs a 304: they change with every version of Jobferry. */
const REVALIDATE = 'no-cache';

/**
 * `validatorUrl`: by default the page sends the document to a service on the internet. `url`: beside the folder of the
 * script, wherever a proxy puts it.
 */
const START_SCRIPT = `const url = new URL('../openapi.json', document.currentScript.src).href;
window.addEventListener('load', () => {
  SwaggerUIBundle({
    url,
    dom_id: '#swagger-ui',
    deepLinking: true,
    validatorUrl: 'none',
    tryItOutEnabled: true,
    displayRequestDuration: true,
  });
});
`;

/**
 * Serves `/openapi.json`, and `/docs` to read it. Neither needs a key: both contain only what the documentation
 * contains. Each is made at its first request, and served from memory from then on: the document takes a tenth of a
 * second, which most processes never need.
 */
export function mountDocumentation(app: Express, options: OpenApiOptions): void {
  app.get(
    '/openapi.json',
    serve('application/json', () => JSON.stringify(openApiDocument(options)), REVALIDATE),
  );
  const { version, read } = swaggerUi();
  const page = serve('text/html', () => pageOf(version, 'docs'), REVALIDATE);
  const pageOfFolder = serve('text/html', () => pageOf(version, '.'), REVALIDATE);
  app.get('/docs', (req, res, next) => {
    res.setHeader('content-security-policy', CONTENT_SECURITY_POLICY);
    res.setHeader('referrer-policy', 'no-referrer');
    if (req.path.endsWith('/')) pageOfFolder(req, res, next);
    else page(req, res, next);
  });
  app.get(
    '/docs/start.js',
    serve('text/javascript', () => START_SCRIPT, REVALIDATE),
  );
  for (const [name, type] of Object.entries(ASSETS)) {
    // The page adds `?v=` to the URL, so a browser never uses the file of another version.
    app.get(
      `/docs/${name}`,
      serve(type, () => read(name), 'public, max-age=86400'),
    );
  }
}

function swaggerUi(): { version: string; read: (name: string) => Buffer } {
  const manifest = createRequire(import.meta.url).resolve('swagger-ui-dist/package.json');
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
  return { version, read: (name) => readFileSync(join(dirname(manifest), name)) };
}

/**
 * All addresses are relative, because a proxy may serve the page below a path that it does not pass on.
 * @param folder the folder of the files, seen from the page: a browser counts `/docs/` as a folder, and `/docs` as a
 * file
 */
function pageOf(version: string, folder: 'docs' | '.'): string {
  const document = folder === '.' ? '../openapi.json' : 'openapi.json';
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Jobferry API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${folder}/swagger-ui.css?v=${version}">
    <link rel="stylesheet" href="${folder}/index.css?v=${version}">
  </head>
  <body>
    <div id="swagger-ui"></div>
    <noscript>This page needs JavaScript. The document itself is at <a href="${document}">openapi.json</a>.</noscript>
    <script src="${folder}/swagger-ui-bundle.js?v=${version}"></script>
    <script src="${folder}/start.js"></script>
  </body>
</html>
`;
}

/** @param read is called once, with the first request */
function serve(type: string, read: () => string | Buffer, cacheControl: string): RequestHandler {
  let made: { bytes: Buffer; etag: string } | null = null;
  const make = () => {
    const bytes = Buffer.from(read());
    return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
  };
  return (req, res) => {
    made ??= make();
    const { bytes, etag } = made;
    res.setHeader('cache-control', cacheControl);
    res.setHeader('etag', etag);
    // `includes`: the tag may be in a list, or be marked as weak by a proxy that compresses.
    if (req.headers['if-none-match']?.includes(etag)) {
      res.status(304).end();
      return;
    }
    res.setHeader('content-type', `${type}; charset=utf-8`);
    res.setHeader('content-length', bytes.length);
    res.end(bytes);
  };
}
