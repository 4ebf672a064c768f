/** A shell command that publishes a job. The here-document passes every byte of the payload on as it is. */
export function curlOf(
  url: string,
  { payloadText, idempotencyKey, delay }: { payloadText: string; idempotencyKey: string | null; delay: number },
): string {
  const more = [
    ...(idempotencyKey === null ? [] : [`"idempotencyKey":${JSON.stringify(idempotencyKey)}`]),
    ...(delay === 0 ? [] : [`"delay":${delay}`]),
  ];
  const command = [
    `curl -X POST '${url}'`,
    `  -H "authorization: Bearer $JOBFERRY_API_KEY"`,
    `  -H 'content-type: application/json'`,
    `  --data-binary @- <<'JOBFERRY'`,
  ].join(' \\\n');
  return `${command}\n{${[...more, `"payload":${payloadText}`].join(',')}}\nJOBFERRY`;
}

/** Publishes a job once more, with a key of its own: the same key would return the job instead of a new one. */
export function curlOfAgain(url: string, job: { payloadText: string; idempotencyKey: string | null }): string {
  const { payloadText, idempotencyKey: key } = job;
  return curlOf(url, { payloadText, idempotencyKey: key === null ? null : `${key}-again`, delay: 0 });
}
