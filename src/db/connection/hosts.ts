import pg from 'pg';
import type { DatabaseHost, DatabaseUrl } from '../../domain/database-url.ts';
import type { DatabaseLog } from './database-log.ts';
import { type Origin, readOrigin } from './origin.ts';

/** For how long new connections go to the server that was found, without another look. */
const FOUND_FOR_MS = 1000;
/**
 * For how long a search without a result counts. A pool tries again many times a second while no server takes writes.
 */
const NONE_FOR_MS = 250;
/** Time limit of connecting to one server; the search must end within the 3 s that a pool allows for a connection. */
const CONNECT_MS = 1000;
const REPLY_MS = 1000;
/** How long the search waits for the other servers after the first primary. */
const OTHERS_MS = 200;

type Server = DatabaseUrl['servers'][number];

/** A server and its role, or the error of the look at it. */
type Finding = { server: Server } & ({ primary: Origin | null } | { standby: true } | { error: Error });
type Primary = Extract<Finding, { primary: unknown }>;

/**
 * The servers of a URL with several hosts, one of which is the primary. Each new connection first asks all of them at
 * once, unless that was done in the last second, and goes to the primary. So after a failover the process finds the new
 * primary by itself. If two servers take writes, the one with the higher timeline is the primary: the other is a former
 * primary that was promoted no further (`OriginGuard` closes what is still connected to it).
 */
export class Hosts {
  /** For options that are the same for all servers. */
  readonly url: string;
  /** Connects to the primary. */
  readonly Client: typeof pg.Client;
  readonly #servers: readonly Server[];
  readonly #log: DatabaseLog;
  #search: Promise<DatabaseHost> | null = null;
  /** End of the last search, and until when its result counts; infinity while one is running. */
  #searchedAt = 0;
  #searchedUntil = 0;
  #last: Server | null = null;
  /** The roles of the servers while none can be used, and since when. */
  #problem: { text: string; since: number } | null = null;
  /** The former primary that takes writes beside the present one. */
  #former: string | null = null;
  #onPrimary: (origin: Origin) => void = () => undefined;

  constructor(servers: readonly Server[], log: DatabaseLog) {
    this.url = servers[0]?.url ?? '';
    this.#servers = servers;
    this.#log = log;
    this.Client = clientOf(this);
  }

