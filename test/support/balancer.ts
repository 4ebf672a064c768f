import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { waitFor } from './wait-for.ts';

/** A load balancer in front of unix sockets, which does not ask whether they are healthy. */
export interface Balancer {
  /** The unix socket on which it listens. */
  readonly socketPath: string;
  /** Requests that it could not get answered. */
  readonly failed: string[];
}

/** `NGINX=/usr/sbin/nginx` runs the tests with the real one. */
export function startBalancer(upstreams: readonly string[]): Promise<Balancer> {
  const { NGINX } = process.env;
  return NGINX === undefined
    ? startOwn(upstreams)
    : startNginx(
        NGINX,
        upstreams.map((path) => `unix:${path}`),
      );
}

/**
 * Does as nginx does by default: takes the upstreams in turn, keeps their connections open, and sends a request to the
 * next one only if the first cannot be connected to. A request that was sent is not repeated, because a POST might
 * count twice.
 */
async function startOwn(upstreams: readonly string[]): Promise<Balancer> {
  const agents = upstreams.map(() => new Agent({ keepAlive: true }));
  const failed: string[] = [];
  let turn = 0;
  const pass = (req: IncomingMessage, body: Buffer, res: ServerResponse, first: number, tries = 1) => {
    const at = (first + tries - 1) % upstreams.length;
    const { method, url: path, headers } = req;
    const target = { socketPath: upstreams[at], agent: agents[at], method, path, headers };
    const passed = request(target, (answer) => {
      const { connection: _, ...kept } = answer.headers;
      res.writeHead(answer.statusCode ?? 502, kept);
      answer.pipe(res);
    });
    passed.once('error', (error: NodeJS.ErrnoException) => {
      const isUnsent = error.syscall === 'connect';
      if (isUnsent && tries < upstreams.length) {
        pass(req, body, res, first, tries + 1);
        return;
      }
      failed.push(`${path}: ${error.message}`);
      if (res.headersSent) res.destroy();
      else res.writeHead(502).end();
    });
    passed.end(body);
  };
  const server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.once('end', () => pass(req, Buffer.concat(parts), res, turn++));
  });
  const socketPath = join(await emptyFolder(), 'own.sock');
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
    for (const agent of agents) agent.destroy();
  });
  return { socketPath, failed };
}

/**
 * @param upstreams as nginx writes them
 * @param port a port of 127.0.0.1 on which it listens, too
 */
export async function startNginx(program: string, upstreams: readonly string[], port?: number): Promise<Balancer> {
  const folder = await emptyFolder();
  const socketPath = join(folder, 'nginx.sock');
  const servers = upstreams.map((address) => `server ${address} max_fails=1 fail_timeout=1s;`);
  await mkdir(join(folder, 'tmp'));
  await writeFile(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/pid; error_log stderr error;
     events { worker_connections 512; }
     http {
       access_log off;
       client_body_temp_path ${folder}/tmp/body; proxy_temp_path ${folder}/tmp/proxy; fastcgi_temp_path ${folder}/tmp/f;
       uwsgi_temp_path ${folder}/tmp/u; scgi_temp_path ${folder}/tmp/s;
       upstream jobferry { ${servers.join(' ')} keepalive 16; }
       server {
         listen unix:${socketPath}; ${port === undefined ? '' : `listen 127.0.0.1:${port};`}
         location / { proxy_pass http://jobferry; proxy_http_version 1.1; proxy_set_header Connection ""; }
       }
     }`,
  );
  const nginx: ChildProcess = spawn(program, ['-p', folder, '-c', 'nginx.conf'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const failed: string[] = [];
  let said = '';
  nginx.stderr?.on('data', (data: Buffer) => {
    said += data.toString();
    // A process that is away is no failure: the next one gets the request.
    failed.splice(
      0,
      failed.length,
      ...said.split('\n').filter((line) => /\[error\]/.test(line) && !/connect\(\)/.test(line)),
    );
  });
  onTestFinished(async () => {
    nginx.kill('SIGTERM');
    await new Promise((resolve) => (nginx.exitCode === null ? nginx.once('close', resolve) : resolve(null)));
  });
  const isUp = () =>
    new Promise<boolean>((resolve) => {
      const req = request({ socketPath, path: '/healthz', agent: false }, (res) =>
        resolve(res.resume().statusCode === 200),
      );
      req.once('error', () => resolve(false)).end();
    });
  await waitFor(isUp, { message: 'nginx' });
  return { socketPath, failed };
}

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'jf-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
