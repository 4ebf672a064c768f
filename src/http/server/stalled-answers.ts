import type { Socket } from 'node:net';

/**
 * An answer may take this long, and a second more for each `bytesPerSecond`:
 * a client that reads a few bytes now and then is cut off too.
 */
export const SLOWEST = { startMs: 60_000, bytesPerSecond: 64 * 1024 };

interface Unread {
  /** Bytes that the process has not sent yet, and the part of them that libuv is sending. */
  waiting: number;
  onItsWay: number;
  /** When the connection last took some of them. */
  movedAt: number;
  /** Since when every check has found unsent bytes, of one answer or of several. */
  since: number;
  /** Bytes that were written to the connection before `since`. */
  writtenBefore: number;
}

/**
 * Cuts off clients that do not read their answers. Node's own time-outs cover requests only, and an unread answer stays
 * in memory.
 * @param sockets returns the connections with a running answer
 * @returns a function that ends the checks
 */
export function cutStalledAnswers(
  sockets: () => Iterable<Socket>,
  { stalled, check }: { stalled: number; check: number },
  slowest = SLOWEST,
): () => void {
  let seen = new Map<Socket, Unread>();
  let checkedAt = performance.now();
  /** Time without stalls of the process: in those it sent nothing, whatever its clients read. */
  let now = 0;
  const checkAll = () => {
    const earlier = checkedAt;
    checkedAt = performance.now();
    now += Math.min(checkedAt - earlier, 2 * check);
    const present = new Map<Socket, Unread>();
    for (const socket of sockets()) {
      const waiting = socket.writableLength;
      if (waiting === 0) continue;
      const onItsWay = queuedBySystem(socket);
      const before = seen.get(socket);
      const hasMoved = before === undefined || before.waiting !== waiting || before.onItsWay !== onItsWay;
      const movedAt = hasMoved ? now : before.movedAt;
      const { since, writtenBefore } = before ?? { since: now, writtenBefore: socket.bytesWritten - waiting };
      // Includes bytes that were written only now, because the earlier ones were read.
      const bytes = socket.bytesWritten - writtenBefore;
      const endsAt = since + slowest.startMs + (bytes / slowest.bytesPerSecond) * 1000;
      if (now - movedAt >= stalled || now >= endsAt) socket.destroy();
      else present.set(socket, { waiting, onItsWay, movedAt, since, writtenBefore });
    }
    seen = present;
  };
  const timer = setInterval(checkAll, check).unref();
  return () => clearInterval(timer);
}

/**
 * A long answer is one write, which Node counts as waiting until its last byte was sent; libuv has the exact number.
 */
function queuedBySystem(socket: Socket): number {
  return (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;
}
