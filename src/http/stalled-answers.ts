import type { Socket } from 'node:net';

/** Answers may take this long, and a second more for each so many bytes: who takes a byte now and then is no reader. */
export const SLOWEST = { startMs: 60_000, bytesPerSecond: 64 * 1024 };

interface Unread {
  /** What the connection has yet to take: of the process, and of that the part that is on its way. */
  waiting: number;
  onItsWay: number;
  /** When some of it was taken last. */
  movedAt: number;
  /** Since then there always was something to take at a look: of one answer, or of several. */
  since: number;
  /** What had been written to the connection before that. */
  writtenBefore: number;
}

/**
 * Cuts off clients that do not read their answers. Node's own time-outs are about requests, and an answer waits in
 * memory for as long as its client likes.
 * @param sockets those with an answer under way
 * @returns ends the looking
 */
export function cutStalledAnswers(
  sockets: () => Iterable<Socket>,
  { stalled, check }: { stalled: number; check: number },
  slowest = SLOWEST,
): () => void {
  let seen = new Map<Socket, Unread>();
  const look = () => {
    const now = performance.now();
    const present = new Map<Socket, Unread>();
    for (const socket of sockets()) {
      const waiting = socket.writableLength;
      if (waiting === 0) continue;
      const onItsWay = queuedBySystem(socket);
      const before = seen.get(socket);
      const hasMoved = before === undefined || before.waiting !== waiting || before.onItsWay !== onItsWay;
      const movedAt = hasMoved ? now : before.movedAt;
      const { since, writtenBefore } = before ?? { since: now, writtenBefore: socket.bytesWritten - waiting };
      // Also of what is written only now, because what came before it was taken.
      const bytes = socket.bytesWritten - writtenBefore;
      const endsAt = since + slowest.startMs + (bytes / slowest.bytesPerSecond) * 1000;
      if (now - movedAt >= stalled || now >= endsAt) socket.destroy();
      else present.set(socket, { waiting, onItsWay, movedAt, since, writtenBefore });
    }
    seen = present;
  };
  const timer = setInterval(look, check).unref();
  return () => clearInterval(timer);
}

/** A long answer is one write, which is counted as waiting until its last byte was taken; libuv knows how far it is. */
function queuedBySystem(socket: Socket): number {
  return (socket as { _handle?: { writeQueueSize?: number } | null })._handle?.writeQueueSize ?? 0;
}
