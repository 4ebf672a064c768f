/** Milliseconds of a monotonic clock that all processes of this machine share. */
export function sharedNow() {
  return Number(process.hrtime.bigint()) / 1e6;
}
