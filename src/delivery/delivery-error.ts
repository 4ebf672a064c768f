import { isIPv4 } from 'node:net';
import type { DeliveryError, OwnFailure } from '../domain/outcome.ts';
import { AddressNotAllowedError } from './address-guard.ts';
import { ProxyError } from './proxy.ts';
import { NO_NAME_SERVER } from './resolver.ts';

/** Error codes of Node and undici by their meaning for a delivery; the patterns below match groups of codes. */
const BY_CODE: Readonly<Record<string, DeliveryError | OwnFailure>> = {
  EMFILE: 'no_descriptors',
  ENFILE: 'no_descriptors',
  [NO_NAME_SERVER]: 'resolver_unreachable',
  ETIMEDOUT: 'timeout',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ECONNREFUSED: 'connection_refused',
  ENOTFOUND: 'dns_error',
  ENODATA: 'dns_error',
  ECONNRESET: 'reset',
  ECONNABORTED: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  EPROTO: 'tls_error',
  UND_ERR_HEADERS_OVERFLOW: 'invalid_response',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
  // undici fails with an assertion on answers such as status 000.
  ERR_ASSERTION: 'invalid_response',
};

const BY_PATTERN: readonly (readonly [RegExp, DeliveryError])[] = [
  [/^EAI_/, 'dns_error'],
  [/^ERR_(TLS|SSL|OSSL|CRYPTO)_/, 'tls_error'],
  // Names of X.509 verification results, which Node passes on unchanged.
  [/(^|_)(CERT|CRL|ISSUER|CA|PURPOSE|HOSTNAME|LEAF)(_|$)/, 'tls_error'],
];

/** undici gives these errors the code of a lost connection, but the cause is an invalid answer. */
const PROTOCOL_BREACH = /^bad (response|upgrade)$/;

/** Classifies an error that ended a delivery without an answer under one of the short, stable names of D12. */
export function classifyError(error: unknown): DeliveryError | OwnFailure {
  if (error instanceof AddressNotAllowedError) return 'address_not_allowed';
  if (error instanceof ProxyError) return 'proxy_unreachable';
  if (!(error instanceof Error)) return 'network_error';
  const { code, syscall, address } = error as NodeJS.ErrnoException & { address?: string };
  // Without IPv6, an address of that family has the same error.
  if (code === 'EADDRNOTAVAIL' && isIPv4(address ?? '')) return 'no_local_port';
  if (code === 'UND_ERR_SOCKET' && PROTOCOL_BREACH.test(error.message)) return 'invalid_response';
  // The code of these errors is the parser's own, and sometimes absent.
  if (error.name === 'HTTPParserError') return 'invalid_response';
  if (syscall === 'getaddrinfo') return 'dns_error';
  // Several addresses were tried: the first failure's code is used for all.
  if (code === undefined && error instanceof AggregateError) return classifyError(error.errors[0]);
  if (code === undefined) return 'network_error';
  return BY_CODE[code] ?? BY_PATTERN.find(([pattern]) => pattern.test(code))?.[1] ?? 'network_error';
}
