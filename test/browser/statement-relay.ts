import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { afterAll } from 'vitest';
import { addressOf } from '../support/tcp-relay.ts';

/** Statements that a process runs by itself, whether or not there is a dashboard. */
const IN_THE_BACKGROUND =
  /^(report-instance|now|writable|notify$|note-key-use|note-session-use|claiming-workers|lease-locks|present-release|credentials-in-force|listen |select 1\b|select \(select system_identifier)/i;

export interface StatementRelay {
  url: string;
  /** Name, or text where it has none, of each statement since the last call. */
  taken(): string[];
}

/** Passes on what a process says to PostgreSQL, and notes each statement that it executes. */
export async function relayStatements(databaseUrl: string): Promise<StatementRelay> {
  let executed: string[] = [];
  const { host, port } = addressOf(databaseUrl);
  const server = createServer((client) => {
    const upstream = connect(port, host);
    const read = createReader((statement) => {
      if (!IN_THE_BACKGROUND.test(statement)) executed.push(statement);
    });
    client.on('data', read);
    client.pipe(upstream).pipe(client);
    for (const [from, to] of [[client, upstream] as const, [upstream, client] as const]) {
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterAll(() => {
    server.close();
  });
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    taken() {
      const all = executed;
      executed = [];
      return all;
    },
  };
}

/** Reads the messages of one client. The first has no type: it begins with its length. */
function createReader(onStatement: (statement: string) => void): (data: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isFirst = true;
  let bound = '';
  const texts = new Map<string, string>();
  const textAt = (message: Buffer, at: number) => message.toString('utf8', at, message.indexOf(0, at));
  return (data) => {
    rest = Buffer.concat([rest, data]);
    for (;;) {
      const head = isFirst ? 0 : 1;
      if (rest.length < head + 4) return;
      const size = head + rest.readInt32BE(head);
      if (rest.length < size) return;
      const message = rest.subarray(0, size);
      rest = rest.subarray(size);
      const type = isFirst ? '' : String.fromCharCode(message[0] ?? 0);
      isFirst = false;
      if (type === 'P') {
        const name = textAt(message, 5);
        texts.set(name, name === '' ? textAt(message, 6).trim() : name);
      } else if (type === 'B') {
        const name = textAt(message, message.indexOf(0, 5) + 1);
        bound = texts.get(name) ?? name;
      } else if (type === 'E') onStatement(bound);
      else if (type === 'Q') onStatement(textAt(message, 5).trim());
    }
  };
}
