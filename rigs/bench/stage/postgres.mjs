import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../../../dist/src/db/embedded/server.js';
import { cpuOfFamily } from '../measure/processes.mjs';

const quiet = { info: () => undefined, warn: () => undefined };

/**
 * One server for all systems, with the settings that the service gives its embedded one (fsync and
 * synchronous_commit are on). Each system gets a database of its own in it.
 */
export async function startPostgres(dataDir, { statements = false } = {}) {
  let server = await startEmbedded({ dataDir, log: quiet });
  if (statements) {
    const settings = `shared_preload_libraries = 'pg_stat_statements'\ntrack_io_timing = on\n`;
    await writeFile(join(dataDir, 'postgres/local.conf'), settings);
    await server.stop();
    server = await startEmbedded({ dataDir, log: quiet });
  }
  const pid = Number((await readFile(join(dataDir, 'postgres/postmaster.pid'), 'utf8')).split('\n')[0]);
  const urlOf = (database) => server.url.replace(/\/[^/]*$/, `/${database}`);
  const admin = new pg.Client({ connectionString: urlOf('postgres') });
  admin.on('error', () => undefined);
  await admin.connect();
  const settings = {};
  for (const name of ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers']) {
    settings[name] = (await admin.query(`show ${name}`)).rows[0][name];
  }
  if (settings.fsync !== 'on' || settings.synchronous_commit !== 'on') throw new Error('the server is not durable');

  return {
    settings,
    dataDir,
    /** CPU microseconds of the server so far, background processes included. */
    cpu: () => cpuOfFamily(pid),
    /** An empty database, or a copy of a template; returns its URL. */
    async createDatabase(name, template = 'template1') {
      await admin.query(`drop database if exists ${name} with (force)`);
      await admin.query(`create database ${name} template ${template}`);
      if (statements) await query(urlOf(name), 'create extension if not exists pg_stat_statements');
      return urlOf(name);
    },
    async dropDatabase(name) {
      await admin.query(`drop database if exists ${name} with (force)`);
    },
    /** So that no run pays for what the one before has written. */
    async checkpoint() {
      await admin.query('checkpoint');
    },
    async stop() {
      await admin.end();
      await server.stop();
    },
  };
}

/** For a few statements beside the measurement. */
export async function query(url, text, values = []) {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}
