/** A server of a database URL. */
export interface DatabaseHost {
  /** A name, an address, or the folder of a Unix socket. */
  host: string;
  port: number;
}

export interface DatabaseUrl {
  /** The URL with each server alone, in the order of the URL. */
  servers: (DatabaseHost & { url: string })[];
}

/** Up to the hosts, the hosts, and the rest. The last `@` ends the user, as in every URL. */
const PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/;
const HOST = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*))(?::(\d{1,5}))?$/;
const DEFAULT_PORT = 5432;
const MAX_SERVERS = 16;
/** Jobferry writes, so other values make no sense. Servers that are no primary are refused in any case. */
/** TLS modes of the driver. It would take any other value for none, and connect without TLS. */
const TLS_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];
const TARGETS = ['read-write', 'primary'];

/**
 * Reads a URL that can name several servers, as libpq does:
 * `postgres://user@a:5432,b:5432/database?target_session_attrs=read-write`.
 * @returns a message if it is wrong; it repeats nothing of the URL, which has a password
 */
export function parseDatabaseUrl(url: string): DatabaseUrl | string {
  const [, before, hosts, after = ''] = PARTS.exec(url) ?? [];
  if (before === undefined || hosts === undefined) return 'must start with postgres:// or postgresql://';
  const query = new URLSearchParams(/\?([^#]*)/.exec(after)?.[1] ?? '');
  const target = query.get('target_session_attrs');
  if (target !== null && !TARGETS.includes(target)) {
    return `target_session_attrs must be ${TARGETS.join(' or ')}, because Jobferry writes`;
  }
  const tls = query.get('sslmode');
  if (tls !== null && !TLS_MODES.includes(tls)) return `sslmode must be one of ${TLS_MODES.join(', ')}`;
  if (query.get('host')?.includes(',') === true) return 'several hosts must be written before the name of the database';
  const texts = hosts.split(',');
  if (texts.length > MAX_SERVERS) return `must have at most ${MAX_SERVERS} hosts`;
  const servers: DatabaseUrl['servers'] = [];
  for (const text of texts) {
    const [, address, name = '', port] = HOST.exec(text) ?? [];
    const host = address ?? decoded(name);
    if (host === null || !HOST.test(text) || Number(port ?? 1) < 1 || Number(port ?? 1) > 65_535) {
      return 'has a host that is not name, name:port, address:port or [IPv6 address]:port';
    }
    if (host === '' && texts.length > 1) return 'has a comma without a host beside it';
    servers.push({ host, port: Number(port ?? DEFAULT_PORT), url: `${before}${text}${after}` });
  }
  return { servers };
}

const WITH_TLS = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/g;

/**
 * Returns the URL with the TLS mode that the driver really uses. The driver treats these modes as `verify-full`, and
 * prints a warning. Its next version will treat them as something weaker, which `uselibpqcompat=true` requests today.
 */
export function withExplicitTls(url: string): string {
  return /[?&]uselibpqcompat=true(?=[&#]|$)/.test(url) ? url : url.replace(WITH_TLS, '$1verify-full');
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
