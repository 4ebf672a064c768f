import { availableParallelism } from 'node:os';
import { cpuOf, timesOfMachine } from './processes.mjs';
import { percentiles, round } from './statistics.mjs';

/** How long the last delivery may take to be written down. */
const SETTLE_MS = 300;
/** A system from which nothing arrives for so long has lost what is missing. */
const STALL_MS = 15_000;

/**
 * Publishes a load and waits until everything that was accepted has arrived.
 * Times are from the first publish to the last arrival; CPU is counted until the deliveries have been written down.
 * `finished` resolves when what else belongs to the jobs is done, and is counted too.
 */
export async function measureLoad(stage, running, load, finished = async () => undefined) {
  const first = running.published;
  const before = await stage.receiver.ask('progress');
  const cpuBefore = cpuSample(stage, running);
  const record = await stage.publisher.ask('publish', { target: running.target, first, ...load });
  const published = await stage.receiver.ask('progress');
  const acceptedNow = keep(running, record);
  await stage.receiver.ask('arrived', { count: running.accepted, stallMs: STALL_MS });
  await finished();
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  const cpu = difference(cpuSample(stage, running), cpuBefore);
  const report = await stage.receiver.ask('report', { first, length: record.length });
  const { requests } = await stage.receiver.ask('progress');
  return {
    ...summarise(record, report),
    deliveries: requests - before.requests,
    deliveriesPerSecond: round(((published.requests - before.requests) * 1000) / (published.now - before.now), 1),
    cpuPerJob: perJob(cpu, acceptedNow),
  };
}

/** Measures a publisher alone: nothing is waited for. */
export async function measurePublishing(stage, running, load) {
  const cpuBefore = cpuSample(stage, running);
  const record = await stage.publisher.ask('publish', { target: running.target, first: running.published, ...load });
  const cpu = difference(cpuSample(stage, running), cpuBefore);
  const accepted = keep(running, record);
  const times = record.sentAt.map((sentAt, n) => record.answeredAt[n] - sentAt).filter((_ms, n) => record.status[n] === 201);
  return {
    jobs: accepted,
    refused: record.length - accepted,
    publishesPerSecond: publishRate(record, accepted),
    publish: percentiles(times),
    cpuPerJob: perJob(cpu, accepted),
  };
}

/**
 * Compares all deliveries with all publishes here: it finds late duplicates, and losses of the warm-up.
 * A job that was answered 201 must arrive once; one that was not is no loss, but should not arrive either.
 */
export async function verify(stage, running) {
  const { arrivedAt: _when, times, badSignatures } = await stage.receiver.ask('report', { length: running.published });
  const check = { accepted: 0, lost: 0, duplicates: 0, unexpected: 0, badSignatures };
  for (const { first, length, status } of running.records) {
    for (let n = 0; n < length; n += 1) count(check, status[n], times[first + n] ?? 0);
  }
  return check;
}

/** CPU microseconds per job that a system spends later on what it has put off, such as indexing. */
export async function measureDeferred(stage, running, jobs) {
  if (running.settled === undefined) return 0;
  const before = cpuSample(stage, running);
  await running.settled();
  return perJob(difference(cpuSample(stage, running), before), jobs).system;
}

export function cpuSample(stage, running) {
  const parts = { ...running.cpu() };
  const system = Object.values(parts).reduce((sum, cpu) => sum + cpu, 0);
  const publisher = cpuOf(stage.publisher.pid);
  const receiver = cpuOf(stage.receiver.pid);
  const { user, system: kernel } = process.cpuUsage();
  const bench = user + kernel + stage.helpers.reduce((sum, helper) => sum + helper.cpu(), 0);
  const { busy: machine, stolen } = timesOfMachine();
  return { ...parts, system, publisher, receiver, bench, machine, stolen, at: performance.now() * 1000 };
}

export function difference(after, before) {
  return Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before[name]]));
}

/**
 * `machineBusy` and `others` are shares of one CPU, `stolen` is one of the whole machine: what else was done makes a
 * figure worth less.
 */
export function perJob({ at, machine, stolen, ...cpu }, jobs) {
  const known = cpu.system + cpu.publisher + cpu.receiver + cpu.bench;
  const shares = {
    machineBusy: round(machine / at),
    others: round(Math.max(0, machine - known) / at),
    stolen: round(stolen / at / availableParallelism(), 3),
  };
  return { ...Object.fromEntries(Object.entries(cpu).map(([name, us]) => [name, round(us / jobs, 1)])), ...shares };
}

/** Returns how many were accepted. */
function keep(running, record) {
  const accepted = record.status.reduce((sum, status) => sum + (status === 201 ? 1 : 0), 0);
  running.published += record.length;
  running.accepted += accepted;
  running.records.push({ first: record.first, length: record.length, status: record.status });
  return accepted;
}

function count(check, status, times) {
  if (status !== 201) {
    check.unexpected += times;
    return;
  }
  check.accepted += 1;
  if (times === 0) check.lost += 1;
  else check.duplicates += times - 1;
}

function summarise(record, { arrivedAt, times, mostOpen }) {
  const check = { accepted: 0, lost: 0, duplicates: 0, unexpected: 0 };
  const publishMs = [];
  const arrivalMs = [];
  let lastAt = 0;
  for (let n = 0; n < record.length; n += 1) {
    count(check, record.status[n], times[n]);
    if (record.status[n] !== 201) continue;
    publishMs.push(record.answeredAt[n] - record.sentAt[n]);
    if (times[n] === 0) continue;
    arrivalMs.push(arrivedAt[n] - record.sentAt[n]);
    lastAt = Math.max(lastAt, arrivedAt[n]);
  }
  const { accepted: jobs, ...rest } = check;
  const seconds = (lastAt - record.sentAt[0]) / 1000;
  return {
    jobs,
    refused: record.length - jobs,
    ...rest,
    firstAt: record.sentAt[0],
    lastAt,
    seconds: round(seconds),
    jobsPerSecond: round(arrivalMs.length / seconds, 1),
    publishesPerSecond: publishRate(record, jobs),
    publish: percentiles(publishMs),
    arrival: percentiles(arrivalMs),
    mostOpen,
  };
}

function publishRate({ sentAt, answeredAt }, accepted) {
  const lastAt = answeredAt.reduce((latest, at) => Math.max(latest, at), 0);
  return round((accepted * 1000) / (lastAt - sentAt[0]), 1);
}

export function isFaultless({ lost, duplicates, unexpected, badSignatures }) {
  return lost + duplicates + unexpected + badSignatures === 0;
}
