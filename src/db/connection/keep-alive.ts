/**
 * Options of every long-lived connection: TCP probes the other side after 10 s without traffic, and then repeatedly. So
 * a connection to a host that has disappeared ends within about 20 s, and not after the kernel's default of two hours.
 * The options make the server do the same, or sessions of clients that have disappeared would use up its connections.
 */
export const KEEP_ALIVE = {
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
  options: '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=2',
} as const;

/** For migrations, which may take minutes: the role of an operator can have a time limit for statements. */
export const UNLIMITED = '-c statement_timeout=0';
