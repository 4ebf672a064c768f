import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

/**
 * Addresses of either family; none means that there is no such name. `drop` lets the query get lost. More than a
 * datagram holds are sent over TCP alone.
 */
export type DnsAnswer = readonly string[] | 'drop' | 'broken';

export interface DnsQuery {
  /** Without a dot at the end. */
  name: string;
  family: 4 | 6;
  /** Queries for this name and family so far, this one included. */
  count: number;
}

export interface DnsServer {
  /** As `WEBHOOK_DNS_SERVERS` takes it. */
  address: string;
  queries: DnsQuery[];
  close(): Promise<void>;
}

const TYPES = new Map([
  [1, 4],
  [28, 6],
] as const);
const [NO_ERROR, SERVER_FAILURE, NO_SUCH_NAME] = [0, 2, 3];
const DATAGRAM_BYTES = 512;
const TRUNCATED = 0x0200;

/** A name server on loopback that answers A and AAAA as the test sets it. */
export async function startDnsServer(answer: (query: DnsQuery) => DnsAnswer): Promise<DnsServer> {
  const queries: DnsQuery[] = [];
  /** Null for a query that gets lost. */
  const answerTo = (message: Buffer): Buffer | null => {
    const question = readQuestion(message);
    const family = TYPES.get(question.type as 1 | 28) ?? 4;
    const count = queries.filter(({ name, family: of }) => name === question.name && of === family).length + 1;
    const query = { name: question.name, family, count };
    queries.push(query);
    const answered = answer(query);
    return answered === 'drop' ? null : writeAnswer(message, question.end, family, answered);
  };
  // A message has its length before it. The queries of these tests come in one piece.
  const overTcp = createServer((connection) => {
    connection.on('error', () => undefined);
    connection.on('data', (data) => {
      const answered = answerTo(data.subarray(2));
      const length = Buffer.alloc(2);
      length.writeUInt16BE(answered?.length ?? 0, 0);
      if (answered !== null) connection.write(Buffer.concat([length, answered]));
    });
  });
  const socket = await onSamePort(overTcp);
  socket.on('message', (message, { port, address }) => {
    const answered = answerTo(message);
    if (answered !== null) socket.send(shortened(answered, readQuestion(message).end), port, address);
  });
  return {
    address: `127.0.0.1:${socket.address().port}`,
    queries,
    close: async () => {
      overTcp.close();
      await new Promise<void>((resolve) => socket.close(() => resolve()));
    },
  };
}

/**
 * Listens on a free port of TCP, and returns a socket on the same port of UDP, which another program may have:
 * then on another one.
 */
async function onSamePort(server: Server): Promise<Socket> {
  for (;;) {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const socket = createSocket('udp4').bind((server.address() as AddressInfo).port, '127.0.0.1');
    try {
      await once(socket, 'listening');
      return socket;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      server.close();
      await once(server, 'close');
    }
  }
}

/** Returns the answer, or its head alone with the flag that asks for TCP. */
function shortened(answer: Buffer, questionEnd: number): Buffer {
  if (answer.length <= DATAGRAM_BYTES) return answer;
  const head = Buffer.from(answer.subarray(0, questionEnd));
  head.writeUInt16BE(head.readUInt16BE(2) | TRUNCATED, 2);
  head.writeUInt16BE(0, 6);
  return head;
}

function readQuestion(message: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = message[at] ?? 0; length > 0; length = message[at] ?? 0) {
    labels.push(message.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: message.readUInt16BE(at + 1), end: at + 5 };
}

function writeAnswer(
  message: Buffer,
  questionEnd: number,
  family: 4 | 6,
  answer: readonly string[] | 'broken',
): Buffer {
  const head = Buffer.from(message.subarray(0, questionEnd));
  const all = answer === 'broken' ? [] : answer;
  const records = all.filter((ip) => ip.includes(':') === (family === 6)).map((ip) => recordOf(ip, family));
  const code = answer === 'broken' ? SERVER_FAILURE : all.length === 0 ? NO_SUCH_NAME : NO_ERROR;
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, ...records]);
}

function recordOf(ip: string, family: 4 | 6): Buffer {
  const data = family === 4 ? Buffer.from(ip.split('.').map(Number)) : ipv6Bytes(ip);
  const record = Buffer.alloc(12);
  // The name of the question; a record of IN that may be kept for a minute.
  record.writeUInt16BE(0xc00c, 0);
  record.writeUInt16BE(family === 4 ? 1 : 28, 2);
  record.writeUInt16BE(1, 4);
  record.writeUInt32BE(60, 6);
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}

function ipv6Bytes(ip: string): Buffer {
  const [head = '', tail = ''] = ip.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':'));
  const [first, last] = [groups(head), groups(tail)];
  const all = [...first, ...Array(8 - first.length - last.length).fill('0'), ...last];
  const bytes = Buffer.alloc(16);
  for (const [n, group] of all.entries()) bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * n);
  return bytes;
}
