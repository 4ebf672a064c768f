import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEndOfFile } from './end-of-file.ts';

/** A span as a collector receives it. */
export interface CollectedSpan {
  service: string;
  traceId: string;
  spanId: string;
  /** Empty without a parent. */
  parentSpanId: string;
  name: string;
  attributes: Record<string, unknown>;
  /** Trace ids. */
  links: string[];
  /** 2 is an error. */
  status: number;
}

export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Everything that was received, as text. */
  text(): string;
}

interface KeyValue {
  key: string;
  value: Record<string, unknown>;
}

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  attributes?: KeyValue[];
  links?: { traceId: string }[];
  status?: { code?: number };
}

interface OtlpTraces {
  resourceSpans: { resource: { attributes: KeyValue[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

/** Receives spans over OTLP/HTTP with JSON, until the test file is done. */
export async function startCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const texts: string[] = [];
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const text = Buffer.concat(chunks).toString();
      texts.push(text);
      if (req.url === '/v1/traces') spans.push(...spansIn(JSON.parse(text) as OtlpTraces));
      res.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  atEndOfFile(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, text: () => texts.join('\n') };
}

function spansIn({ resourceSpans }: OtlpTraces): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        service: String(attributesIn(resource.attributes)['service.name']),
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        attributes: attributesIn(span.attributes ?? []),
        links: (span.links ?? []).map(({ traceId }) => traceId),
        status: span.status?.code ?? 0,
      })),
    ),
  );
}

function attributesIn(attributes: KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