  /** Why no server can be used, without names, which are not for everyone; null when one can. */
  get problem(): string | null {
    if (this.#problem === null) return null;
    const { text, since } = this.#problem;
    return `${text}; looking for one for ${secondsSince(since)} s`;
  }

  /** @param listener called with each primary that is found, if it reports its timeline */
  onPrimary(listener: (origin: Origin) => void): void {
    this.#onPrimary = listener;
  }

  /** @throws Error that says what each server is, when none is a primary */
  async primary(): Promise<DatabaseHost> {
    if (this.#search !== null && performance.now() < this.#searchedUntil) return this.#search;
    this.#searchedUntil = Number.POSITIVE_INFINITY;
    const search = this.#find();
    this.#search = search;
    const ended = (countsMs: number) => {
      this.#searchedAt = performance.now();
      this.#searchedUntil = this.#searchedAt + countsMs;
    };
    search.then(
      () => ended(FOUND_FOR_MS),
      () => ended(NONE_FOR_MS),
    );
    return search;
  }

  /**
   * To be called when the server that was found cannot be connected: connections look again earlier. Not at once,
   * because a server that has no connection to spare refuses very many.
   */
  forget(): void {
    if (this.#searchedUntil === Number.POSITIVE_INFINITY) return;
    this.#searchedUntil = Math.min(this.#searchedUntil, this.#searchedAt + NONE_FOR_MS);
  }

  async #find(): Promise<Server> {
    const findings: Finding[] = [];
    await new Promise<void>((resolve) => {
      for (const server of this.#servers) {
        void look(server).then((finding) => {
          findings.push(finding);
          if (findings.length === this.#servers.length) resolve();
          else if ('primary' in finding) setTimeout(resolve, OTHERS_MS);
        });
      }
    });
    const [found, former] = newestFirst(findings);
    if (found === undefined) throw this.#none(findings);
    this.#isFound(found);
    this.#isBeside(found, former);
    if (found.primary !== null) this.#onPrimary(found.primary);
    return found.server;
  }

  #isFound({ server, primary }: Primary): void {
    const timeline = primary?.timeline;
    const searched = this.#problem === null ? {} : { searchedSeconds: secondsSince(this.#problem.since) };
    if (this.#last !== null && this.#last !== server) {
      const fields = { from: nameOf(this.#last), to: nameOf(server), timeline, ...searched };
      this.#log.warn(fields, 'another server of the database URL is the primary now');
    } else if (this.#problem !== null) {
      const fields = { server: nameOf(server), timeline, ...searched };
      this.#log.warn(fields, 'a server of the database URL is a primary again');
    }
    this.#problem = null;
    this.#last = server;
  }

  /** @param former another server that takes writes, if there is one */
  #isBeside(found: Primary, former: Primary | undefined): void {
    const name = former === undefined ? null : nameOf(former.server);
    if (former !== undefined && name !== this.#former) {
      const fields = { server: name, timeline: former.primary?.timeline, primary: nameOf(found.server) };
      this.#log.warn(fields, 'a former primary of the database URL takes writes: it is not used');
    }
    this.#former = name;
  }

  #none(findings: readonly Finding[]): Error {
    const servers = Object.fromEntries(findings.map((finding) => [nameOf(finding.server), stateOf(finding)]));
    const standbys = findings.filter((finding) => 'standby' in finding).length;
    const away = findings.length - standbys;
    const text = `none of ${findings.length} servers is a primary: ${standbys} standby, ${away} not reachable`;
    if (this.#problem?.text !== text) this.#log.warn({ servers }, 'no server of the database URL is a primary');
    this.#problem = { text, since: this.#problem?.since ?? performance.now() };
    const each = Object.entries(servers).map(([name, state]) => `${name}: ${state}`);
    return new Error(`no server is a primary (${each.join('; ')})`);
  }
}

/** The primaries. A server that does not report its timeline comes last. */
function newestFirst(findings: readonly Finding[]): Primary[] {
  const primaries = findings.filter((finding): finding is Primary => 'primary' in finding);
  const timelineOf = ({ primary }: Primary) => primary?.timeline ?? 0;
  return primaries.sort((a, b) => timelineOf(b) - timelineOf(a));
}

function secondsSince(moment: number): number {
  return Math.round((performance.now() - moment) / 1000);
}

function nameOf({ host, port }: DatabaseHost): string {
  return `${host}:${port}`;
}

function stateOf(finding: Finding): string {
  return 'error' in finding ? finding.error.message : 'standby';
}

/** Asks one server what it is. Never rejects. */
async function look(server: Server): Promise<Finding> {
  const client = new pg.Client({
    connectionString: server.url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: REPLY_MS,
    application_name: 'jobferry primary search',
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return { server, ...(await kindOf(client)) };
  } catch (error) {
    return { server, error: error instanceof Error ? error : new Error(String(error)) };
  } finally {
    // Not awaited: a server that hangs would not reply to this either.
    void client.end().catch(() => undefined);
  }
}

async function kindOf(client: pg.Client): Promise<{ primary: Origin | null } | { standby: true }> {
  const origin = await readOrigin(client);
  if (origin !== null) {
    const { system, timeline } = origin;
    return timeline === null ? { standby: true } : { primary: { system, timeline } };
  }
  // The server does not report its timeline to this user.
  const { rows } = await client.query<{ standby: boolean }>('select pg_is_in_recovery() as standby');
  return rows[0]?.standby === false ? { primary: null } : { standby: true };
}

type Connected = ((error: Error) => void) | ((error: null, client: pg.Client) => void);

/** A client of the driver that connects to the primary. The driver itself knows one host only. */
function clientOf(hosts: Hosts): typeof pg.Client {
  return class extends pg.Client {
    override connect(): Promise<pg.Client>;
    override connect(callback: Connected): void;
    override connect(callback?: Connected): Promise<pg.Client> | undefined {
      const connecting = this.#toPrimary();
      if (callback === undefined) return connecting;
      const done = callback as (error: Error | null, client?: pg.Client) => void;
      connecting.then((client) => done(null, client), done);
      return undefined;
    }

    async #toPrimary(): Promise<pg.Client> {
      const { host, port } = await hosts.primary().catch((error: Error) => {
        // Not the one that others get: the pool writes the stack of who asked into it.
        throw new Error(error.message);
      });
      // Its owner may have given up meanwhile.
      if (this.connection.stream.destroyed || (this as { _ending?: boolean })._ending === true) {
        throw new Error('the connection was given up before a primary was found');
      }
      Object.assign(this, { host, port });
      try {
        await super.connect();
        return this;
      } catch (error) {
        hosts.forget();
        throw error;
      }
    }
  };
}
