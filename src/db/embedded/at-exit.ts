/**
 * Work for the case that the process ends at once: because its start takes too long after a signal, by an error,
 * or by SIGQUIT.
 */
const works = new Set<() => void>();

/** @param work may not wait for anything @returns a function that forgets it */
export function atExit(work: () => void): () => void {
  if (works.size === 0) {
    process.on('exit', run);
    process.on('SIGQUIT', quit);
  }
  works.add(work);
  return () => {
    works.delete(work);
    if (works.size > 0) return;
    process.off('exit', run);
    process.off('SIGQUIT', quit);
  };
}

function run(): void {
  for (const work of works) work();
}

/** Node ends by this signal without the event `exit`. */
function quit(): void {
  run();
  process.off('SIGQUIT', quit);
  process.kill(process.pid, 'SIGQUIT');
}
