/** A bug in a function of the schema, planted while the service runs. */
export interface Patch {
  /** The invariant that it breaks, and by whose name it has to be caught. */
  id: string;
  what: string;
  name: string;
  /** A part of the function's text, and that part with the bug. */
  from: string;
  to: string;
}

/** Bugs that do not get into each other's way share a run. */
export const PATCHES: Record<string, Patch[]> = {
  'limits that are not kept': [
    {
      id: 'I-12',
      what: 'a claim does not count what is in flight',
      name: 'jobferry_pick',
      from: 'q.concurrency - jobferry_in_flight(p_queue)',
      to: 'q.concurrency',
    },
    {
      id: 'I-14',
      what: 'a claim does not count what the window has given',
      name: 'jobferry_pick',
      from: 'least(v_room, q.rate_limit_max - v_used)',
      to: 'least(v_room, q.rate_limit_max)',
    },
    {
      id: 'I-29',
      what: 'a month has one claim',
      name: 'jobferry_count_attempt',
      from: 'attempts = attempts + p_count',
      to: 'attempts = attempts',
    },
  ],
  'settling that forgets': [
    {
      id: 'I-10',
      what: 'a retry does not wait',
      name: 'jobferry_settle_outcomes',
      from: `then p_now + d."waitMs" * interval '1 millisecond'`,
      to: 'then p_now',
    },
    {
      id: 'I-25',
      what: 'of 16 dead jobs one leaves a dead letter',
      name: 'jobferry_settle_outcomes',
      from: 's.keeps_dead_letters and',
      to: `s.keeps_dead_letters and s.id like '%0' and`,
    },
  ],
  'publishing that loses and changes': [
    {
      id: 'I-1',
      what: 'one job of 16 is deleted as soon as it is published',
      name: 'chaos_note',
      from: 'return null;',
      to: `if tg_op = 'INSERT' and new.id like '%7' then delete from job where id = new.id; end if; return null;`,
    },
    {
      id: 'I-4',
      what: 'a number is written another way',
      name: 'jobferry_claim',
      from: 'job.payload, job',
      to: `replace(job.payload, '1.0', '1'), job`,
    },
    {
      id: 'I-10',
      what: 'a job is claimed half a second before its time',
      name: 'jobferry_pick_due_since',
      from: 'job.scheduled_for <= p_at\n',
      to: `job.scheduled_for <= p_at + interval '500 ms'\n`,
    },
  ],
};
