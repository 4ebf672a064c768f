import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import express, { type Express, type Request, type Response } from 'express';
import { ROOT } from '../../process/root.ts';

/** The pages load everything from this server, and have neither scripts nor styles in the document. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Serves the built documents below `/guide`. They are read from the disk,
 * because only a server for development has them.
 */
export function mountGuide(app: Express, folder: string): void {
  const files = express.static(folder, { etag: true });
  app.use('/guide', (req, res, next) => {
    res.locals.route = 'guide';
    res.setHeader('content-security-policy', CONTENT_SECURITY_POLICY);
    files(req, res, (error?: unknown) => (error === undefined ? notFound(req, res) : next(error)));
  });
}

function notFound(req: Request, res: Response): void {
  res
    .status(404)
    .type('html')
    .send(`<!doctype html><title>Not found</title><p>No page. <a href="${req.baseUrl}/">All pages</a>`);
}

/** Where the build puts it. */
const FOLDER = fileURLToPath(new URL('dist/guide', ROOT));

/** @returns the folder of the built documents; null if there are none, as in an image */
export function findGuide(): string | null {
  return existsSync(join(FOLDER, 'index.html')) ? FOLDER : null;
}
