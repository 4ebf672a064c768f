import { createServer, type Socket } from 'node:net';
import { afterAll } from 'vitest';

/** A mail as the server got it. */
export interface ReceivedMail {
  from: string;
  to: string[];
  /** `PLAIN …` with the credentials; null without a login. */
  auth: string | null;
  /** Header fields in lower case, unfolded. A field that occurs twice has both values. */
  headers: Record<string, string>;
  text: string;
}

export interface SmtpBehaviour {
  /** Lines of the answer to EHLO. */
  extensions?: string[];
  /** Answers in place of the usual ones, by command; null for none at all, for ever. */
  answers?: (command: string) => string | null | undefined;
}

/** A small SMTP server on this machine. */
export async function openSmtpServer({ extensions = [], answers = () => undefined }: SmtpBehaviour = {}) {
  const mails: ReceivedMail[] = [];
  const sockets = new Set<Socket>();
  const state = { answers, connections: 0 };
  const server = createServer((socket) => {
    sockets.add(socket);
    state.connections += 1;
    socket.on('error', () => undefined);
    socket.on('close', () => sockets.delete(socket));
    converse(socket, extensions, state, mails);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  afterAll(close);
  const { port } = server.address() as { port: number };
  return { port, mails, close, state };
}

function converse(
  socket: Socket,
  extensions: string[],
  state: { answers: NonNullable<SmtpBehaviour['answers']> },
  mails: ReceivedMail[],
): void {
  let [buffer, isData] = ['', false];
  let mail = { from: '', to: [] as string[], auth: null as string | null };
  const say = (command: string, usual: string) => {
    const answer = state.answers(command);
    if (answer !== null) socket.write(`${answer ?? usual}\r\n`);
  };
  const onLine = (line: string) => {
    const [verb = ''] = line.toUpperCase().split(' ');
    if (verb === 'EHLO')
      return say(line, [...['smtp.test', ...extensions].map((one) => `250-${one}`), '250 HELP'].join('\r\n'));
    if (verb === 'AUTH') {
      mail.auth = line.slice('AUTH '.length);
      return say(line, '235 welcome');
    }
    if (verb === 'STARTTLS') return say(line, '502 no');
    if (verb === 'MAIL') mail = { ...mail, from: line, to: [] };
    if (verb === 'RCPT') mail.to.push(/<(.*)>/.exec(line)?.[1] ?? '');
    if (verb === 'DATA') {
      const answer = state.answers(line);
      isData = answer === undefined;
      return say(line, '354 go on');
    }
    if (verb === 'QUIT') return socket.end('221 bye\r\n');
    say(line, '250 ok');
  };
  say('(greeting)', '220 smtp.test');
  socket.on('data', (chunk) => {
    buffer += chunk.toString('latin1');
    for (;;) {
      const mark = isData ? '\r\n.\r\n' : '\r\n';
      const end = buffer.indexOf(mark);
      if (end === -1) return;
      const part = buffer.slice(0, end);
      buffer = buffer.slice(end + mark.length);
      if (isData) {
        isData = false;
        mails.push({ ...mail, ...parsed(part) });
        say('(end of data)', '250 queued');
      } else onLine(part);
    }
  });
}

function parsed(message: string): Pick<ReceivedMail, 'headers' | 'text'> {
  const [head = '', ...body] = message.split('\r\n\r\n');
  const headers: Record<string, string> = {};
  for (const line of head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    const [, name = '?', value = line] = /^([!-9;-~]+): ?(.*)$/.exec(line) ?? [];
    const key = name.toLowerCase();
    headers[key] = key in headers ? `${headers[key]} | ${value}` : value;
  }
  return { headers, text: decoded(body.join('\r\n\r\n'), headers['content-transfer-encoding'] ?? '7bit') };
}

function decoded(text: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(text, 'base64').toString();
  if (encoding !== 'quoted-printable') return text.replaceAll('\r\n', '\n');
  const bytes = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_whole, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString().replaceAll('\r\n', '\n');
}
