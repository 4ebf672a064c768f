import { connect } from 'node:net';
import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { bind } from '../../src/http/index.ts';
import { waitFor } from '../support/wait-for.ts';

/** Counts what a process does before it accepts a connection: how long that takes depends on the machine. */

const CLIENTS = 100;
/** Milliseconds of the event loop that each request takes, as a publish does under load. */
const WORK_MS = 0.5;
const REQUEST = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n';

/** A process that is busy with each request for a while. */
async function startBusy() {
  let answered = 0;
  const app = express();
  app.use((_req, res) => {
    const until = performance.now() + WORK_MS;
    while (performance.now() < until);
    answered += 1;
    res.end('x');
  });
  const front = await bind({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => front.close());
  front.serve(app);
  return { port: Number(new URL(front.url).port), answered: () => answered };
}

it('I-51 accepts new connections before the work of those before them, again and again', async () => {
  const { port, answered } = await startBusy();
  const open = (request: string) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  for (let n = 0; n < CLIENTS; n += 1) {
    // Each client sends its next request as soon as it has an answer.
    const socket = open(REQUEST);
    socket.on('data', () => socket.write(REQUEST));
  }
  // Connections are accepted in order, so that of this health check comes last.
  let answeredBefore: number | null = null;
  open('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n').once('data', () => {
    answeredBefore = answered();
  });
  await waitFor(() => answeredBefore !== null, { message: 'the answer to the health check' });
  // After each 32 connections there is one turn of work, which answers at most one request of each. If there were one
  // after each connection, thousands of requests would be answered first.
  expect(answeredBefore).toBeLessThan(CLIENTS * 10);
});
