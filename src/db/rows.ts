import { type Attempt, type DeadLetter, type Job, Prisma, type Queue } from './generated/client.ts';

/**
 * Rows that a statement returns as JSON, so that it can return rows of several tables at once. They are the same as
 * Prisma's, without what is secret or large.
 */

/** A job without its payload and its webhook answer, which can be large and are read only if selected. */
export type JobRow = Omit<Job, 'payload' | 'answerBody' | 'claimToken'>;
/** A queue without its secrets, which no list of rows has. */
export type QueueRow = Omit<Queue, 'signingSecret' | 'nextSigningSecret'>;
export type DeadLetterRow = DeadLetter;

type DateField<Row> = { [Name in keyof Row]-?: Date extends Row[Name] ? Name : never }[keyof Row];

interface RowShape<Row> {
  fields: readonly (keyof Row & string)[];
  /** JSON has times as texts. */
  dates: Readonly<Record<DateField<Row>, true>>;
}

function shapeOf<Row>(all: object, hidden: readonly string[], dates: RowShape<Row>['dates']): RowShape<Row> {
  const fields = Object.keys(all).filter((name) => !hidden.includes(name));
  return { fields: fields as (keyof Row & string)[], dates };
}

export const JOB_ROW: RowShape<JobRow> = shapeOf(Prisma.JobScalarFieldEnum, ['payload', 'answerBody', 'claimToken'], {
  createdAt: true,
  scheduledFor: true,
  deliverBy: true,
  completedAt: true,
  deadAt: true,
  claimedAt: true,
  deadline: true,
  progressAt: true,
});

export const QUEUE_ROW: RowShape<QueueRow> = shapeOf(
  Prisma.QueueScalarFieldEnum,
  ['signingSecret', 'nextSigningSecret'],
  {
    createdAt: true,
    deletedAt: true,
    holdUntil: true,
    holdSince: true,
    pausedAt: true,
    lifetimeFloor: true,
    nextSigningSecretAt: true,
    signingSecretSince: true,
    formerSecretSince: true,
    breakerFailedSince: true,
    breakerOpenedAt: true,
    breakerUntil: true,
    breakerClosedAt: true,
  },
);

export const DEAD_LETTER_ROW: RowShape<DeadLetterRow> = shapeOf(Prisma.DeadLetterScalarFieldEnum, [], {
  deadAt: true,
  replayedAt: true,
});

export const ATTEMPT_ROW: RowShape<Attempt> = shapeOf(Prisma.AttemptScalarFieldEnum, [], {
  timestamp: true,
  startedAt: true,
  nextAt: true,
});

/** @returns the column of a field, which Prisma names as the contract does */
export function columnOf(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** @returns SQL: the columns of the table `alias`, each with the name of its field */
export function columnsOf<Row>({ fields }: RowShape<Row>, alias: string): string {
  return fields.map((name) => `${alias}.${columnOf(name)} as "${name}"`).join(', ');
}

/** @param stored rows as JSON; null for none */
export function rowsOf<Row extends object>(shape: RowShape<Row>, stored: readonly object[] | null): Row[] {
  return (stored ?? []).map((row) => toRow(shape, row));
}

export function toRow<Row extends object>({ dates }: RowShape<Row>, stored: object): Row {
  return withDates(stored, Object.keys(dates));
}

/** Returns an object from JSON with its times as dates. */
export function withDates<Row extends object>(stored: object, names: readonly string[]): Row {
  const row = { ...stored } as Record<string, unknown>;
  for (const name of names) if (typeof row[name] === 'string') row[name] = new Date(row[name]);
  return row as Row;
}
