// @ts-check
/** Stands for the LLM: answers each third call with 429, and refuses all calls for one second after it. */
import { createServer } from 'node:http';

const { LLM_PORT = '9100' } = process.env;
const PAUSE_S = 1;

let calls = 0;
let busyUntil = 0;

const server = createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  const now = performance.now();
  const isEarly = now < busyUntil;
  if (!isEarly) calls += 1;
  if (isEarly || calls % 3 === 0) {
    if (!isEarly) busyUntil = now + PAUSE_S * 1000;
    console.log(isEarly ? '429 too early' : '429');
    response.writeHead(429, { 'retry-after': String(PAUSE_S) }).end();
    return;
  }
  const { messages } = JSON.parse(body);
  console.log('200');
  const answer = { content: [{ type: 'text', text: `The answer to: ${messages[0].content}` }] };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
});
server.listen(Number(LLM_PORT), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${LLM_PORT}/`));
