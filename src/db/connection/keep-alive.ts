/**
 * For every connection that lives long: TCP asks the other side after 10 s without traffic, and then again and again. So
 * a connection whose other side is gone without a word ends within some 20 s, and not after the two hours of the kernel.
 * The server does the same, or sessions that nobody uses any more would fill it.
 */
export const KEEP_ALIVE = {
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  options: '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2',
} as const;
