import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import {
  localPort,
  publishCommand,
  receiverCommand,
  secretCommand,
} from '../../packages/dashboard/features/first-run/model/first-run.ts';

const shell = (script: string) => execFileSync('sh', ['-c', script], { encoding: 'utf8' });

describe('the commands of the first steps', () => {
  it('know a receiver on this computer by its address', () => {
    const addresses = ['http://127.0.0.1:9000/', 'http://localhost/x', 'https://[::1]/', 'https://example.com/', 'no'];
    expect(addresses.map(localPort)).toEqual([9000, 80, 443, null, null]);
  });

  it('give the secret to a shell as it is', () => {
    const secret = `whsec_a'b$c"d\\`;
    expect(shell(`${secretCommand(secret)}\nprintf %s "$SIGNING_SECRET"`)).toBe(secret);
  });

  it('publish at the address of this server, also behind a path', () => {
    expect(
      publishCommand('https://example.com/jobferry/v1/', 'hello'),
    ).toBe(`curl 'https://example.com/jobferry/v1/queues/hello/jobs' \\
  -H "authorization: Bearer $JOBFERRY_API_KEY" -H 'content-type: application/json' \\
  -d '{"payload":{"hello":"world"},"idempotencyKey":"greeting-1"}'`);
  });

  it('start a receiver that a shell and Node.js understand', () => {
    const script = receiverCommand(9123).replace('node --input-type=module', 'node --input-type=module --check');
    expect(receiverCommand(9123)).toContain('.listen(9123,');
    expect(shell(script)).toBe('');
  });
});
