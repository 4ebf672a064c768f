import { waitFor } from '../../test/support/wait-for.ts';
import { type Fault, note, untilWorking, withSlot } from './faults.ts';

/** F-47 and F-51: what clients do to a process. */

/** Clients of F-47, each with a connection of its own: what `fetch` opens for as many requests at once. */
const CROWD = 400;

/** F-47. @throws Error if a client gets no answer, or another than the contract has for an overload */
export const connectMany: Fault = (rig) =>
  withSlot(rig.apis, rig, async (slot) => {
    const baseUrl = slot.process?.baseUrl;
    const queue = rig.queues.find(({ name }) => name === 'plain');
    if (baseUrl === undefined || queue === undefined) return;
    const record = note(rig, 'connect-many', { pid: slot.process?.pid ?? 0, underWay: CROWD });
    const published = Promise.all(Array.from({ length: CROWD }, () => rig.load.publish(queue, { baseUrl })));
    const health = await fetch(`${baseUrl}/healthz`);
    const others = (await published).filter(({ status }) => status !== 201 && status !== 503);
    if (others.length > 0 || !health.ok) {
      throw new Error(
        `of ${CROWD} clients ${others.length} got ${others[0]?.status ?? 'no answer'}; /healthz ${health.status}`,
      );
    }
    record.healedAt = Date.now();
  });

/** Connections of F-51 and their requests: all of them together are more than a process has turns for publishes. */
const PIPELINES = 14;
const PIPELINED = 20;
/** A process that kept the turns of broken connections would refuse every publish. */
const FREE_WITHIN_MS = 30_000;

/** F-51: while it publishes, connections break that have sent many requests and read no answer. */
export const breakPipelines: Fault = (rig) =>
  withSlot(rig.apis, rig, async (slot) => {
    const baseUrl = slot.process?.baseUrl;
    const queue = rig.queues.find(({ name }) => name === 'plain');
    if (baseUrl === undefined || queue === undefined) return;
    const record = note(rig, 'break-pipelines', { pid: slot.process?.pid ?? 0, underWay: PIPELINES * PIPELINED });
    const broken = () => ({ baseUrl, requests: PIPELINED, breakAfterMs: rig.random.between(0, 40) });
    await Promise.all(Array.from({ length: PIPELINES }, () => rig.load.pipeline(queue, broken())));
    const isTaken = async () => (await rig.load.publish(queue, { baseUrl })).outcome === 'ok';
    await waitFor(isTaken, { timeoutMs: FREE_WITHIN_MS, everyMs: 250, message: 'a publish after broken pipelines' });
    // Receivers are in the process of the load, and fall behind if they are not given time.
    await untilWorking(rig, Date.now());
    record.healedAt = Date.now();
  });
