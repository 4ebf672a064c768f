import { isIP } from 'node:net';
import { classifyError } from '../delivery/delivery-error.ts';
import type { AlertMail, MailServer } from '../domain/alert-mail.ts';

/** Mails that are sent at once: a server that does not answer leaves room for the webhooks of others. */
const AT_ONCE = 8;
/** Wait for the answer to QUIT; the mail is sent by then. */
const GOODBYE_MS = 1000;

interface MailResult {
  isSent: boolean;
  /** A word as for deliveries, or `SMTP 550`; null if all recipients were accepted. */
  error: string | null;
}

interface MailRequest {
  mail: AlertMail;
  to: readonly string[];
  /** Called before the mail is written. False abandons it. */
  stillMine: () => boolean;
}

/**
 * Sends mails through the server of SMTP_URL: one connection for each, and one deadline over name, connection,
 * TLS and mail.
 */
export class Mailer {
  readonly #server: MailServer;
  /** Deadline of a mail. */
  readonly timeoutMs: number;
  #sending = 0;

  constructor(server: MailServer, timeoutMs: number) {
    this.#server = server;
    this.timeoutMs = timeoutMs;
  }

  get isBusy(): boolean {
    return this.#sending >= AT_ONCE;
  }

  /** The domain of the sender, which ids of messages end with. */
  get domain(): string {
    return this.#server.from.address.split('@')[1] ?? 'localhost';
  }

  /** Never rejects. @returns null if the mail was abandoned */
  async send(request: MailRequest): Promise<MailResult | null> {
    this.#sending += 1;
    try {
      return await this.#exchange(request, await composed(request, this.#server));
    } catch (error) {
      return { isSent: false, error: errorOf(error) };
    } finally {
      this.#sending -= 1;
    }
  }

  async #exchange({ to, stillMine }: MailRequest, message: Buffer): Promise<MailResult | null> {
    const { default: Connection } = await import('nodemailer/lib/smtp-connection');
    const { host, port, isSecure, login, from } = this.#server;
    const timeouts = ['connectionTimeout', 'greetingTimeout', 'socketTimeout', 'dnsTimeout'] as const;
    const connection = new Connection({
      host,
      port,
      secure: isSecure,
      socketCloseTimeout: 0,
      // A password is never sent in the clear, but to this machine.
      requireTLS: !isSecure && login !== null && !isLoopback(host),
      ...Object.fromEntries(timeouts.map((name) => [name, this.timeoutMs])),
    });
    return new Promise((resolve) => {
      let isOver = false;
      const end = (result: MailResult | null) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(deadline);
        resolve(result);
        if (result?.isSent !== true) return connection.close();
        connection.quit();
        setTimeout(() => connection.close(), GOODBYE_MS).unref();
      };
      const deadline = setTimeout(() => end({ isSent: false, error: 'timeout' }), this.timeoutMs);
      // A closed connection can still report an error.
      connection.on('error', (error: unknown) => end({ isSent: false, error: errorOf(error) }));
      connection.on('end', () => end({ isSent: false, error: 'reset' }));
      const write = () => {
        if (!stillMine()) return end(null);
        connection.send({ from: from.address, to: [...to] }, message, (error, info) => {
          if (error) return end({ isSent: false, error: errorOf(error) });
          const refused = info.rejected.length;
          end({ isSent: true, error: refused === 0 ? null : `refused for ${refused} of ${to.length} recipients` });
        });
      };
      connection.connect(() => {
        if (isOver) return;
        if (login === null) return write();
        const credentials = { user: login.user, pass: login.password };
        connection.login(credentials, (error) => (error ? end({ isSent: false, error: errorOf(error) }) : write()));
      });
    });
  }
}

async function composed({ mail, to }: MailRequest, { from }: MailServer): Promise<Buffer> {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const { subject, text, messageId, references } = mail;
  const [first] = references;
  const message = new MailComposer({
    from,
    // As addresses, and not as a list that is parsed again.
    to: to.map((address) => ({ name: '', address })),
    subject,
    text,
    messageId,
    ...(first !== undefined && { inReplyTo: first, references: [...references] }),
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return message.compile().build();
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * The words of deliveries, and the status of an answer that refuses the mail. The text of the server is not repeated.
 */
function errorOf(error: unknown): string {
  const { code, originalCode, responseCode } = error as { code?: string; originalCode?: string; responseCode?: number };
  if (code === 'ETLS') return 'tls_error';
  if (responseCode) return `SMTP ${responseCode}`;
  if (originalCode !== undefined) return classifyError(Object.assign(new Error(), { code: originalCode }));
  return OWN_ERRORS[code ?? ''] ?? classifyError(error);
}

/** Codes of the library, which replace those of Node. */
const OWN_ERRORS: Readonly<Record<string, string>> = {
  EAUTH: 'login_refused',
  EDNS: 'dns_error',
  ECONNECTION: 'reset',
  EPROTOCOL: 'invalid_response',
};
