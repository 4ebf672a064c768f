'use server';

import { unwrap } from '@jobferry/client';
import { jobferry } from '../lib/jobferry';

/** Publishes a job for the address of the form. */
export async function welcome(form: FormData): Promise<void> {
  const to = String(form.get('to') ?? '');
  // A second click publishes nothing.
  const body = { payload: { to }, idempotencyKey: `welcome-${to}` };
  const { id } = await unwrap(jobferry().jobs.publish({ params: { queueName: 'jobs' }, body }));
  console.log(`published ${id}`);
}
