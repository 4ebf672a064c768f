import { createSocket } from 'node:dgram';

/** A name server on loopback that answers every query for an address with `127.0.0.1`, or does not answer. */
export interface NameServer {
  /** The value of `WEBHOOK_DNS_SERVERS`: `127.0.0.1:port`. */
  address: string;
  /** Which questions about a name stay without an answer. Nothing is named: all are answered. */
  drop(host: string, which: 'all' | 'every second' | 'none'): void;
  /** Whether any question is answered. */
  silent: boolean;
  /** Questions so far, by name. */
  asked: Map<string, number>;
  close(): Promise<void>;
}

const A = 1;
const HEADER_BYTES = 12;

export async function startNameServer(): Promise<NameServer> {
  const dropped = new Map<string, 'all' | 'every second' | 'none'>();
  const asked = new Map<string, number>();
  const socket = createSocket('udp4');
  socket.on('message', (question, { port, address }) => {
    const { host, type, end } = readQuestion(question);
    const count = (asked.get(host) ?? 0) + 1;
    asked.set(host, count);
    const which = dropped.get(host) ?? 'none';
    if (server.silent || which === 'all' || (which === 'every second' && count % 2 === 1)) return;
    socket.send(answerTo(question.subarray(0, end), type === A), port, address);
  });
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const server: NameServer = {
    silent: false,
    address: `127.0.0.1:${socket.address().port}`,
    drop: (host, which) => dropped.set(host, which),
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
  return server;
}

/** The first question of a DNS message: its name, its type, and where it ends. */
function readQuestion(message: Buffer): { host: string; type: number; end: number } {
  const labels: string[] = [];
  let at = HEADER_BYTES;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { host: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

/** One address for IPv4 queries, none for the others: the name exists all the same. */
function answerTo(question: Buffer, hasAddress: boolean): Buffer {
  const head = Buffer.from(question.subarray(0, HEADER_BYTES));
  // An answer, with recursion available, without an error.
  head.writeUInt16BE(0x8180, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(hasAddress ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  // The name is that of the question; an address of the internet, for no time at all, in four bytes.
  const record = Buffer.from([0xc0, 0x0c, 0, A, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
  return Buffer.concat([head, question.subarray(HEADER_BYTES), ...(hasAddress ? [record] : [])]);
}
