import { createSocket } from 'node:dgram';

const A = 1;
const HEADER = 12;

/** A name server on loopback: `*.slow.test` is never answered, every other name is 127.0.0.1. */
export async function startNameServer() {
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, end, type } = questionOf(query);
    if (name.endsWith('.slow.test')) return;
    socket.send(answerTo(query, end, type), port, address);
  });
  await new Promise((resolve) => socket.bind(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${socket.address().port}`,
    close: () => new Promise((resolve) => socket.close(resolve)),
  };
}

function questionOf(query) {
  const labels = [];
  let at = HEADER;
  while (query[at] !== 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
    at += query[at] + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** RFC 1035, 4.1: the question again, and one record for an A query; no record, but no error, for others. */
function answerTo(query, end, type) {
  const head = Buffer.from(query.subarray(0, end));
  head.writeUInt16BE(0x8180, 2);
  const isA = type === A;
  head.writeUInt16BE(isA ? 1 : 0, 6);
  head.writeUInt32BE(0, 8);
  const record = Buffer.from([0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
  return isA ? Buffer.concat([head, record]) : head;
}
