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
