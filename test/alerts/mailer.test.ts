import { describe, expect, it } from 'vitest';
import { MailPace } from '../../src/alerts/channels.ts';
import { Mailer } from '../../src/alerts/mailer.ts';
import type { MailServer } from '../../src/domain/alert-mail.ts';
import { openSmtpServer } from '../support/smtp-server.ts';

/** Mails to real SMTP servers on this machine. */

const mail = {
  subject: 'Jobs die in orders',
  text: 'Gruß\n',
  messageId: '<1@example.com>',
  references: ['<a@example.com>'],
};
const request = { mail, to: ['ops@example.org', 'dev@example.org'], stillMine: () => true };
const mailerOf = (port: number, more: Partial<MailServer> = {}, timeoutMs = 5000) =>
  new Mailer(
    {
      host: '127.0.0.1',
      port,
      isSecure: false,
      login: null,
      from: { name: 'Jobferry', address: 'alerts@example.com' },
      ...more,
    },
    timeoutMs,
  );

describe('the mailer', () => {
  it('sends one plain text with the headers by which readers group mails', async () => {
    const server = await openSmtpServer();
    expect(await mailerOf(server.port).send(request)).toEqual({ isSent: true, error: null });
    expect(server.mails).toMatchObject([
      {
        from: expect.stringContaining('<alerts@example.com>'),
        to: ['ops@example.org', 'dev@example.org'],
        auth: null,
        headers: {
          from: 'Jobferry <alerts@example.com>',
          to: 'ops@example.org, dev@example.org',
          subject: 'Jobs die in orders',
          'message-id': '<1@example.com>',
          references: '<a@example.com>',
          'in-reply-to': '<a@example.com>',
          'auto-submitted': 'auto-generated',
          'content-type': 'text/plain; charset=utf-8',
        },
        text: expect.stringMatching(/^Gruß\n*$/),
      },
    ]);
  });

  it('cannot be made to write another header or command by a subject or a name', async () => {
    const server = await openSmtpServer();
    const hostile = { ...mail, subject: 'x\r\nBcc: victim@example.net\r\n\r\nbody', text: 'a\r\n.\r\nQUIT\r\n' };
    expect(await mailerOf(server.port).send({ ...request, mail: hostile })).toEqual({ isSent: true, error: null });
    expect(server.mails).toHaveLength(1);
    expect(server.mails[0]?.to).toEqual(request.to);
    expect(server.mails[0]?.headers).not.toHaveProperty('bcc');
    expect(server.mails[0]?.text).toContain('QUIT');
  });

  it('logs in, and sends a password to another machine only with TLS', async () => {
    const login = { user: 'jobferry', password: 'pässword' };
    const server = await openSmtpServer({ extensions: ['AUTH PLAIN'] });
    expect(await mailerOf(server.port, { login }).send(request)).toEqual({ isSent: true, error: null });
    const [, credentials = ''] = server.mails[0]?.auth?.split(' ') ?? [];
    expect(Buffer.from(credentials, 'base64').toString()).toBe('\0jobferry\0pässword');
    // An address of this machine that is not one of loopback by its spelling.
    const elsewhere = mailerOf(server.port, { login, host: '::ffff:127.0.0.1' });
    expect(await elsewhere.send(request)).toEqual({ isSent: false, error: 'tls_error' });
    expect(server.mails).toHaveLength(1);
  });

  it.each<[string, (command: string) => string | null | undefined, string]>([
    ['accepts the connection and never answers', () => null, 'timeout'],
    ['never answers the mail', (command) => (command === '(end of data)' ? null : undefined), 'timeout'],
    ['greets with a refusal', (command) => (command === '(greeting)' ? '554 no' : undefined), 'SMTP 554'],
    [
      'talks something else',
      (command) => (command === '(greeting)' ? 'HTTP/1.1 400 Bad Request' : undefined),
      'invalid_response',
    ],
    ['refuses the sender', (command) => (command.startsWith('MAIL') ? '550 no' : undefined), 'SMTP 550'],
    ['refuses all recipients', (command) => (command.startsWith('RCPT') ? '550 no' : undefined), 'SMTP 550'],
    ['refuses the mail', (command) => (command === '(end of data)' ? '552 too big' : undefined), 'SMTP 552'],
  ])('has an error for a server that %s', async (_name, answers, error) => {
    const server = await openSmtpServer({ answers });
    expect(await mailerOf(server.port, {}, error === 'timeout' ? 200 : 5000).send(request)).toEqual({
      isSent: false,
      error,
    });
  });

  it('has the words of deliveries for what happens before a server answers', async () => {
    const server = await openSmtpServer();
    server.close();
    expect(await mailerOf(server.port).send(request)).toEqual({ isSent: false, error: 'connection_refused' });
    const silent = await openSmtpServer({ answers: () => null });
    const tls = mailerOf(silent.port, { isSecure: true }, 200);
    expect(await tls.send(request)).toEqual({ isSent: false, error: 'timeout' });
    const plain = await openSmtpServer();
    const wrong = await mailerOf(plain.port, { isSecure: true }).send(request);
    expect(wrong).toEqual({ isSent: false, error: 'tls_error' });
  });

  it('does not send again what some recipients have got', async () => {
    const answers = (command: string) => (command.includes('<dev@') ? '550 no' : undefined);
    const server = await openSmtpServer({ answers });
    expect(await mailerOf(server.port).send(request)).toEqual({ isSent: true, error: 'refused for 1 of 2 recipients' });
  });

  it('writes no mail after its claim has ended', async () => {
    const server = await openSmtpServer();
    expect(await mailerOf(server.port).send({ ...request, stillMine: () => false })).toBeNull();
    expect(server.mails).toEqual([]);
  });

  it('is busy with eight mails', async () => {
    const server = await openSmtpServer({ answers: () => null });
    const mailer = mailerOf(server.port, {}, 300);
    const sent = Array.from({ length: 8 }, () => mailer.send(request));
    expect(mailer.isBusy).toBe(true);
    expect(await Promise.all(sent)).toEqual(sent.map(() => ({ isSent: false, error: 'timeout' })));
    expect(mailer.isBusy).toBe(false);
  });
});

describe('the pace of mails', () => {
  it('lets an account reach sixty recipients at once, and three a minute then', () => {
    let now = 1000;
    const pace = new MailPace(() => now);
    expect(Array.from({ length: 12 }, () => pace.take('a', 5))).toEqual(Array(12).fill(0));
    expect(pace.take('a', 5)).toBe(100_000);
    expect(pace.take('a', 1), 'nothing is counted of what was put off').toBe(20_000);
    expect(pace.take('b', 5), 'another account').toBe(0);
    now += 20_000;
    expect(pace.take('a', 1)).toBe(0);
    expect(pace.take('a', 1)).toBe(20_000);
  });
});
