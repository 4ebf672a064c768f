/** The two text formats of Prometheus. */
export type Format = 'prometheus' | 'openmetrics';

/**
 * @param accept the header Accept
 * @returns the format that the client prefers; OpenMetrics only if it asks for it by name
 */
export function formatFor(accept: string | undefined): Format {
  let [open, text] = [0, 0];
  for (const range of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const q = qualityOf(parameters);
    if (type === 'application/openmetrics-text') open = Math.max(open, q);
    else if (['text/plain', 'text/*', '*/*'].includes(type)) text = Math.max(text, q);
  }
  return open > 0 && open >= text ? 'openmetrics' : 'prometheus';
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  const q = given === undefined ? 1 : Number(given.slice(2));
  return Number.isNaN(q) ? 0 : q;
}
