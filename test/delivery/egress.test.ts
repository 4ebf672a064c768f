import { expect, it } from 'vitest';
import { Egress } from '../../src/delivery/egress.ts';

let now = 0;
const lines: string[] = [];
const log = {
  warn: (_f: object, text: string) => lines.push(text),
  info: (_f: object, text: string) => lines.push(text),
};

function open(): Egress {
  now = 0;
  lines.length = 0;
  return new Egress(log as never, () => now);
}

it('pauses longer the longer an outage lasts, within bounds', () => {
  const egress = open();
  const pauses = [0, 10_000, 60_000, 110_000, 200_000, 300_000].map((at) => {
    now = at;
    egress.failed('proxy_unreachable');
    return egress.pauseMs(0.5);
  });
  expect(pauses).toEqual([2000, 5000, 30_000, 40_000, 40_000, 40_000]);
  expect([egress.pauseMs(0), egress.pauseMs(0.999)].map(Math.round)).toEqual([20_000, 59_960]);
  expect(lines).toEqual(['deliveries cannot begin; they use up no attempt and will be retried']);
});

it('is over when the way works, or when nothing has failed for two minutes', () => {
  const egress = open();
  egress.failed('resolver_unreachable');
  now = 5000;
  egress.failed('no_descriptors');
  expect(egress.outage).toEqual({ error: 'resolver_unreachable', sinceMs: 5000 });
  egress.works('proxy_unreachable', 'resolver_unreachable');
  expect(egress.outage).toEqual({ error: 'no_descriptors', sinceMs: 0 });
  now = 125_000;
  expect(egress.outage).toBeNull();
  expect(egress.isCutOff).toBe(false);
  expect(lines.at(-1)).toBe('deliveries can begin again');
});

it('an outage of the name servers keeps deliveries from names only', () => {
  const egress = open();
  egress.failed('resolver_unreachable');
  expect(['hooks.test', '10.0.0.1', '[::1]'].map((host) => egress.keepsFrom(host))).toEqual([
    'resolver_unreachable',
    null,
    null,
  ]);
  expect(egress.isCutOff).toBe(false);
  for (const error of ['no_descriptors', 'no_local_port'] as const) egress.failed(error);
  expect(egress.isCutOff, 'others can still be reached').toBe(false);
  egress.failed('proxy_unreachable');
  expect(egress.isCutOff).toBe(true);
});

it('is logged once in ten seconds, however often it ends and begins again', () => {
  const egress = open();
  for (let n = 0; n < 100; n += 1) {
    now += 50;
    egress.failed('resolver_unreachable');
    egress.works('resolver_unreachable');
  }
  expect(lines).toHaveLength(2);
  now += 10_000;
  egress.failed('resolver_unreachable');
  expect(lines).toHaveLength(3);
});
