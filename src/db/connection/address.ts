import pg from 'pg';
import { parseDatabaseUrl } from '../../domain/database-url.ts';
import type { DatabaseLog } from './database-log.ts';
import { Hosts } from './hosts.ts';

/** How to reach a database: a URL of one server, or several servers. */
export type Address = string | Hosts;

/** @throws Error if the URL cannot be used; its message does not repeat the URL */
export function addressOf(url: string, log: DatabaseLog): Address {
  const parsed = parseDatabaseUrl(url);
  if (typeof parsed === 'string') throw new Error(`the database URL ${parsed}`);
  return parsed.servers.length === 1 ? url : new Hosts(parsed.servers, log);
}

export function createClient(address: Address, options: pg.ClientConfig): pg.Client {
  if (typeof address === 'string') return new pg.Client({ ...options, connectionString: address });
  return new address.Client({ ...options, connectionString: address.url });
}

export function createPool(address: Address, options: pg.PoolConfig): pg.Pool {
  if (typeof address === 'string') return new pg.Pool({ ...options, connectionString: address });
  return new pg.Pool({ ...options, connectionString: address.url, Client: address.Client });
}
