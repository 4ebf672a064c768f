/** The commands of the first steps: what one types to see a job arrive. */

/** Port of a receiver on this computer; null if the address is one of another computer. */
export function localPort(webhookUrl: string): number | null {
  const url = URL.parse(webhookUrl);
  if (url === null || !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(url.hostname)) return null;
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

/** For a shell: within single quotes only the quote itself has a meaning. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

export function secretCommand(secret: string): string {
  return `export SIGNING_SECRET=${quoted(secret)}`;
}

/** A receiver without packages, for Node.js. It compares the signature over the bytes as they came. */
export function receiverCommand(port: number): string {
  return `node --input-type=module <<'EOF'
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
createServer(async (req, res) => {
  const body = Buffer.concat(await req.toArray());
  const digest = createHmac('sha256', process.env.SIGNING_SECRET).update(body).digest('hex');
  const expected = Buffer.from(\`sha256=\${digest}\`);
  const given = Buffer.from(req.headers['x-service-signature'] ?? '');
  const genuine = given.length === expected.length && timingSafeEqual(given, expected);
  console.log(genuine ? \`received \${body}\` : 'wrong signature');
  res.writeHead(genuine ? 200 : 401).end();
}).listen(${port}, () => console.log('waiting for jobs on port ${port}'));
EOF`;
}

/** The payload and the key of the first job. If it is sent twice, it is still one job. */
export const FIRST_PAYLOAD = '{"hello":"world"}';
export const FIRST_KEY = 'greeting-1';

/** `api` is the address of the server, such as `https://jobs.example.com/v1/`. */
export function publishCommand(api: string, queue: string): string {
  return [
    `curl ${quoted(new URL(`queues/${encodeURIComponent(queue)}/jobs`, api).href)} \\`,
    `  -H "authorization: Bearer $JOBFERRY_API_KEY" -H 'content-type: application/json' \\`,
    `  -d '{"payload":${FIRST_PAYLOAD},"idempotencyKey":"${FIRST_KEY}"}'`,
  ].join('\n');
}
