// @ts-check

/** @typedef {{ from: string, to: string, subject: string, text: string, messageId: string }} Mail */
/** @typedef {(mail: Mail) => Promise<void>} Send rejects as Nodemailer does: with `command` and `responseCode` */

/** Milliseconds. The webhook has 15 s to answer, and Nodemailer would wait for minutes. */
const TIME_LIMITS = { connectionTimeout: '4000', greetingTimeout: '4000', socketTimeout: '6000' };

/**
 * Creates a function that sends mail, or prints it if there is no URL.
 *
 * @param {string | undefined} smtpUrl such as `smtps://user:password@smtp.example.org:465`
 * @returns {Promise<Send>}
 */
export async function createSend(smtpUrl) {
  if (smtpUrl === undefined) return print;
  // Only here, so that the example also runs without the package.
  const { createTransport } = await import('nodemailer');
  const url = new URL(smtpUrl);
  for (const [name, value] of Object.entries(TIME_LIMITS)) url.searchParams.set(name, value);
  const transport = createTransport(url.href);
  return (mail) => transport.sendMail(mail);
}

/** @type {Send} */
async function print({ to, subject }) {
  if (to.endsWith('.invalid')) {
    const refusal = { command: 'RCPT TO', responseCode: 550 };
    throw Object.assign(new Error(`550 there is no mailbox ${to}`), refusal);
  }
  console.log(`mail to ${to}: ${subject}`);
}
