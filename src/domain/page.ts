/** A position in an ordered list: the value that it is ordered by, and the id that breaks ties. */
export interface Position {
  /**
   * Value that the list is ordered by: a number, milliseconds for a time, or null if the column is null. Lists by id
   * leave it out.
   */
  at?: number | null | undefined;
  id: string;
  /** Ordinal of the attempt of the job, in lists of attempts. */
  n?: number | undefined;
}

/** A slice of an ordered list, in the order of the list or (`inverted`) from its end. */
export interface Slice {
  limit: number;
  after?: Position | undefined;
  before?: Position | undefined;
  inverted: boolean;
}

/** A count that stops at a maximum. */
export interface BoundedCount {
  count: number;
  /** False: there are more than `count`. */
  exact: boolean;
}

/** The highest maximum of a count of jobs or dead letters. */
export const MAX_COUNT = 10_000;
