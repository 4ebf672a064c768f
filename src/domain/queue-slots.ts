/**
 * The jobs that use the slots of a queue, in words that the dashboard, the command line, the reason why a job waits,
 * and alerts share, so that they never tell different stories.
 */

interface SlotsInUse {
  /** Jobs that are processing or awaiting_ack. */
  inFlight: number;
  /** Those of them whose report is awaited. */
  awaitingAck: number;
  concurrency: number;
}

/** Whether every slot has a job whose report is awaited: neither a faster receiver nor a higher limit would help. */
export function allAwaitReports({ awaitingAck, concurrency }: Omit<SlotsInUse, 'inFlight'>): boolean {
  return awaitingAck >= concurrency;
}

/** A clause without its full stop: "5 of 5 slots wait for a report". */
export function slotsInUse(slots: SlotsInUse): string {
  const { inFlight, awaitingAck, concurrency } = slots;
  if (allAwaitReports(slots)) return `${awaitingAck} of ${concurrency} slots wait for a report`;
  const some = awaitingAck === 0 ? '' : `, ${awaitingAck} of them for a report`;
  return `${inFlight} of ${concurrency} slots are in use${some}`;
}

/** The way out when all slots wait for reports. */
export const REPORTS_ADVICE =
  'Check that the worker behind the receiver runs and reports: until it does, or an ack deadline passes, nothing else is delivered.';
