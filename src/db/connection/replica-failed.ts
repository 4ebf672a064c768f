/** A statement has failed on a replica in a way in which it would not fail on the primary. */
export class ReplicaFailed extends Error {
  override readonly name = 'ReplicaFailed';
}
