import { lstat, unlink } from 'node:fs/promises';
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { boundUrl, isSocketPath } from '../../domain/listening-address.ts';

/** Where to listen. The port has no meaning for a unix socket. */
interface Address {
  host: string;
  port: number;
  /** The variable that names the port, for messages; `PORT` if undefined. */
  variable?: string;
  /** Begins the names of the variables. */
  prefix?: string;
}

/**
 * Starts listening.
 * @throws Error with a message for the operator
 */
export async function listenOn(server: Server, address: Address): Promise<void> {
  const { host, port } = address;
  const where = isSocketPath(host) ? { path: host } : { host, port };
  if (isSocketPath(host)) await removeStaleSocket(host);
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error) => reject(cannotListen(error, address));
    server.once('error', fail);
    server.listen(where, () => {
      server.off('error', fail);
      resolve();
    });
  });
}

export function urlOf(server: Server): string {
  const address = server.address() as AddressInfo | string;
  return typeof address === 'string' ? boundUrl(address, 0) : boundUrl(address.address, address.port);
}

/**
 * A process that was killed leaves its socket behind, and no other could listen there. A socket in use is left alone.
 */
async function removeStaleSocket(path: string): Promise<void> {
  const isSocket = await lstat(path).then(
    (found) => found.isSocket(),
    () => false,
  );
  if (isSocket && (await refuses(path))) await unlink(path).catch(() => undefined);
}

function refuses(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}

function cannotListen(error: NodeJS.ErrnoException, { host, port, variable = 'PORT', prefix = '' }: Address): Error {
  const because = (message: string) => new Error(message, { cause: error });
  if (isSocketPath(host)) return because(socketProblem(error, host, prefix));
  switch (error.code) {
    case 'EADDRINUSE':
      return because(
        `port ${port} of ${host} is in use: stop the program that listens there, or set ${prefix}${variable}`,
      );
    case 'EACCES':
      return because(`this user may not listen on port ${port} of ${host}: set ${prefix}${variable} to 1024 or above`);
    case 'EADDRNOTAVAIL':
      return because(`${host} is not an address of this machine: set ${prefix}HOST`);
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return because(`the host name ${host} has no address: set ${prefix}HOST`);
    default:
      return because(`cannot listen on port ${port} of ${host}: ${error.message}`);
  }
}

function socketProblem({ code, message }: NodeJS.ErrnoException, path: string, prefix: string): string {
  switch (code) {
    case 'EADDRINUSE':
      return `${path} is in use, or is no socket: stop the program that listens there, or set ${prefix}HOST`;
    // Also for a folder that does not exist: libuv reports it so.
    case 'EACCES':
    case 'EROFS':
      return `cannot create ${path}: its folder must exist, and this user must be able to write to it`;
    default:
      return `cannot listen on ${path}: ${message}`;
  }
}
