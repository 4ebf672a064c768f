import type { Rig } from '../chaos/rig.ts';
import type { Outage } from './faults.ts';

/** An outage as clients noticed it, in milliseconds. */
export interface Noticed {
  kind: Outage['kind'];
  /** From the fault until a server took writes again. */
  leaderless: number;
  /** Publishes that were refused or not answered. */
  refused: number;
  /** Those among them that got no answer at all. */
  unanswered: number;
  /** How long after the new leader the last of them was sent; 0 if none was. */
  refusedAfterLeader: number;
  /** The longest wait of a publish for its answer. */
  longestWait: number;
  /** From the new leader until a publish that was sent afterwards was accepted. */
  acceptedAfterLeader: number | null;
  /** From the new leader until the next delivery. */
  deliveredAfterLeader: number | null;
}

export function noticedOf({ load, receiver }: Rig, { kind, at, leaderAt, endedAt }: Outage): Noticed {
  const during = load.publishes.filter(
    (one) => one.invokedAt >= at - 10_000 && one.endedAt >= at && one.invokedAt <= endedAt,
  );
  const refused = during.filter(({ outcome }) => outcome !== 'ok');
  const last = Math.max(leaderAt, ...refused.map(({ invokedAt }) => invokedAt));
  const accepted = during.filter(({ outcome, invokedAt }) => outcome === 'ok' && invokedAt >= leaderAt);
  const delivered = receiver.deliveries.find((one) => one.at >= leaderAt);
  return {
    kind,
    leaderless: leaderAt - at,
    refused: refused.length,
    unanswered: refused.filter(({ status }) => status === null).length,
    refusedAfterLeader: last - leaderAt,
    longestWait: Math.max(0, ...during.map((one) => one.endedAt - one.invokedAt)),
    acceptedAfterLeader: accepted.length === 0 ? null : Math.min(...accepted.map((one) => one.endedAt)) - leaderAt,
    deliveredAfterLeader: delivered === undefined ? null : delivered.at - leaderAt,
  };
}
