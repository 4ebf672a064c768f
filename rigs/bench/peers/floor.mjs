/** No queue at all: the API delivers before it answers, and nothing is stored. */
export async function openQueue({ deliver }) {
  return (job) => deliver(job, 1);
}
