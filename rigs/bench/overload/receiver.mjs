// The webhook of the overload: answers at once, and counts.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { serve } from '../load/assistant.mjs';

let count = 0;
const server = createServer((req, res) => {
  req.resume();
  req.once('end', () => {
    count += 1;
    res.writeHead(200, { 'content-length': 0 }).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1');
const listening = once(server, 'listening');

serve({
  async open() {
    await listening;
    return `http://127.0.0.1:${server.address().port}/`;
  },
  count: () => count,
});
